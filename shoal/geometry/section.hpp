// Where a ray comes through a section plane.
#pragma once

#include <shoal/geometry/scene.hpp>
#include <shoal/geometry/traversal.hpp>

namespace shoal::geometry {

// NOLINTNEXTLINE: products of places and directions have up to 110 bits.
__extension__ using wide_integer = __int128;

/// What a section does to a ray that it meets before the sponge does.
enum class section_start {
  from_outside,  ///< the ray enters the cube where it is shown
  in_a_cell,     ///< the ray comes through the plane in an empty cell, and goes on from there
  in_the_cut,    ///< it comes through the plane within the sponge
  nowhere        ///< it leaves the cube before
};

/// `at` enters the cube; `place` and `direction` are a point of the ray and its direction, mirrored as it is, and
/// `normal` and `offset` the plane, mirrored too. Finds the cell where the ray comes from the hidden side to the shown
/// one; for a cut, `inside` are the places within that cell.
SHOAL_HD inline section_start start_at_section(ray& at, unsigned order, const std::int64_t* place,
                                               const std::int64_t* direction, const std::int64_t* normal,
                                               std::int64_t offset, std::int64_t* inside) {
  // offset − normal·p is `depth` + t·`pace` along the ray; it is shown where that is not negative.
  wide_integer depth = offset, pace = 0;
  for (unsigned a = 0; a < 3; ++a) {
    depth -= static_cast<wide_integer>(normal[a]) * place[a];
    pace -= static_cast<wide_integer>(normal[a]) * direction[a];
  }
  if (pace <= 0) return section_start::from_outside;  // it goes to the hidden side, if it is not there already
  // The plane a = 0 of the cell comes before the section where this is not positive.
  wide_integer before[3];
  const wide_integer part = pace * cell_edge;
  bool after_entry = true;
  for (unsigned a = 0; a < 3; ++a) {
    before[a] = depth * direction[a] - pace * place[a];
    if (before[a] > 0) after_entry = false;
  }
  if (!after_entry) return section_start::from_outside;
  for (unsigned a = 0; a < 3; ++a) {
    if (before[a] + part <= 0) return section_start::nowhere;
  }
  while (at.level < order) {
    cut_cell<false>(at);
    std::int64_t digits[3];
    for (unsigned a = 0; a < 3; ++a) {
      before[a] *= 3;
      digits[a] = (before[a] + part <= 0) + (before[a] + 2 * part <= 0);
      before[a] += digits[a] * part;
    }
    take_part(at, digits[0], digits[1], digits[2]);
    if (!cell_stays(at)) return section_start::in_a_cell;
  }
  for (unsigned a = 0; a < 3; ++a) {
    inside[a] = static_cast<std::int64_t>(static_cast<double>(-before[a]) / static_cast<double>(pace));
  }
  return section_start::in_the_cut;
}

/// A coordinate of a place within a cell, from 0 to 1 in the mirrored cube.
SHOAL_HD inline double coordinate_of(std::uint64_t digits, unsigned level, std::int64_t inside) {
  double below = static_cast<double>(inside) / static_cast<double>(cell_edge);
  for (; level > 0; --level, digits >>= 2) below = (static_cast<double>(digits & 3) + below) / 3;
  return below;
}

}  // namespace shoal::geometry
