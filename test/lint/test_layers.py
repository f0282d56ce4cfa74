# SPDX-License-Identifier: Apache-2.0
"""check-layers.py refuses what it says that it refuses."""
import pytest

ROOT_CMAKE = """
project(weft)
include(AddWeft)
add_subdirectory(runtime)
foreach(folder Support Dialect Cost Search Rules Verify/Sums)
  add_subdirectory(lib/${folder})
endforeach()
add_subdirectory(tools/weft-do)
add_subdirectory(test/unit)
"""
ADD_WEFT = """
add_library(weft_mlir INTERFACE)  # no sources (only flags)
target_include_directories(weft_mlir INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/runtime/include)
target_link_libraries(weft_mlir INTERFACE MLIR LLVM)
function(add_weft_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC weft_mlir ${ARG_LINK_LIBS})
endfunction()
"""
# Parts that one archive holds: core, two backends, of which one has a library of its own, and the list of them.
RUNTIME_CMAKE = """
project(weft-rt C CXX)
function(weft_rt_add_part name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()
weft_rt_add_part(weft_rt_core core/session.cpp)
target_include_directories(weft_rt_core PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
weft_rt_add_part(weft_rt_sums backends/host/sums/sums.cpp)
weft_rt_add_part(weft_rt_host backends/host/host.cpp)
target_link_libraries(weft_rt_host PUBLIC weft_rt_core PRIVATE weft_rt_sums)
weft_rt_add_part(weft_rt_null backends/null/null.cpp)
target_link_libraries(weft_rt_null PUBLIC weft_rt_core)
add_library(weft_rt STATIC api/session_api.cpp $<TARGET_OBJECTS:weft_rt_core> $<TARGET_OBJECTS:weft_rt_host>
  $<TARGET_OBJECTS:weft_rt_null> $<TARGET_OBJECTS:weft_rt_sums>)
target_include_directories(weft_rt PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_library(weft_rt_main STATIC tool/tool.cpp)
target_link_libraries(weft_rt_main PUBLIC weft_rt PRIVATE $<BUILD_INTERFACE:weft_rt_core>)
add_library(weft_rt_backend INTERFACE)
target_link_libraries(weft_rt_backend INTERFACE weft_rt)
"""
RUNTIME = "weft_rt and weft_rt_core"  # who has session.h
FILES = {
    "CMakeLists.txt": ROOT_CMAKE,
    "cmake/modules/AddWeft.cmake": ADD_WEFT,
    "runtime/CMakeLists.txt": RUNTIME_CMAKE,
    "runtime/include/weft-rt/abi.h": "",
    "runtime/include/weft-rt/session.h": '#include "weft-rt/abi.h"\n',
    "runtime/core/session.cpp": '#include "core/status.h"\n#include "weft-rt/session.h"\n',
    "runtime/core/status.h": "",
    "runtime/backends/host/sums/sums.cpp": '#include "backends/host/sums/sums.h"\n',
    "runtime/backends/host/sums/sums.h": "",
    "runtime/backends/host/host.cpp": '#include "backends/host/host.h"\n#include "backends/host/sums/sums.h"\n',
    "runtime/backends/host/host.h": '#include "core/status.h"\n',
    "runtime/backends/null/null.cpp": '#include "backends/null/null.h"\n',
    "runtime/backends/null/null.h": '#include "core/status.h"\n',
    "runtime/api/session_api.cpp": '#include "backends/host/host.h"\n#include "backends/null/null.h"\n'
                                   '#include "core/status.h"\n#include "weft-rt/session.h"\n',
    "runtime/tool/tool.cpp": '#include "core/status.h"\n#include "weft-rt/session.h"\n',
    "lib/Support/CMakeLists.txt": "add_weft_library(WeftSupport\n  Mesh.cpp)\n",
    "lib/Support/Mesh.cpp": '#include "weft/Support/Mesh.h"\n#include "llvm/ADT/StringRef.h"\n',
    "include/weft/Support/Mesh.h": "",
    "include/weft/Support/Plain.h": "",
    "lib/Dialect/CMakeLists.txt": "add_weft_library(WeftIR Ops.cpp LINK_LIBS WeftSupport)\n",
    "lib/Dialect/Ops.cpp": '#include "weft/Dialect/Ops.h"\n#include "weft/Support/Mesh.h"\n',
    "include/weft/Dialect/Ops.h": '#include "weft/Dialect/Ops.h.inc"\n#include "weft-rt/abi.h"\n',
    "lib/Cost/CMakeLists.txt": "add_weft_library(WeftCost Cost.cpp DEPENDS Inc LINK_LIBS WeftIR)\n",
    "lib/Cost/Cost.cpp": '#include "Cost.h"\n#include "weft/Dialect/Ops.h"\n#include "weft/Support/Plain.h"\n',
    "lib/Cost/Cost.h": "",
    # Two libraries in one folder, of which one knows no IR.
    "lib/Search/CMakeLists.txt": "add_weft_library(WeftSearchCore Core.cpp LINK_LIBS WeftSupport)\n"
                                 "add_weft_library(WeftSearch Apply.cpp LINK_LIBS WeftSearchCore WeftIR)\n",
    "lib/Search/Core.cpp": '#include "Core.h"\n#include "weft/Support/Mesh.h"\n',
    "lib/Search/Core.h": "",
    "lib/Search/Apply.cpp": '#include "Apply.h"\n#include "Core.h"\n',
    "lib/Search/Apply.h": '#include "weft/Dialect/Ops.h"\n',
    # A proof, and what it may use in part only.
    "lib/Rules/CMakeLists.txt": "add_weft_library(WeftRules ReductionOrder.cpp LINK_LIBS WeftIR)\n",
    "lib/Rules/ReductionOrder.cpp": '#include "weft/Rules/ReductionOrder.h"\n#include "weft/Dialect/Ops.h"\n',
    "include/weft/Rules/ReductionOrder.h": "",
    "include/weft/Rules/Sharding.h": "",
    "lib/Verify/Sums/CMakeLists.txt": "add_weft_library(WeftVerifySums Forms.cpp LINK_LIBS WeftIR WeftRules)\n",
    "lib/Verify/Sums/Forms.cpp": '#include "Forms.h"\n#include "weft/Rules/ReductionOrder.h"\n',
    "lib/Verify/Sums/Forms.h": '#include "weft/Dialect/Ops.h"\n',
    "tools/weft-do/CMakeLists.txt": "add_executable(weft-do main.cpp)\n"
                                    "target_link_libraries(weft-do PRIVATE weft_rt)\n",
    "tools/weft-do/main.cpp": '#include "weft-rt/session.h"\nint main() {}\n',
    "test/unit/CMakeLists.txt": "add_executable(cost-tests CostTest.cpp)\n"
                                "target_link_libraries(cost-tests PRIVATE weft_mlir WeftCost WeftIR)\n",
    "test/unit/CostTest.cpp": '#include "../../lib/Cost/Cost.h"\n#include "weft/Dialect/Ops.h"\n',
}


