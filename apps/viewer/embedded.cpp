// The assembler reads the files: a compiler takes minutes and gigabytes for as long a literal.
#include "viewer/embedded.hpp"

#define EMBED(name, file)                                                                                        \
  __asm__(".pushsection .rodata\n.global shoal_viewer_" #name "\n.global shoal_viewer_" #name                    \
          "_end\n"                                                                                               \
          ".hidden shoal_viewer_" #name "\n.hidden shoal_viewer_" #name                                          \
          "_end\n"                                                                                               \
          "shoal_viewer_" #name ":\n.incbin \"" file "\"\nshoal_viewer_" #name "_end:\n.byte 0\n.popsection\n"); \
  extern "C" const char shoal_viewer_##name[], shoal_viewer_##name##_end[];                                      \
  namespace shoal::viewer {                                                                                      \
  std::string_view name() { return {shoal_viewer_##name, shoal_viewer_##name##_end}; }                           \
  }

EMBED(three_module, SHOAL_VIEWER_FOLDER "/three/three.r180.js")
EMBED(three_licences, SHOAL_VIEWER_FOLDER "/three/LICENSES.txt")
EMBED(viewer_styles, SHOAL_VIEWER_FOLDER "/page/viewer.css")
EMBED(viewer_controls, SHOAL_VIEWER_FOLDER "/page/controls.html")
EMBED(viewer_script, SHOAL_VIEWER_SCRIPT)
