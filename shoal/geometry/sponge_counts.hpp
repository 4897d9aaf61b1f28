// How many cubes, faces, vertices and edges a sponge has, exactly.
#pragma once

#include <cstdint>
#include <string>

namespace shoal::geometry {

/// The highest order whose counts are computed.
inline constexpr unsigned most_counted_order = 20;

/// A fraction in lowest terms, as decimal strings, and the number nearest to it.
struct exact_fraction {
  std::string numerator;
  std::string denominator;
  double value = 0;
};

/// Counts as decimal strings, for they outgrow 64 bits at order 15. The surface is made of unit faces, the sides of the
/// smallest cubes that nothing covers; it is closed and each of its edges belongs to two faces.
struct sponge_counts {
  std::string cubes;      ///< 20ⁿ
  std::string faces;      ///< 2·20ⁿ + 4·8ⁿ
  std::string vertices;   ///< faces + 2 − 2·genus
  std::string edges;      ///< 2·faces
  std::string genus;      ///< how many handles: (21·20ⁿ + 38·8ⁿ − 59) / 133
  exact_fraction area;    ///< of the surface, for a cube of edge 1: faces / 9ⁿ
  exact_fraction volume;  ///< (20/27)ⁿ
};

/// Throws bad_argument above most_counted_order.
sponge_counts count_sponge(unsigned order);

/// Faces and vertices as numbers. Throws bad_argument above order 13, where they outgrow 63 bits.
struct surface_size {
  std::uint64_t faces = 0;
  std::uint64_t vertices = 0;
};
surface_size size_of_surface(unsigned order);

}  // namespace shoal::geometry
