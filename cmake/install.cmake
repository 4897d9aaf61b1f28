# What an installed shoal consists of: the library, the public headers by name, and the files of find_package(shoal).
include(CMakePackageConfigHelpers)

# A header that is not listed here is private and not installed. What is listed must compile by itself, with the standard
# library alone (tests/install/ holds it to that).
set(SHOAL_PUBLIC_HEADERS
  shoal/algebra/adapt.hpp
  shoal/algebra/algebra.hpp
  shoal/algebra/compose.hpp
  shoal/algebra/group.hpp
  shoal/algebra/instances/affine.hpp
  shoal/algebra/instances/boolean.hpp
  shoal/algebra/instances/dihedral.hpp
  shoal/algebra/instances/extrema.hpp
  shoal/algebra/instances/integers.hpp
  shoal/algebra/instances/log_sum_exp.hpp
  shoal/algebra/instances/moments.hpp
  shoal/algebra/instances/processes.hpp
  shoal/algebra/instances/reals.hpp
  shoal/algebra/instances/strings.hpp
  shoal/algebra/instances/sums.hpp
  shoal/algebra/instances/syntactic.hpp
  shoal/algebra/instances/top_k.hpp
  shoal/algebra/instances/traces.hpp
  shoal/algebra/instances/tropical.hpp
  shoal/algebra/instances/types.hpp
  shoal/algebra/law_report.hpp
  shoal/algebra/laws.hpp
  shoal/algebra/module.hpp
  shoal/algebra/module_laws.hpp
  shoal/algebra/reduce.hpp
  shoal/algebra/ring.hpp
  shoal/algebra/summary.hpp
  shoal/assignment/assignment.hpp
  shoal/core/aligned_buffer.hpp
  shoal/core/device_matrix_view.hpp
  shoal/core/error.hpp
  shoal/core/matrix_view.hpp
  shoal/core/progress.hpp
  shoal/execution/automatic_device.hpp
  shoal/execution/device_choice.hpp
  shoal/execution/devices.hpp
  shoal/execution/precision.hpp
  shoal/io/io.hpp
  shoal/io/row_source.hpp
  shoal/kmeans/kmeans.hpp
  shoal/kmeans/work.hpp
  shoal/metrics/modelling_error.hpp
  shoal/random/normal_method.hpp
  shoal/gmm/generate.hpp
  shoal/gmm/gmm.hpp
  shoal/gmm/sample.hpp
  shoal/gmm/modelling_error.hpp
  shoal/gmm/work.hpp
  shoal/som/som.hpp
  shoal/som/work.hpp
)
# All of the algebra is public.
file(GLOB_RECURSE algebra_headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/shoal/algebra/*.hpp)
list(APPEND SHOAL_PUBLIC_HEADERS ${algebra_headers})
foreach(header ${SHOAL_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endforeach()

install(TARGETS shoal EXPORT shoalTargets
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
