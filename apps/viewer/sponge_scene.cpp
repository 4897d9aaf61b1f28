#include "viewer/sponge_scene.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/geometry/geometry.hpp>

#include "report/png.hpp"
#include "report/text.hpp"

namespace shoal::viewer {
namespace {

// Rays see the sponge at any order.
report::picture still_of_sponge(std::size_t order, const view_settings& view) {
  geometry::picture_options how;
  how.order = static_cast<unsigned>(order);
  how.width = 640;
  how.height = 480;
  how.projection = view.projection == projection::perspective ? geometry::projection::perspective
                                                              : geometry::projection::orthographic;
  how.azimuth = view.azimuth;
  how.elevation = view.elevation;
  // Of the room that the picture leaves around the cube, zooming takes away.
  how.extent /= view.zoom;
  how.distance = std::max(1.0, how.distance / view.zoom);
  how.sky_rays = 4;
  const std::array<int, 3> normal = normal_of(view.section);
  // Sections pass through the middle of a box of half size 1, and through that of a cube of edge 1.
  const double size = normal[0] + normal[1] + normal[2];
  if (size > 0) how.section = geometry::section_plane{normal, size * (1 + view.section_offset) / 2};
  const geometry::picture seen = geometry::draw_sponge(how);
  const double width = static_cast<double>(seen.width), height = static_cast<double>(seen.height);
  return {.title = "Menger sponge",
          .description = fmt::format("A Menger sponge of order {}, seen from one side.", order),
          .note = {},
          .width = width,
          .height = height,
          .body = fmt::format(R"(<image width="{}" height="{}" href="data:image/png;base64,{}"/>)", width, height,
                              report::base64(report::rgb_png(seen.pixels, seen.width, seen.height)))};
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
