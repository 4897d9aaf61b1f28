// A scene as the text that the page's program reads.
#pragma once

#include <string>

#include "viewer/scene.hpp"

namespace shoal::viewer {

/// JSON; arrays of numbers are little-endian bytes in base64. Never holds a '<', so that it can stand in a page.
std::string scene_text(const scene& shown, const view_settings& view);

}  // namespace shoal::viewer
