# What an installed shoal consists of: the library, the public headers by name, and the files of find_package(shoal).
include(CMakePackageConfigHelpers)

# Each room names its own by shoal_public_headers(); what is not named is private and not installed. What is named compiles by
# itself, with the standard library alone (tests/install/ holds it to that); what ends in .cuh does so by nvcc.
get_property(SHOAL_PUBLIC_HEADERS GLOBAL PROPERTY SHOAL_PUBLIC_HEADERS)
foreach(header ${SHOAL_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endforeach()

install(TARGETS shoal shoal_mpi EXPORT shoalTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/shoal)
install(EXPORT shoalTargets NAMESPACE shoal:: DESTINATION ${package_folder} COMPONENT development)
get_target_property(SHOAL_LIBRARY_TYPE shoal TYPE)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/shoalConfig.cmake.in ${PROJECT_BINARY_DIR}/shoalConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/shoalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/shoalConfig.cmake ${PROJECT_BINARY_DIR}/shoalConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
