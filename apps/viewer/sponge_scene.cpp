#include "viewer/sponge_scene.hpp"

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/colour_scale.hpp"
#include "report/text.hpp"
#include "viewer/still.hpp"

namespace shoal::viewer {
namespace {

// Exposed unit faces of an order: 2·20ⁿ + 4·8ⁿ.
double faces_of(std::size_t order) {
  double twenties = 2, eights = 4;
  for (std::size_t i = 0; i < order; ++i) {
    twenties *= 20;
    eights *= 8;
  }
  return twenties + eights;
}

// A cell is empty where, at some ternary level, two or more of its digits are 1.
bool is_full(int x, int y, int z, int side) {
  if (x < 0 || y < 0 || z < 0 || x >= side || y >= side || z >= side) return false;
  for (; side > 1; side /= 3, x /= 3, y /= 3, z /= 3)
    if ((x % 3 == 1) + (y % 3 == 1) + (z % 3 == 1) >= 2) return false;
  return true;
}

}  // namespace

report::picture still_of(const scene_sponge& sponge, const view_settings& view, const std::string& title) {
  // Of greater orders a drawing of shapes would be larger than the page.
  const std::size_t order = std::min<std::size_t>(sponge.order, 2);
  int side = 1;
  for (std::size_t i = 0; i < order; ++i) side *= 3;
  std::vector<still_face> faces;
  const auto at = [side](int cell) { return 2.0 * cell / side - 1; };
  for (int x = 0; x < side; ++x)
    for (int y = 0; y < side; ++y)
      for (int z = 0; z < side; ++z) {
        if (!is_full(x, y, z, side)) continue;
        const int cell[3] = {x, y, z};
        for (int axis = 0; axis < 3; ++axis)
          for (const int way : {-1, 1}) {
            int beside[3] = {x, y, z};
            beside[axis] += way;
            if (is_full(beside[0], beside[1], beside[2], side)) continue;
            const int u = (axis + 1) % 3, v = (axis + 2) % 3;
            still_face face;
            for (const auto& [du, dv] : {std::pair(0, 0), std::pair(1, 0), std::pair(1, 1), std::pair(0, 1)}) {
              point corner{};
              corner[static_cast<std::size_t>(axis)] = at(cell[axis] + (way > 0 ? 1 : 0));
              corner[static_cast<std::size_t>(u)] = at(cell[u] + du);
              corner[static_cast<std::size_t>(v)] = at(cell[v] + dv);
              face.corners.push_back(corner);
            }
            face.colour = report::hexadecimal(report::group_colour(2 * axis + (way > 0 ? 1 : 0)));
            faces.push_back(std::move(face));
          }
      }
  report::picture made = draw_faces(std::move(faces), view, title);
  if (order < sponge.order) made.note = fmt::format("Order {} is drawn here.", order);
  return made;
}

scene sponge_scene(std::size_t order, const view_settings& view) {
  if (order > most_sponge_order) {
    throw bad_argument(fmt::format(
        "a sponge of order {} has {:.10g} faces, {:.10g} bytes on the graphics card; a page shows orders up to {}",
        order, faces_of(order), 4 * faces_of(order), most_sponge_order));
  }
  scene made;
  made.title = "Menger sponge";
  made.subtitle = fmt::format("order {}", order);
  made.sponge = scene_sponge{order};
  made.still = still_of(*made.sponge, view, "Menger sponge");
  return made;
}

}  // namespace shoal::viewer
