# weft_add_step(NAME SOURCE [OPTIONS options...])
#
# Compiles the step in the file SOURCE with weft-compile into a static library
# NAME, which has the step's table `weft_program`, the header NAME.h that names
# its arguments and results, and the runtime. OPTIONS are weft-compile's. A
# program can have one step.
function(weft_add_step name source)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_add_step(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT CXX IN_LIST languages)
    message(FATAL_ERROR "weft_add_step(${name}): the runtime needs C++ among the project's languages")
  endif()
  get_filename_component(source ${source} ABSOLUTE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.step)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/${name}.o ${folder}/${name}.h
    COMMAND weft::weft-compile ${source} -o ${folder}/${name}.o
      --emit-header ${folder}/${name}.h ${ARG_OPTIONS}
    DEPENDS ${source} weft::weft-compile
    COMMENT "Compiling step ${name}"
    VERBATIM)
  add_library(${name} STATIC ${folder}/${name}.o ${folder}/${name}.h)
  set_source_files_properties(${folder}/${name}.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC ${folder})
  target_link_libraries(${name} PUBLIC weft::runtime m)
endfunction()
