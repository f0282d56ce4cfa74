# SPDX-License-Identifier: Apache-2.0
"""check-names.py refuses a name that is changed in one place only."""
import pytest

TABLE = """
def FuseHostPass : Pass<"weft-fuse-host", "::mlir::ModuleOp"> {
  let constructor = "::mlir::weft::createFuseHostPass()";
  let options = [
    Option<"maxParts", "max-parts", "int64_t", "8", "how many">,
    ListOption<"axes", "axes", "std::string", "which">];
}
def ConvertWeftToLLVMPass
    : Pass<"convert-weft-to-llvm"> {
}
"""
OPS = """
def Weft_Dialect : Dialect {
  let name = "weft";
}
def Weft_AllGatherOp : Weft_Op<"all_gather", [Pure]> {
  let hasVerifier = 1;
}
def Weft_WaitOp : Weft_Op<"wait"> {
}
"""
FILES = {
    "include/weft/Codegen/Passes.td": TABLE,
    "lib/Codegen/FuseHost.cpp": '#define GEN_PASS_DEF_FUSEHOSTPASS\n#define DEBUG_TYPE "weft-fuse-host"\n',
    "lib/Codegen/ConvertWeftToLLVM.cpp": "#define GEN_PASS_DEF_CONVERTWEFTTOLLVMPASS\n",
    "test/Codegen/fuse-host-parts.mlir": "// RUN: weft-opt --weft-fuse-host %s\n",
    "test/Codegen/convert-weft-to-llvm.mlir": "// RUN: weft-opt -p='a(convert-weft-to-llvm)' %s\n",
    "include/weft/IR/Ops.td": OPS,
    "test/IR/all-gather.mlir": "// CHECK: = weft.all_gather\n// CHECK-NEXT: weft.wait %0\n",
    "test/IR/all-gather-invalid.mlir": "%0 = weft.all_gather %a\n",
    "CMakeLists.txt": "project(weft)\nadd_executable(weft-opt main.cpp)\n",
    "main.cpp": 'registerPipeline("weft-plan-host");\n',
    "docs/codegen.md": "`weft-opt --weft-fuse-host`, then weft-plan-host. See weft-x.md.\n",
    "docs/adding.md": 'Add `weft-new`:\n```\ndef NewPass : Pass<"weft-new"> {\n```\n',
}
CODEGEN, IR = "include/weft/Codegen/Passes.td", "include/weft/IR/Ops.td"
FUSE, DOCS = "lib/Codegen/FuseHost.cpp", "docs/codegen.md"


@pytest.fixture
def names(tree):
    for name, text in FILES.items():
        tree.write(name, text)
    return tree


def test_passes(names):
    assert names.check("check-names.py") == []