@pytest.fixture
def layers(tree):
    for name, text in FILES.items():
        tree.write(name, text)
    return tree


def test_passes(layers):
    assert layers.check("check-layers.py") == []


@pytest.mark.parametrize("file, header, owner, includer", [
    ("lib/Support/Mesh.cpp", "weft/Dialect/Ops.h", "WeftIR", "WeftSupport"),
    ("include/weft/Support/Plain.h", "weft/Dialect/Ops.h", "WeftIR", "WeftSupport"),
    ("lib/Dialect/Ops.cpp", "../Cost/Cost.h", "WeftCost", "WeftIR"),
    ("include/weft/Support/Mesh.h", "weft/Dialect/Ops.h.inc", "WeftIR", "WeftSupport"),
    ("lib/Search/Core.cpp", "weft/Dialect/Ops.h", "WeftIR", "WeftSearchCore"),
    ("lib/Search/Core.h", "Apply.h", "WeftSearch", "WeftSearchCore"),
    ("test/unit/CostTest.cpp", "weft-rt/session.h", RUNTIME, "cost-tests"),
    ("tools/weft-do/main.cpp", "weft/Dialect/Ops.h", "WeftIR", "weft-do"),
    ("runtime/core/session.cpp", "weft/Support/Mesh.h", "WeftSupport", "weft_rt_core"),
    ("lib/Cost/Cost.cpp", "weft-rt/session.h", RUNTIME, "WeftCost"),
    ("runtime/core/session.cpp", "backends/host/host.h", "weft_rt_host", "weft_rt_core"),
    ("runtime/core/status.h", "backends/null/null.h", "weft_rt_null", "weft_rt_core"),
    ("runtime/backends/null/null.cpp", "backends/host/host.h", "weft_rt_host", "weft_rt_null"),
    ("runtime/tool/tool.cpp", "backends/host/host.h", "weft_rt_host", "weft_rt_main"),
    ("runtime/backends/null/null.cpp", "backends/host/sums/sums.h", "weft_rt_sums", "weft_rt_null"),
    ("tools/weft-do/main.cpp", "core/status.h", "weft_rt_core", "weft-do"),
])
def test_forbidden_include(layers, file, header, owner, includer):
    layers.append(file, f'#  include "{header}"\n')
    assert layers.check("check-layers.py") == [
        f"{file}: includes {header} of {owner}, which {includer} does not link"]


def test_runtime_takes_nothing_of_llvm(layers):
    layers.append("runtime/core/status.h", "#include <llvm/ADT/StringRef.h>\n")
    assert layers.check("check-layers.py") == [
        "runtime/core/status.h: includes llvm/ADT/StringRef.h, but weft_rt_core does not link libMLIR"]


