#include "viewer/sponge_scene.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/geometry/geometry.hpp>

#include "report/text.hpp"
#include "viewer/still.hpp"

namespace shoal::viewer {
namespace {

// A drawing of shapes of greater orders would be larger than the rest of the page.
constexpr std::size_t most_still_order = 2;

report::picture still_of_sponge(std::size_t order, const view_settings& view) {
  const geometry::mesh surface = geometry::make_mesh(static_cast<unsigned>(std::min(order, most_still_order)));
  std::vector<still_face> faces;
  for (std::size_t f = 0; f < surface.directions.size(); ++f) {
    still_face face;
    for (std::size_t corner = 0; corner < 4; ++corner) {
      const float* at = surface.vertices.data() + 3 * surface.faces[4 * f + corner];
      face.corners.push_back({2.0 * at[0] - 1, 2.0 * at[1] - 1, 2.0 * at[2] - 1});
    }
    const auto& [red, green, blue] = geometry::face_colours[static_cast<std::size_t>(surface.directions[f])];
    face.colour = {red, green, blue};
    face.one_sided = true;
    faces.push_back(std::move(face));
  }
  report::picture made = draw_faces(std::move(faces), view, "Menger sponge");
  if (order > most_still_order) made.note = fmt::format("The picture shows order {}.", most_still_order);
  return made;
}

}  // namespace

scene sponge_scene(std::size_t order, const view_settings& view) {
  if (order > most_sponge_order) {
    std::string size;
    // Above order 13 the faces outgrow 63 bits.
    if (order <= 13) {
      const std::uint64_t faces = geometry::size_of_surface(static_cast<unsigned>(order)).faces;
      size = fmt::format(" has {} faces, {} bytes on the graphics card, and", report::count(faces),
                         report::count(bytes_of_sponge_face * faces));
    }
    throw bad_argument(fmt::format("a sponge of order {}{} is too large for a page, which shows orders up to {}", order,
                                   size, most_sponge_order));
  }
  scene made;
  made.title = "Menger sponge";
  const auto counts = geometry::count_sponge(static_cast<unsigned>(order));
  made.subtitle = fmt::format("order {}: {} cubes, {} faces", order, report::count(std::stoull(counts.cubes)),
                              report::count(std::stoull(counts.faces)));
  made.sponge = scene_sponge{order};
  made.still = still_of_sponge(order, view);
  return made;
}

}  // namespace shoal::viewer
