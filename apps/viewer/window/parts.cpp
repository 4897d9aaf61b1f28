#include "viewer/window/parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <shoal/geometry/mesh.hpp>

#include "report/colour_scale.hpp"
#include "viewer/sponge_scene.hpp"

namespace shoal::viewer {
namespace {

constexpr report::rgb ink = {0x1c, 0x21, 0x26};
constexpr report::rgb grey = {0xae, 0xb6, 0xbe};

coloured_vertex vertex_at(const point& at, report::rgb colour, std::uint8_t alpha = 255) {
  return {static_cast<float>(at[0]),
          static_cast<float>(at[1]),
          static_cast<float>(at[2]),
          colour.red,
          colour.green,
          colour.blue,
          alpha};
}

void add_points(scene_parts& parts, const scene& shown) {
  const std::vector<std::uint16_t>& packed = shown.points->packed;
  for (std::size_t i = 0; i < packed.size(); i += 4) {
    point at{};
    for (std::size_t a = 0; a < 3; ++a) at[a] = (2 * packed[i + a] / 65535.0 - 1) * shown.axes[a].half;
    parts.points.push_back(
        vertex_at(at, report::group_colour(packed[i + 3] / 256), static_cast<std::uint8_t>(packed[i + 3] % 256)));
  }
}

void add_groups(scene_parts& parts, const scene& shown) {
  constexpr int around = 32, upwards = 18;
  for (const scene_group& group : shown.groups) {
    const report::rgb colour = report::group_colour(static_cast<std::int32_t>(group.number));
    parts.crosses.push_back(vertex_at(group.centre, colour));
    if (!group.axes) continue;
    for (const contour& one : shown.contours) {
      const auto corner = [&](int i, int j) {
        const double longitude = 2 * std::numbers::pi * i / around,
                     latitude = std::numbers::pi * (1.0 * j / upwards - 0.5);
        const point on = {std::cos(latitude) * std::cos(longitude), std::cos(latitude) * std::sin(longitude),
                          std::sin(latitude)};
        point at = group.centre;
        for (std::size_t a = 0; a < 3; ++a)
          for (std::size_t k = 0; k < 3; ++k) at[a] += one.distance * on[k] * (*group.axes)[3 * k + a];
        return vertex_at(at, colour);
      };
      for (int i = 0; i < around; ++i)
        for (int j = 0; j < upwards; ++j)
          for (const auto& [u, v] :
               {std::pair(0, 0), std::pair(1, 0), std::pair(1, 1), std::pair(0, 0), std::pair(1, 1), std::pair(0, 1)})
            parts.ellipsoids.push_back(corner(i + u, j + v));
    }
  }
}

void add_surface(scene_parts& parts, const scene_surface& surface) {
  const auto vertex = [&](std::uint32_t index) {
    return vertex_at({surface.vertices[3 * index], surface.vertices[3 * index + 1], surface.vertices[3 * index + 2]},
                     report::value_colour(surface.values[index] / 255.0));
  };
  for (const std::uint32_t index : surface.triangles) parts.sheet.push_back(vertex(index));
  for (const std::uint32_t index : surface.lines) {
    parts.lines.push_back(vertex(index));
    parts.lines.back().red = ink.red;
    parts.lines.back().green = ink.green;
    parts.lines.back().blue = ink.blue;
  }
}

void add_field(scene_parts& parts, const scene& shown, std::size_t moment) {
  const scene_field& field = *shown.field;
  const std::uint16_t* heights = field.heights.data() + moment * field.rows * field.columns;
  const auto part_of = [](std::size_t index, std::size_t count) {
    return 2 * static_cast<double>(index) / static_cast<double>(count - 1) - 1;
  };
  const auto vertex = [&](std::size_t i, std::size_t j) {
    const double share = heights[i * field.columns + j] / 65535.0;
    const double up = field.row_places.empty() ? part_of(i, field.rows) : field.row_places[i];
    return vertex_at(
        {shown.axes[0].half * part_of(j, field.columns), shown.axes[1].half * up, shown.axes[2].half * (2 * share - 1)},
        report::value_colour(share));
  };
  for (std::size_t i = 0; i + 1 < field.rows; ++i)
    for (std::size_t j = 0; j + 1 < field.columns; ++j) {
      const std::array<coloured_vertex, 4> corner = {vertex(i, j), vertex(i, j + 1), vertex(i + 1, j),
                                                     vertex(i + 1, j + 1)};
      for (const std::size_t c : {0, 1, 2, 1, 3, 2}) parts.sheet.push_back(corner[c]);
    }
}

static_assert(most_sponge_order <= geometry::most_mesh_order);

// Four bytes a face, of which the card makes the corners: whole triangles of order 5 would be 0.6 GB.
void add_sponge(scene_parts& parts, std::size_t order) {
  const geometry::mesh surface = geometry::make_mesh(static_cast<unsigned>(order));
  const double widths = std::pow(3.0, static_cast<double>(order));
  parts.face_width = static_cast<float>(2 / widths);
  parts.faces.reserve(surface.directions.size());
  for (std::size_t f = 0; f < surface.directions.size(); ++f) {
    const auto least = [&](std::size_t axis) {
      float at = 1;
      for (std::size_t c = 0; c < 4; ++c) at = std::min(at, surface.vertices[3 * surface.faces[4 * f + c] + axis]);
      return static_cast<std::uint8_t>(std::lround(at * widths));
    };
    parts.faces.push_back({least(0), least(1), least(2), static_cast<std::uint8_t>(surface.directions[f])});
  }
}

void add_box(scene_parts& parts, const scene& shown) {
  for (std::size_t a = 0; a < 3; ++a)
    for (const double s : {-1.0, 1.0})
      for (const double t : {-1.0, 1.0})
        for (const double end : {-1.0, 1.0}) {
          point at{};
          at[a] = end * shown.axes[a].half;
          at[(a + 1) % 3] = s * shown.axes[(a + 1) % 3].half;
          at[(a + 2) % 3] = t * shown.axes[(a + 2) % 3].half;
          parts.lines.push_back(vertex_at(at, grey));
        }
}

}  // namespace

scene_parts parts_of(const scene& shown, std::size_t moment, std::size_t order) {
  scene_parts parts;
  if (shown.points) add_points(parts, shown);
  add_groups(parts, shown);
  if (shown.surface) add_surface(parts, *shown.surface);
  if (shown.field) add_field(parts, shown, moment);
  if (shown.sponge)
    add_sponge(parts, order);
  else
    add_box(parts, shown);
  return parts;
}

}  // namespace shoal::viewer
