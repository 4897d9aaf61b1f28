# Compiles SOURCE with COMMAND (a compiler and its options) and DEFINITIONS, and holds the outcome to EXPECT: "compiles", or a regular
# expression that the compiler's complaint must match.
execute_process(
  COMMAND ${COMMAND} -I ${INCLUDE} ${DEFINITIONS} ${SOURCE}
  RESULT_VARIABLE code
  OUTPUT_VARIABLE text
  ERROR_VARIABLE text)
if(EXPECT STREQUAL "compiles")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "should have compiled:\n${text}")
  endif()
elseif(code EQUAL 0)
  message(FATAL_ERROR "compiled, though it should have failed with: ${EXPECT}")
elseif(NOT text MATCHES "${EXPECT}")
  message(FATAL_ERROR "failed, but not with: ${EXPECT}\n${text}")
endif()
