// What the options of a picture say.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <shoal/geometry/picture.hpp>

namespace shoal::app {

/// "1920x1080".
std::pair<std::size_t, std::size_t> parse_size(const std::string& option, const std::string& text);

/// "AZIMUTH,ELEVATION" or "AZIMUTH,ELEVATION,STRENGTH", with semicolons between lights; "none" are none.
std::vector<geometry::light> parse_lights(const std::string& option, const std::string& text);

/// "A,B,C,D" for the plane A·x + B·y + C·z = D, or "hexagon" for x + y + z = 3/2.
geometry::section_plane parse_section(const std::string& option, const std::string& text);

/// "#rrggbb" or "rrggbb".
std::array<std::uint8_t, 3> parse_colour(const std::string& option, const std::string& text);

}  // namespace shoal::app
