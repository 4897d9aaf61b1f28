# How vector kernels are compiled with sanitizers and for coverage. Of all sources they take longest, so these builds leave AVX-512
# out; the bits are those of shoal/core/simd_targets.hpp and Highway's AVX3. With sanitizers the use of locals after their scope is
# not checked there either: it would poison every temporary of every inlined vector function, two thirds of the time to compile
# them. Nor are the addresses of each access, a check for every vector that is read or written and half of what then remains: a null
# pointer and an object's end are what the address sanitizer finds by its own means, and vectors that must be aligned fault by
# themselves. Everything else that the sanitizers find is checked there too, and all other sources are checked for these as well.
set(vector_definitions)
set(vector_options)
if(SHOAL_SANITIZE OR SHOAL_COVERAGE)
  set(vector_definitions HWY_DISABLED_TARGETS=0xF0019D0)
endif()
if(SHOAL_SANITIZE MATCHES "address")
  set(vector_options -fno-sanitize-address-use-after-scope)
  if(SHOAL_SANITIZE MATCHES "undefined")
    list(APPEND vector_options -fno-sanitize=null,object-size,alignment,vptr)
  endif()
endif()

# shoal_vector_sources(SOURCES…): these sources of the library, which a room names itself, hold vector kernels.
function(shoal_vector_sources)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  set_property(GLOBAL APPEND PROPERTY SHOAL_VECTOR_SOURCES ${files})
  set_source_files_properties(${ARGN} TARGET_DIRECTORY shoal
    PROPERTIES COMPILE_DEFINITIONS "${vector_definitions}" COMPILE_OPTIONS "${vector_options}" SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# shoal_vector_test(NAME): this test goes through the instruction sets, and is compiled for those that the library has.
function(shoal_vector_test name)
  target_compile_definitions(${name} PRIVATE ${vector_definitions})
endfunction()
