// A scene as one self-contained page, which is turned, moved and cut in a browser.
#pragma once

#include <string>

#include "viewer/scene.hpp"

namespace shoal::viewer {

/// The whole page: the scene, the program that draws it, and the library that this stands on with its licences. It
/// loads nothing. Without WebGL 2 it shows scene.still and says so.
std::string viewer_page(const scene& shown, const view_settings& view);

}  // namespace shoal::viewer
