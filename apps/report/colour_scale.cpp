// Colours that stand for numbers.
#include "report/colour_scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/picture.hpp"

namespace shoal::report {
namespace {

constexpr std::array<rgb, 4> value_anchors = {
    {{0xf7, 0xf4, 0xe8}, {0x86, 0xbe, 0xd6}, {0x00, 0x72, 0xb2}, {0x0b, 0x1d, 0x33}}};

// The light variants of style().
constexpr std::array<rgb, group_colours> groups = {{{0x00, 0x72, 0xb2},
                                                    {0xd5, 0x5e, 0x00},
                                                    {0x00, 0x9e, 0x73},
                                                    {0xcc, 0x79, 0xa7},
                                                    {0xe6, 0x9f, 0x00},
                                                    {0x56, 0xb4, 0xe9},
                                                    {0xa3, 0x9a, 0x00},
                                                    {0x4a, 0x4f, 0x55}}};

rgb between(rgb from, rgb to, double share) {
  const auto mix = [share](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + share * (static_cast<double>(b) - a)));
  };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

}  // namespace

std::string hexadecimal(rgb colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

rgb value_colour(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(value_anchors.size() - 1);
  const std::size_t left = std::min(static_cast<std::size_t>(at), value_anchors.size() - 2);
  return between(value_anchors[left], value_anchors[left + 1], at - static_cast<double>(left));
}

rgb group_colour(std::int32_t group, double strength) {
  const auto index = static_cast<std::size_t>(group) % groups.size();
  return between({0xff, 0xff, 0xff}, groups[index], std::clamp(strength, 0.0, 1.0));
}

}  // namespace shoal::report
