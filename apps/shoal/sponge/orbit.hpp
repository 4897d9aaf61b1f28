// A page on which the sponge turns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shoal::app {

/// One self-contained page of frames (PNG files) that are shown one after another: they play, stop at a touch or the
/// space bar, and are turned by the arrow keys and a slider. Without scripts the page shows the first frame.
std::string orbit_page(const std::vector<std::string>& frames, std::size_t width, std::size_t height,
                       const std::string& title);

/// "turn.png" with number 7 of 120: "turn-007.png".
std::string frame_name(const std::string& picture, std::size_t number, std::size_t frames);

}  // namespace shoal::app
