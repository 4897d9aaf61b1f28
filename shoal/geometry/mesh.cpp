#include <shoal/geometry/mesh.hpp>

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
  for (std::uint64_t z = 0; z <= cells.cells(); ++z) {
    for_each_vertex(cells, z, [&](std::uint32_t x, std::uint32_t y) {
      made.vertices.insert(made.vertices.end(), {places[x], places[y], places[z]});
    });
  }
  vertex_numbers numbers(cells);
  for (std::uint64_t z = 0; z < cells.cells(); ++z) {
    numbers.climb(z);
    for_each_face_row(cells, z, [&](direction looks, std::uint32_t y, const auto& each) {
      const auto corners = numbers.corners(looks, y);
      each([&](std::uint32_t x) {
        for (std::size_t i = 0; i < 4; ++i) made.faces[4 * made.directions.size() + i] = corners[i][x];
        made.directions.push_back(looks);
      });
    });
  }
  return made;
}

}  // namespace shoal::geometry