@pytest.mark.parametrize("file, old, new, problems", [
    (CODEGEN, '"weft-fuse-host"', '"weft-fuse"', [
        f"{CODEGEN}: FuseHostPass has the flag weft-fuse, expected weft-fuse-host",
        f"{CODEGEN}: no test/Codegen/fuse*.mlir runs weft-fuse",
        f"{DOCS}: nothing is named weft-fuse-host"]),
    (CODEGEN, '"weft-fuse-host"', '"fuse-host"', [
        f"{CODEGEN}: FuseHostPass has the flag fuse-host, expected weft-fuse-host",
        f"{DOCS}: nothing is named weft-fuse-host"]),
    (CODEGEN, "def FuseHostPass", "def FuseHost", [
        f"{CODEGEN}: the def of FuseHost does not end in Pass"]),
    (CODEGEN, "createFuseHostPass", "createFusePass", [
        f"{CODEGEN}: FuseHostPass is made by createFusePass, expected createFuseHostPass"]),
    (CODEGEN, '"max-parts"', '"most-parts"', [
        f"{CODEGEN}: the option maxParts has the flag most-parts, expected max-parts"]),
    (CODEGEN, 'ListOption<"axes"', 'ListOption<"Axes"', [
        f"{CODEGEN}: the option Axes has the flag axes, expected axes"]),
    (FUSE, "FUSEHOSTPASS", "FUSEPASS", [
        f"{CODEGEN}: FuseHostPass is not defined in lib/Codegen/FuseHost.cpp"]),
    (FUSE, "weft-fuse-host", "fuse-host", [
        f"{FUSE}: DEBUG_TYPE is fuse-host, expected weft-fuse-host"]),
    ("test/Codegen/fuse-host-parts.mlir", "--weft-fuse-host", "--weft-fuse-host-more", [
        f"{CODEGEN}: no test/Codegen/fuse-host*.mlir runs weft-fuse-host"]),
    (DOCS, "weft-plan-host", "weft-plan", [f"{DOCS}: nothing is named weft-plan"]),
    ("docs/adding.md", 'Pass<"weft-new"', 'Pass<"weft-other"', ["docs/adding.md: nothing is named weft-new"]),
    ("CMakeLists.txt", "weft-opt", "weft-optimize", [f"{DOCS}: nothing is named weft-opt"]),
    (IR, '"all_gather"', '"gather"', [
        f"{IR}: Weft_AllGatherOp has the mnemonic gather",
        f"{IR}: no test in test/IR checks the text of weft.gather",
        f"{IR}: no *-invalid.mlir in test/IR has weft.gather"]),
    ("test/IR/all-gather.mlir", "CHECK-NEXT: weft.wait", "CHECK-NEXT: weft.wait_all", [
        f"{IR}: no test in test/IR checks the text of weft.wait"]),
    ("test/IR/all-gather-invalid.mlir", "all_gather", "gather", [
        f"{IR}: no *-invalid.mlir in test/IR has weft.all_gather"]),
])
def test_one_name_changed(names, file, old, new, problems):
    names.replace(file, old, new)
    assert names.check("check-names.py") == problems


def test_a_table_of_another_name_counts(names):
    names.write("lib/Codegen/More.td", 'def SplitPass : InterfacePass<"weft-cut", "Op"> {\n}\n')
    assert names.check("check-names.py")[0] == "lib/Codegen/More.td: SplitPass has the flag weft-cut, expected weft-split"


def write_tool(names):
    names.append("CMakeLists.txt", "add_executable(weft-run runtime/tool/options.cpp)\n")
    names.write("runtime/tool/options.cpp", '{"--steps", "N"},\n')
    # Neither of these says what options there are.
    names.write("lib/IR/Message.cpp", 'return fail("--stpes: none");\n')
    names.write("bench/run.py", 'run("weft-run", "--stpes")\n')
    names.append(DOCS, "`weft-run a.so --steps 3`\n")


@pytest.mark.parametrize("text", ["`weft-run a.so --stpes 3`", "Or `--stpes`.", "```\nweft-run a.so \\\n  --stpes 3\n```"])
def test_option_of_no_tool(names, text):
    write_tool(names)
    names.append(DOCS, f"{text}\n")
    assert names.check("check-names.py") == [f"{DOCS}: no tool has the option --stpes"]


def test_options_of_others_and_of_tools(names):
    write_tool(names)
    names.append(DOCS, "`weft-run a.so --steps 3 | sort --unique`, `--mlir-timing`, `cmake --install build`\n")
    assert names.check("check-names.py") == []


def test_an_option_renamed(names):
    write_tool(names)
    names.replace("runtime/tool/options.cpp", "--steps", "--count")
    assert names.check("check-names.py") == [f"{DOCS}: no tool has the option --steps",
                                             "runtime/tool/options.cpp: no document names the option --count"]


def test_an_option_of_another_tool(names):
    write_tool(names)
    names.append(DOCS, "`weft-sim a.mlir --steps 3`\n")
    assert f"{DOCS}: no tool has the option --steps" in names.check("check-names.py")


def test_link_to_nothing(names):
    names.append(DOCS, "[a](adding.md#first), [b](https://example.org/x), [c](nope.md), [d](#here)\n")
    assert names.check("check-names.py") == [f"{DOCS}: links to nope.md, which is not there"]
