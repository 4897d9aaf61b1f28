#include <shoal/geometry/mesh.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/geometry/sponge_counts.hpp>
#include <shoal/geometry/surface.hpp>

namespace shoal::geometry {

mesh make_mesh(unsigned order) {
  const surface_size size = size_of_surface(order);
  if (order > most_mesh_order) {
    throw bad_argument(fmt::format("order {} has {} faces, and its mesh {} bytes; the order must be at most {}", order,
                                   size.faces, size.faces * 17 + size.vertices * 12, most_mesh_order));
  }
  mesh made;
  made.vertices.reserve(3 * size.vertices);
  made.faces.resize(4 * size.faces);
  made.directions.reserve(size.faces);
  const sponge_rows cells(order);
  const std::vector<float> places = places_of_planes(cells.cells());
  vertex_plane plane(cells);
  for (std::uint64_t z = 0; z <= cells.cells(); ++z) {
    plane.move_to(z);
    plane.for_each([&](std::uint32_t x, std::uint64_t y) {
      made.vertices.insert(made.vertices.end(), {places[x], places[y], places[z]});
    });
  }
  vertex_numbers numbers(cells);
  face_rows faces(cells);
  for (std::uint64_t z = 0; z < cells.cells(); ++z) {
    numbers.climb(z);
    faces.for_each_row(z, [&](direction looks, std::uint32_t y, std::span<const std::uint32_t> xs) {
      const corner_numbers corners = numbers.corners(looks, y);
      for (const std::uint32_t x : xs) {
        const auto face = std::bit_cast<std::array<std::uint32_t, 4>>(corners.at(x));
        std::copy(face.begin(), face.end(), &made.faces[4 * made.directions.size()]);
        made.directions.push_back(looks);
      }
    });
  }
  return made;
}

}  // namespace shoal::geometry
