// The surface of a sponge as arrays.
#pragma once

#include <cstdint>
#include <vector>

#include <shoal/geometry/sponge.hpp>

namespace shoal::geometry {

/// A closed surface of squares that share their vertices. Each edge belongs to two faces, and each face runs
/// counter-clockwise for who looks at it from outside.
struct mesh {
  std::vector<float> vertices;        ///< [V][3]: x, y, z from 0 to 1
  std::vector<std::uint32_t> faces;   ///< [F][4]: which vertices, counted from 0
  std::vector<direction> directions;  ///< [F]: where each face looks
};

/// The highest order that make_mesh() makes: 6,531,072 faces in 0.2 GB. Files hold more (mesh_file.hpp).
inline constexpr unsigned most_mesh_order = 5;

/// The unit faces of the sponge: 6, 72, 1056, 18048, 336384 or 6531072 of them. Throws bad_argument above
/// most_mesh_order, with the number of faces and bytes.
mesh make_mesh(unsigned order);

}  // namespace shoal::geometry
