// Which cells belong to a Menger sponge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shoal::geometry {

/// A sponge of order n is the unit cube cut n times: each cube into 27, of which the middle one and the middles of the
/// six faces are taken away. Cells are numbered from 0 to 3ⁿ − 1 along each axis.

/// Cells along an edge of the sponge of `order` at most 40.
constexpr std::uint64_t cells_along_edge(unsigned order) {
  std::uint64_t cells = 1;
  for (; order > 0; --order) cells *= 3;
  return cells;
}

/// Whether the part (x, y, z) of a cube that is cut into 3 × 3 × 3 stays: at most one of its digits is 1.
constexpr bool stays(unsigned x, unsigned y, unsigned z) { return (x == 1) + (y == 1) + (z == 1) < 2; }

/// Whether the cell belongs to the sponge. Its coordinates in base 3 say so level by level; nothing is stored.
constexpr bool in_sponge(std::uint64_t x, std::uint64_t y, std::uint64_t z, unsigned order) {
  for (; order > 0; --order) {
    if (!stays(x % 3, y % 3, z % 3)) return false;
    x /= 3;
    y /= 3;
    z /= 3;
  }
  return x == 0 && y == 0 && z == 0;
}

/// The six ways that a face looks, outward. x runs east, y north and z up.
enum class direction : std::uint8_t { west, east, south, north, down, up };

/// The axis of a direction: 0, 1 or 2 for x, y or z.
constexpr unsigned axis_of(direction looks) { return static_cast<unsigned>(looks) / 2; }

/// Whether it looks to where its coordinate grows.
constexpr bool is_forward(direction looks) { return static_cast<unsigned>(looks) % 2 == 1; }

/// Red, green and blue of each direction, as the viewer of 2012 painted them: top red, bottom cyan, north green, south
/// magenta, east blue and west yellow.
inline constexpr std::array<std::array<std::uint8_t, 3>, 6> face_colours = {
    {{255, 255, 0}, {0, 0, 255}, {255, 0, 255}, {0, 255, 0}, {0, 255, 255}, {255, 0, 0}}};

/// Of what a section has cut: none of the faces'.
inline constexpr std::array<std::uint8_t, 3> section_colour = {255, 214, 150};

}  // namespace shoal::geometry
