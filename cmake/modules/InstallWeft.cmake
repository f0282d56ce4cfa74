# What `cmake --install` puts where, and what find_package(weft) finds there.
#
# Two components: `weft` is the tools, libweft, the runtime and their C headers,
# and the headers of the runtime's backends, in C++;
# `weft-compiler` is the compiler's own libraries and headers, in C++, which need
# MLIR's. Libraries are those that add_weft_library made, tools those below tools/,
# headers go by directory: nothing is listed one by one.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
get_property(libraries GLOBAL PROPERTY WEFT_LIBRARIES)
set(tools weft-run) # which is in the runtime's project
get_property(folders DIRECTORY ${PROJECT_SOURCE_DIR}/tools PROPERTY SUBDIRECTORIES)
foreach(folder IN LISTS folders)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  list(APPEND tools ${targets})
endforeach()

set_target_properties(weft_rt PROPERTIES EXPORT_NAME runtime)
set_target_properties(weft_rt_main PROPERTIES EXPORT_NAME runtime_main)
set_target_properties(weft_rt_backend PROPERTIES EXPORT_NAME backend)
target_include_directories(weft_rt_backend INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/weft-backend>)
install(TARGETS weft weft_rt weft_rt_main weft_rt_backend ${tools}
  EXPORT weftTargets
  RUNTIME COMPONENT weft
  LIBRARY COMPONENT weft
  ARCHIVE COMPONENT weft
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${package_dir} COMPONENT weft)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft-c ${PROJECT_SOURCE_DIR}/runtime/include/weft-rt
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT weft)
# What a backend in a shared library is written with; its version is in
# core/backend_registry.h.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/core
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft-backend
  COMPONENT weft
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/runtime/backends/host/host.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft-backend/backends/host
  COMPONENT weft)
install(FILES ${PROJECT_SOURCE_DIR}/runtime/backends/null/null.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft-backend/backends/null
  COMPONENT weft)

install(TARGETS weft_mlir ${libraries}
  EXPORT weftCompilerTargets
  ARCHIVE COMPONENT weft-compiler
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT weftCompilerTargets NAMESPACE weft:: DESTINATION ${package_dir} COMPONENT weft-compiler)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft ${PROJECT_BINARY_DIR}/include/weft
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT weft-compiler
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
  PATTERN CMakeFiles EXCLUDE)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/package/weftConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/weftConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/weftConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/weftConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/weftConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/package/WeftAddStep.cmake
  DESTINATION ${package_dir}
  COMPONENT weft)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT weft)
