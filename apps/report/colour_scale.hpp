// Colours that stand for numbers: the same on light and on dark paper, because they carry the value.
#pragma once

#include <cstdint>
#include <string>

namespace shoal::report {

struct rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

/// "#0072b2"
std::string hexadecimal(rgb colour);

/// From pale (0) to dark blue (1), the lightness falling all the way, so that it survives grey printing and every form
/// of colour vision. `share` is clamped; shoal.plot draws with the same colours.
rgb value_colour(double share);

/// The colour of a group on light paper, weakened towards white where `strength` is below 1.
rgb group_colour(std::int32_t group, double strength = 1);

}  // namespace shoal::report
