# Text files as C++ string constants, so that a program carries them inside.
#
# weft_embed_text(OUTPUT files...) writes, at build time, a header OUTPUT with
# one `static constexpr char` array per file, named after it: page.css is
# page_css. Also the script that does it: cmake -DOUTPUT=... -DFILES=... -P.

if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// Made from the files that it is named after; do not edit.\n")
  foreach(file IN LISTS FILES)
    get_filename_component(name "${file}" NAME)
    string(MAKE_C_IDENTIFIER "${name}" name)
    file(READ "${file}" contents)
    string(APPEND text "static constexpr char ${name}[] = R\"__(${contents})__\";\n")
  endforeach()
  file(WRITE "${OUTPUT}" "${text}")
  return()
endif()

set(WEFT_EMBED_TEXT_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(weft_embed_text output)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DFILES=${files}"
      -P ${WEFT_EMBED_TEXT_SCRIPT}
    DEPENDS ${files} ${WEFT_EMBED_TEXT_SCRIPT}
    VERBATIM)
endfunction()
