# The C++ example of README.md is examples/faithful.cpp, word for word.
file(READ ${REPOSITORY}/README.md readme)
file(READ ${REPOSITORY}/examples/faithful.cpp example)
string(FIND "${readme}" "```cpp\n${example}```" place)
if(place EQUAL -1)
  message(FATAL_ERROR "The cpp block of README.md is not examples/faithful.cpp; copy one to the other.")
endif()
