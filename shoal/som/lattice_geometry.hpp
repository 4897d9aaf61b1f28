// Where the units of a map stand, how far apart, and which are neighbours. For host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/core/host_device.hpp>
#include <shoal/som/lattice.hpp>

namespace shoal::som {

/// The shape of a map. Unit u stands in row u / width and column u % width.
struct lattice_shape {
  std::uint32_t width = 1;
  std::uint32_t height = 1;
  som::lattice lattice = som::lattice::rectangular;
  bool toroidal = false;  ///< a hexagonal one has an even height

  SHOAL_HD std::size_t units() const { return std::size_t{width} * height; }
};

template <class Map>  // a model or options
lattice_shape shape_of(const Map& map) {
  return {static_cast<std::uint32_t>(map.width), static_cast<std::uint32_t>(map.height), map.lattice, map.toroidal};
}

/// How far two units lie apart: `row` rows, and on a hexagonal lattice with an odd `row` half a column more than
/// `column`. Below height and width, so that a table [height][width] holds every distance of a map.
struct unit_offset {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
};

/// The lesser way around where there is one.
SHOAL_HD constexpr std::uint32_t wrapped(std::uint32_t apart, std::uint32_t period, bool toroidal) {
  return toroidal && period - apart < apart ? period - apart : apart;
}

SHOAL_HD constexpr std::uint32_t row_offset(const lattice_shape& shape, std::uint32_t row_a, std::uint32_t row_b) {
  return wrapped(row_a < row_b ? row_b - row_a : row_a - row_b, shape.height, shape.toroidal);
}

/// Of units in columns a and b of rows whose numbers are odd or not. Counted in half columns, which a torus has
/// 2·width of: the nearest images of columns do not depend on those of rows, because a hexagonal torus has an even
/// height.
SHOAL_HD constexpr std::uint32_t column_offset(const lattice_shape& shape, std::uint32_t column_a, bool odd_a,
                                               std::uint32_t column_b, bool odd_b) {
  const bool hexagonal = shape.lattice == lattice::hexagonal;
  const std::uint32_t a = 2 * column_a + (hexagonal && odd_a ? 1 : 0);
  const std::uint32_t b = 2 * column_b + (hexagonal && odd_b ? 1 : 0);
  return wrapped(a < b ? b - a : a - b, 2 * shape.width, shape.toroidal) / 2;
}

SHOAL_HD constexpr unit_offset offset_between(const lattice_shape& shape, std::size_t a, std::size_t b) {
  const auto row_a = static_cast<std::uint32_t>(a / shape.width),
             column_a = static_cast<std::uint32_t>(a % shape.width);
  const auto row_b = static_cast<std::uint32_t>(b / shape.width),
             column_b = static_cast<std::uint32_t>(b % shape.width);
  return {row_offset(shape, row_a, row_b), column_offset(shape, column_a, row_a % 2 != 0, column_b, row_b % 2 != 0)};
}

/// The two parts of δ², along the rows of the map and across them. Exact: multiples of a quarter.
SHOAL_HD constexpr double squared_column_distance(const lattice_shape& shape, unit_offset offset) {
  const double half = shape.lattice == lattice::hexagonal && offset.row % 2 != 0 ? 0.5 : 0.0;
  const double columns = static_cast<double>(offset.column) + half;
  return columns * columns;
}
SHOAL_HD constexpr double squared_row_distance(const lattice_shape& shape, unit_offset offset) {
  const auto rows = static_cast<double>(offset.row);
  return shape.lattice == lattice::hexagonal ? 0.75 * (rows * rows) : rows * rows;
}
SHOAL_HD constexpr double squared_distance(const lattice_shape& shape, unit_offset offset) {
  return squared_column_distance(shape, offset) + squared_row_distance(shape, offset);
}

/// Whether two units that far apart are neighbours (a unit is not its own).
SHOAL_HD constexpr bool are_neighbors(const lattice_shape& shape, unit_offset offset) {
  const double squared = squared_distance(shape, offset);
  return squared > 0 && squared <= (shape.lattice == lattice::hexagonal ? 1.0 : 2.0);
}
SHOAL_HD constexpr bool are_neighbors(const lattice_shape& shape, std::size_t a, std::size_t b) {
  return are_neighbors(shape, offset_between(shape, a, b));
}

/// The neighbours of a unit, each once, in ascending order.
struct neighbor_list {
  std::size_t units[8] = {};
  std::uint32_t count = 0;

  SHOAL_HD constexpr void insert(std::size_t unit) {
    std::uint32_t at = 0;
    while (at < count && units[at] < unit) ++at;
    if (at < count && units[at] == unit) return;  // around a narrow torus it is met twice
    for (std::uint32_t i = count; i > at; --i) units[i] = units[i - 1];
    units[at] = unit;
    ++count;
  }
};

SHOAL_HD constexpr neighbor_list neighbors_of(const lattice_shape& shape, std::size_t unit) {
  neighbor_list found;
  const auto height = static_cast<std::int64_t>(shape.height), width = static_cast<std::int64_t>(shape.width);
  const auto row = static_cast<std::int64_t>(unit) / width, column = static_cast<std::int64_t>(unit) % width;
  for (std::int64_t r = row - 1; r <= row + 1; ++r) {
    if (!shape.toroidal && (r < 0 || r >= height)) continue;
    for (std::int64_t c = column - 1; c <= column + 1; ++c) {
      if (!shape.toroidal && (c < 0 || c >= width)) continue;
      const auto other = static_cast<std::size_t>((r + height) % height * width + (c + width) % width);
      if (are_neighbors(shape, unit, other)) found.insert(other);
    }
  }
  return found;
}

}  // namespace shoal::som
