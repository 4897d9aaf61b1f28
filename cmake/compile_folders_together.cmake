# compile_folders_together(TARGET): the sources of each folder as one, since most of the time to compile them goes into the headers that
# they share. Names that are local to a source are its folder's, then.
function(compile_folders_together target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    set_property(SOURCE "${source}" TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${folder})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
