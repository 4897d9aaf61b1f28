// The units of a map drawn as they lie: squares or hexagons, each in one of a few shades.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/colour_scale.hpp"

namespace shoal::report {

/// Row 0 is at the top. Hexagons stand on a corner, and those of odd rows half a cell to the right.
struct lattice_cells {
  std::size_t width = 0;
  std::size_t height = 0;
  bool hexagonal = false;
  std::vector<std::int32_t> shade;  ///< [height][width], an index of `shades`; −1: left blank
  std::vector<rgb> shades;          ///< at most 255

  /// Size in distances between neighbours of one row.
  double across() const;
  double down() const;
};

/// Up to this many cells are shapes, sharp at any size; more are the pixels of one image, which stays small.
inline constexpr std::size_t most_shapes = 4096;

/// SVG of the cells at (left, top), `distance` page units between neighbours of a row: one path for each shade, or one
/// image. Throws bad_argument when sizes do not fit.
std::string draw_cells(const lattice_cells& cells, double left, double top, double distance);

}  // namespace shoal::report
