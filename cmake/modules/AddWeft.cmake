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

# All headers that mlir-tblgen makes.
add_custom_target(weft-headers)

# add_weft_tablegen_target(NAME): the target of the mlir_tablegen calls before.
macro(add_weft_tablegen_target name)
  add_public_tablegen_target(${name})
  add_dependencies(weft-headers ${name})
endmacro()

# add_weft_library(NAME sources... [LINK_LIBS libs...]): LINK_LIBS are the
# libraries of the folders that its files include, which lint checks.
function(add_weft_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES ${name})
  target_link_libraries(${name} PUBLIC weft_mlir ${ARG_LINK_LIBS})
  add_dependencies(${name} weft-headers)
endfunction()

# add_weft_tool(NAME sources... [LINK_LIBS libs...])
function(add_weft_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE weft_mlir ${ARG_LINK_LIBS})
endfunction()
