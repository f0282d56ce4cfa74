# Options of the build, and the compiler flags that all of weft shares.

option(WEFT_INCLUDE_TESTS "Build the tests" ON)
option(WEFT_WERROR "Treat warnings as errors" OFF)
option(WEFT_UNITY_BUILD "Compile files of the compiler in batches, for builds of all of it" OFF)
option(WEFT_PRECOMPILED_HEADERS "Read MLIR's headers once, not for each file" ON)

set(WEFT_LLVM_DIR "/usr/lib/llvm-22" CACHE PATH "Where LLVM and MLIR 22 are installed")
find_package(MLIR 22.1 REQUIRED CONFIG HINTS ${WEFT_LLVM_DIR}/lib/cmake/mlir)

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_compile_options(-Wall -Wextra -Wno-unused-parameter
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-comment>)
if(WEFT_WERROR)
  add_compile_options(-Werror)
endif()

# LLVM's own linker, when it is there: it links a tool in a fraction of bfd's time.
if(EXISTS ${LLVM_TOOLS_BINARY_DIR}/ld.lld)
  add_link_options(-B${LLVM_TOOLS_BINARY_DIR} -fuse-ld=lld)
endif()
