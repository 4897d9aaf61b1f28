// Files of this folder that are part of the program.
#pragma once

#include <string_view>

namespace shoal::viewer {

std::string_view three_module();     ///< three/three.r180.js
std::string_view three_licences();   ///< three/LICENSES.txt
std::string_view viewer_styles();    ///< page/viewer.css
std::string_view viewer_controls();  ///< page/controls.html
std::string_view viewer_script();    ///< page/*.js, one behind the other

}  // namespace shoal::viewer
