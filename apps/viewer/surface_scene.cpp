#include "viewer/surface_scene.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/cloud.hpp"
#include "report/text.hpp"
#include "viewer/box.hpp"
#include "viewer/cloud_scene.hpp"
#include "viewer/space.hpp"
#include "viewer/still.hpp"

namespace shoal::viewer {
namespace {

// The mesh of a map: two triangles for each four units that touch, and the lines between neighbours. A hexagonal map
// leans to the right from even to odd rows and back, and so do its diagonals.
void add_mesh(scene_surface& surface, const surface_request& map) {
  const std::size_t width = map.width, height = map.height;
  const auto unit = [&](std::size_t row, std::size_t column) {
    return static_cast<std::uint32_t>(row % height * width + column % width);
  };
  const auto line = [&](std::uint32_t a, std::uint32_t b) { surface.lines.insert(surface.lines.end(), {a, b}); };
  const bool around = map.toroidal && width > 2, over = map.toroidal && height > 2;
  for (std::size_t i = 0; i < height; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const bool right = j + 1 < width || around, up = i + 1 < height || over;
      if (right) line(unit(i, j), unit(i, j + 1));
      if (up) line(unit(i, j), unit(i + 1, j));
      if (!right || !up) continue;
      const std::uint32_t a = unit(i, j), b = unit(i, j + 1), c = unit(i + 1, j), d = unit(i + 1, j + 1);
      const bool leans = map.hexagonal && i % 2 == 1;
      if (leans) {
        surface.triangles.insert(surface.triangles.end(), {a, b, d, a, d, c});
      } else {
        surface.triangles.insert(surface.triangles.end(), {a, b, c, b, d, c});
      }
      if (map.hexagonal) leans ? line(a, d) : line(b, c);
    }
  }
}

}  // namespace

scene surface_scene(const surface_request& map, const view_settings& view) {
  const std::size_t units = map.width * map.height;
  if (units == 0 || map.weights.rows() != units || map.values.size() != units) {
    throw bad_argument(fmt::format("weights of {} units and {} values for a map of {} x {}", map.weights.rows(),
                                   map.values.size(), map.width, map.height));
  }
  if (map.rows.rows() > 0 && map.rows.columns() != map.weights.columns()) {
    throw bad_argument(fmt::format("rows of {} columns for a map of {}", map.rows.columns(), map.weights.columns()));
  }
  // Units and rows are one cloud, whose first group are the units.
  std::vector<double> all;
  for (const matrix_view<const double>& part : {map.weights, map.rows})
    for (std::size_t i = 0; i < part.rows(); ++i) all.insert(all.end(), part.row(i), part.row(i) + part.columns());
  report::cloud cloud;
  cloud.rows = {all.data(), units + map.rows.rows(), map.weights.columns()};
  cloud.column_names = map.column_names;
  const space chosen = choose_space(cloud, map.axes);
  const projected shown = project(cloud, chosen);

  scene made;
  made.title = map.title;
  made.subtitle = map.subtitle;
  std::array<report::range, 3> ranges;
  for (std::size_t a = 0; a < 3; ++a) {
    if (chosen.names[a].empty()) continue;
    ranges[a] = report::column_range(shown.cloud, a);
    for (std::size_t u = 0; u < units; ++u) {
      ranges[a].low = std::min(ranges[a].low, shown.rows[3 * u + a]);
      ranges[a].high = std::max(ranges[a].high, shown.rows[3 * u + a]);
    }
  }
  const box place(chosen.names, ranges, chosen.one_scale);
  made.axes = place.axes();
  const report::range scale = report::range_of(map.values);
  scene_surface surface;
  for (std::size_t u = 0; u < units; ++u) {
    for (std::size_t a = 0; a < 3; ++a)
      surface.vertices.push_back(static_cast<float>(place.place(a, shown.rows[3 * u + a])));
    const double share = (map.values[u] - scale.low) / (scale.high - scale.low);
    surface.values.push_back(static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0))));
  }
  add_mesh(surface, map);
  scene_points points;
  std::size_t outside = 0;
  for (std::size_t i = units; i < cloud.rows.rows(); ++i) {
    const double* row = shown.cloud.rows.row(i);
    if (!std::isfinite(row[0] + row[1] + row[2]) || !place.holds(0, row[0]) || !place.holds(1, row[1]) ||
        !place.holds(2, row[2])) {
      ++outside;
      continue;
    }
    for (std::size_t a = 0; a < 3; ++a) points.packed.push_back(place.quantised(a, row[a]));
    points.packed.push_back(static_cast<std::uint16_t>(256u * 7u + 150u));
  }
  if (map.rows.rows() > 0) made.points = std::move(points);
  made.value_word = map.value_word;
  made.values = {report::number(scale.low, 3), report::number(scale.high, 3)};
  if (map.rows_in_all > map.rows.rows())
    made.notes.push_back(
        fmt::format("{} of {} are shown.", report::count(map.rows.rows()), report::counted(map.rows_in_all, "row")));
  if (outside > 0) made.notes.push_back(fmt::format("{} far out and left out.", report::counted(outside, "row")));
  made.notes.push_back("Units lie where their weights are; neighbours on the map are joined.");
  made.still = still_of(surface, view, "The map among the rows");
  made.surface = std::move(surface);
  return made;
}

}  // namespace shoal::viewer
