# The CUDA language, or a clear refusal.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "SHOAL_CUDA is ON, but nvcc was not found. Put it on PATH, name it by -DCMAKE_CUDA_COMPILER=FILE, "
                      "or configure with -DSHOAL_CUDA=OFF.")
endif()
# The architecture is named by -gencode: the `a` variants of an architecture have no spelling in CMAKE_CUDA_ARCHITECTURES
# that CMake 3.25 keeps.
set(CMAKE_CUDA_ARCHITECTURES OFF)
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "SHOAL_CUDA needs nvcc 13 or newer; ${CMAKE_CUDA_COMPILER} is ${CMAKE_CUDA_COMPILER_VERSION}.")
endif()
find_package(CUDAToolkit REQUIRED)
# CMake 3.25 does not know that this nvcc speaks C++20, and would refuse the standard that shoal asks for (or, asked through
# CUDA_STANDARD, drop it in silence).
if(NOT "cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(SHOAL_CUDA_ARCHITECTURES "80;90a;90-virtual" CACHE STRING
  "What CUDA code is compiled for: machine code (80, 90a) and PTX for what is newer (90-virtual)")
foreach(architecture ${SHOAL_CUDA_ARCHITECTURES})
  if(architecture MATCHES "^([0-9]+)-virtual$")
    set(code compute_${CMAKE_MATCH_1})
    set(architecture ${CMAKE_MATCH_1})
  else()
    set(code sm_${architecture})
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_${architecture},code=${code}>")
endforeach()
# Kernels call constexpr functions that the host shares, such as the random numbers.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