def test_nothing_joins_compiler_and_runtime(layers):
    layers.replace("lib/Cost/CMakeLists.txt", "WeftIR", "WeftIR weft_rt")
    layers.append("lib/Cost/Cost.cpp", '#include "weft-rt/session.h"\n')
    assert layers.check("check-layers.py") == [
        f"{name}: uses libMLIR and weft_rt of the runtime" for name in ("WeftCost", "cost-tests")]


@pytest.mark.parametrize("file, header, library", [
    ("lib/Verify/Sums/Forms.cpp", "weft/Rules/Sharding.h", None),
    ("lib/Verify/Sums/Forms.cpp", "weft/Search/New.h", "WeftSearchCore"),
    ("lib/Verify/Sums/Forms.h", "../../Cost/Cost.h", "WeftCost"),
    ("include/weft/Verify/Sums/New.h", "weft/Search/New.h", "WeftSearchCore")])
def test_proof_believes_nobody(layers, file, header, library):
    layers.write("include/weft/Search/New.h", "")
    layers.write("include/weft/Verify/Sums/New.h", "")
    layers.append(file, f'#include "{header}"\n')
    expected = [f"{file}: includes {header}, which a proof must not use"]
    if library:
        layers.replace("lib/Verify/Sums/CMakeLists.txt", "WeftRules", f"WeftRules {library}")
        expected.append(f"WeftVerifySums: links {library}, which a proof must not use")
    assert [line for line in layers.check("check-layers.py") if "proof" in line] == expected


def test_targets_stand_beside_each_other(layers):
    layers.replace("CMakeLists.txt", "Verify/Sums", "Verify/Sums Target/Host Target/Null")
    layers.write("lib/Target/Host/CMakeLists.txt", "add_weft_library(WeftTargetHost Host.cpp LINK_LIBS WeftIR)\n")
    layers.write("lib/Target/Host/Host.cpp", '#include "Host.h"\n#include "weft/Dialect/Ops.h"\n')
    layers.write("lib/Target/Host/Host.h", "")
    layers.write("lib/Target/Null/CMakeLists.txt", "add_weft_library(WeftTargetNull Null.cpp LINK_LIBS WeftTargetHost)\n")
    layers.write("lib/Target/Null/Null.cpp", '#include "../Host/Host.h"\n')
    assert layers.check("check-layers.py") == [
        "WeftTargetNull: links WeftTargetHost of Host, which Null stands beside"]


def test_proof_reaches_nobody(layers):
    """Not by way of what it may use either."""
    layers.replace("lib/Rules/CMakeLists.txt", "WeftIR", "WeftIR WeftSearch")
    layers.append("lib/Rules/ReductionOrder.cpp", '#include "../Search/Apply.h"\n')
    assert layers.check("check-layers.py") == [
        "WeftVerifySums: links WeftSearch, which a proof must not use",
        "WeftVerifySums: links WeftSearchCore, which a proof must not use"]


@pytest.mark.parametrize("file", ["lib/Other/New.cpp", "lib/Support/New.cpp", "runtime/backends/moon/moon.cpp"])
def test_source_without_target(layers, file):
    layers.write(file, "")
    assert layers.check("check-layers.py") == [f"{file}: no target compiles it"]


@pytest.mark.parametrize("file", ["include/weft/Other/New.h", "lib/Other/New.h", "test/other/new.h"])
def test_header_without_target(layers, file):
    layers.write(file, "")
    assert layers.check("check-layers.py") == [f"{file}: no target owns it"]


def test_link_without_include(layers):
    layers.replace("lib/Cost/CMakeLists.txt", "WeftIR", "WeftIR WeftSearch")
    assert layers.check("check-layers.py") == [
        "lib/Cost/CMakeLists.txt: WeftCost links WeftSearch, of which it includes nothing"]


def test_cycle(layers):
    layers.replace("lib/Support/CMakeLists.txt", "Mesh.cpp", "Mesh.cpp LINK_LIBS WeftCost")
    layers.append("lib/Support/Mesh.cpp", '#include "../Cost/Cost.h"\n')
    assert "cycle of links: WeftCost -> WeftIR -> WeftSupport -> WeftCost" in layers.check("check-layers.py")


def test_link_in_a_branch_counts(layers):
    layers.append("lib/Support/CMakeLists.txt",
                  "if(FAST)\n  target_link_libraries(WeftSupport PRIVATE WeftFast)\nendif()\n"
                  "add_weft_library(WeftFast Fast.cpp)\n")
    layers.write("lib/Support/Fast.cpp", '#include "Fast.h"\n')
    layers.write("lib/Support/Fast.h", "")
    layers.append("lib/Support/Mesh.cpp", '#include "Fast.h"\n')
    assert layers.check("check-layers.py") == []
