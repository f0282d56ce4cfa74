# How weft's libraries and tools are made: the one place that links libMLIR.so,
# and that keeps MLIR's headers away from the runtime.

# An interface target that carries MLIR's headers, flags and shared library.
add_library(weft_mlir INTERFACE)
target_include_directories(weft_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_include_directories(weft_mlir INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>)
target_compile_options(weft_mlir INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fvisibility-inlines-hidden>)
target_link_libraries(weft_mlir INTERFACE MLIR LLVM)

# Three quarters of the time that a file of the compiler takes go to the headers
# of MLIR that most of them include. Only those of other projects are here, so
# that a file still has to include what it uses of weft; that it includes all
# of MLIR that it uses is seen by a build without this (scripts/nightly).
if(WEFT_PRECOMPILED_HEADERS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "// A target needs a file.\n")
  add_library(weft_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(weft_precompiled PRIVATE weft_mlir)
  target_precompile_headers(weft_precompiled PRIVATE
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/IR/Builders.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/IR/Matchers.h>
    <mlir/Pass/Pass.h>
    <mlir/Pass/PassManager.h>
    <llvm/ADT/STLExtras.h>
    <llvm/ADT/TypeSwitch.h>)
  # With it ccache can tell what a precompiled header was made of.
  target_compile_options(weft_mlir INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# weft_precompile_headers(NAME): a library or tool that links weft_mlir reads them
# so. Tools are compiled as libraries are (-fPIC, not -fPIE), since a compiler
# takes precompiled headers with the same options only.
function(weft_precompile_headers name)
  if(WEFT_PRECOMPILED_HEADERS)
    get_target_property(type ${name} TYPE)
    if(type STREQUAL "EXECUTABLE")
      set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${name} PRIVATE -fPIC)
    endif()
    target_precompile_headers(${name} REUSE_FROM weft_precompiled)
  endif()
endfunction()

# All headers that mlir-tblgen makes.
add_custom_target(weft-headers)

# add_weft_tablegen_target(NAME): the target of the mlir_tablegen calls before.
macro(add_weft_tablegen_target name)
  add_public_tablegen_target(${name})
  add_dependencies(weft-headers ${name})
endmacro()

# weft_compile_in_batches(NAME [APART sources...]): of all files of a library, if asked
# for. What MLIR's templates take is paid once for each batch: half of the time of
# eight files, a quarter of that of 24.
function(weft_compile_in_batches name)
  cmake_parse_arguments(ARG "" "" "APART" ${ARGN})
  if(WEFT_UNITY_BUILD)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
    set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# add_weft_library(NAME sources... [APART sources...] [LINK_LIBS libs...]):
# LINK_LIBS are the libraries of the folders that its files include, which lint
# checks. APART are files that share no unit with others in a build of batches,
# as names in them are others' too.
function(add_weft_library name)
  cmake_parse_arguments(ARG "" "" "APART;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS} ${ARG_APART})
  weft_compile_in_batches(${name} APART ${ARG_APART})
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES ${name})
  target_link_libraries(${name} PUBLIC weft_mlir ${ARG_LINK_LIBS})
  add_dependencies(${name} weft-headers)
  weft_precompile_headers(${name})
endfunction()

# add_weft_tool(NAME sources... [LINK_LIBS libs...])
function(add_weft_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  weft_compile_in_batches(${name})
  target_link_libraries(${name} PRIVATE weft_mlir ${ARG_LINK_LIBS})
  weft_precompile_headers(${name})
endfunction()
