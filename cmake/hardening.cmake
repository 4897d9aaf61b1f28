# What makes a memory error harder to exploit, in whatever users run: the program, the library and the Python module.
option(SHOAL_HARDENING "Compile with the checks and protections of cmake/hardening.cmake" ON)
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

# shoal_harden_by(FLAG): compiles with it where the compiler knows it.
function(shoal_harden_by flag)
  string(MAKE_C_IDENTIFIER "SHOAL_HAS${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${flag}>")
  endif()
endfunction()

if(SHOAL_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  # Sanitizers look closer than any of these. Here the standard library checks its own use too.
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
elseif(SHOAL_HARDENING AND NOT SHOAL_COVERAGE)
  set(SHOAL_HARDENED TRUE)
  # Copies into objects of known size are checked; a distribution's own level gives way.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
  shoal_harden_by(-fstack-protector-strong) # of functions with arrays
  shoal_harden_by(-fcf-protection)          # where calls and jumps may land; x86 alone has it
  # Tables of functions are resolved when the program starts, and cannot be written from then on.
  foreach(flag -Wl,-z,relro -Wl,-z,now)
    string(MAKE_C_IDENTIFIER "SHOAL_HAS${flag}" known)
    check_linker_flag(CXX ${flag} ${known})
    if(${known})
      add_link_options(${flag})
    endif()
  endforeach()
endif()
