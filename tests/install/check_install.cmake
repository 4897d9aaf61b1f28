# Installs into an empty folder, compiles every installed header by itself, then configures, builds and runs a program that
# knows shoal only through find_package.
set(prefix ${SCRATCH}/prefix)
file(REMOVE_RECURSE ${prefix} ${SCRATCH}/consumer)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("installing" ${CMAKE_COMMAND} --install ${BUILD_FOLDER} --config ${CONFIGURATION} --prefix ${prefix})

if(EXISTS ${prefix}/bin/shoal)
  foreach(file man/man1/shoal.1 bash-completion/completions/shoal zsh/site-functions/_shoal fish/vendor_completions.d/shoal.fish)
    if(NOT EXISTS ${prefix}/share/${file})
      message(FATAL_ERROR "share/${file} was not installed with the program")
    endif()
  endforeach()
endif()

# What a program has of Eigen too must not take the place of the library's, which was compiled for another processor.
file(GLOB library ${prefix}/lib*/libshoal.a)
if(library AND NM)
  run("listing the names of the library" ${NM} ${library})
  if(output MATCHES "_ZN?K?5Eigen[^\n]*")
    message(FATAL_ERROR "the library offers names of Eigen's own, which a program may have too: ${CMAKE_MATCH_0}")
  endif()
endif()

file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/*.hpp)
list(LENGTH headers count)
if(count LESS 8)
  message(FATAL_ERROR "only ${count} headers were installed: ${headers}")
endif()
set(dependency "/(hwy|eigen3|Eigen|fmt|nlohmann|CLI)/|/cuda[a-z_]*\\.h")
foreach(header ${headers})
  file(WRITE ${SCRATCH}/alone.cpp "#include <${header}>\n#include <${header}>\nint main() {}\n")
  run("compiling <${header}> alone" ${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only
      -MD -MF ${SCRATCH}/alone.d -I ${prefix}/include ${SCRATCH}/alone.cpp)
  file(READ ${SCRATCH}/alone.d output)
  string(REPLACE ${SCRATCH} "" output "${output}")
  if(output MATCHES "${dependency}")
    message(FATAL_ERROR "<${header}> includes a header of a dependency, which a user may not have:\n${output}")
  endif()
endforeach()

run("configuring the consumer" ${CMAKE_COMMAND} -S ${CONSUMER} -B ${SCRATCH}/consumer -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${prefix})
run("building the consumer" ${CMAKE_COMMAND} --build ${SCRATCH}/consumer)
run("running the consumer of the algebra" ${SCRATCH}/consumer/algebra)
run("running the consumer" ${SCRATCH}/consumer/consumer)
message(STATUS "${count} headers compile alone; the consumer says: ${output}")
