# How weft's libraries and tools are made: the one place that links libMLIR.so,
# and that keeps MLIR's headers away from the runtime.

# An interface target that carries MLIR's headers, flags and shared library.
add_library(weft_mlir INTERFACE)
target_include_directories(weft_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_include_directories(weft_mlir INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
  ${PROJECT_SOURCE_DIR}/runtime/include)
target_compile_options(weft_mlir INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fvisibility-inlines-hidden>)
target_link_libraries(weft_mlir INTERFACE MLIR LLVM)

# add_weft_library(NAME sources... [DEPENDS targets...] [LINK_LIBS libs...])
function(add_weft_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC weft_mlir ${ARG_LINK_LIBS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# add_weft_tool(NAME sources... [LINK_LIBS libs...])
function(add_weft_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE weft_mlir ${ARG_LINK_LIBS})
endfunction()
