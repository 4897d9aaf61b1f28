# What a build for another processor takes from this machine: the headers of the packages, which are the same for all processors.
# Their libraries are not, so that this serves tests of code that needs none (tests/aarch64/). /usr/include comes last: the C
# library's headers are the other processor's own.
add_library(host_headers INTERFACE)
target_compile_options(host_headers INTERFACE "SHELL:-idirafter /usr/include" "SHELL:-isystem /usr/include/eigen3")
target_compile_definitions(host_headers INTERFACE FMT_HEADER_ONLY)
foreach(package ZLIB::ZLIB fmt::fmt Eigen3::Eigen nlohmann_json::nlohmann_json hwy::hwy)
  add_library(${package} ALIAS host_headers)
endforeach()
