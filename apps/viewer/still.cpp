#include "viewer/still.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "report/colour_scale.hpp"

namespace shoal::viewer {
namespace {

constexpr double size = 480;

// Across, upwards and towards the eye.
std::array<point, 3> directions_of(const view_settings& view) {
  const double azimuth = view.azimuth * std::numbers::pi / 180, elevation = view.elevation * std::numbers::pi / 180;
  const double ca = std::cos(azimuth), sa = std::sin(azimuth), ce = std::cos(elevation), se = std::sin(elevation);
  return {{{-sa, ca, 0}, {-se * ca, -se * sa, ce}, {ce * ca, ce * sa, se}}};
}

double dot(const point& a, const point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Twice the area that the face shows, positive where its corners run counter-clockwise for the eye.
double seen_area(const still_face& face, const std::array<point, 3>& directions) {
  double area = 0;
  for (std::size_t i = 0; i < face.corners.size(); ++i) {
    const point& a = face.corners[i];
    const point& b = face.corners[(i + 1) % face.corners.size()];
    area += dot(a, directions[0]) * dot(b, directions[1]) - dot(b, directions[0]) * dot(a, directions[1]);
  }
  return area;
}

// Sides are lit from the eye and a little from above, by how much they face it.
report::rgb lit(report::rgb colour, double facing) {
  const double light = 0.55 + 0.45 * facing;
  const auto dim = [light](std::uint8_t part) { return static_cast<std::uint8_t>(std::lround(light * part)); };
  return {dim(colour.red), dim(colour.green), dim(colour.blue)};
}

double area_of(const still_face& face) {
  point sum{};
  for (std::size_t i = 0; i < face.corners.size(); ++i) {
    const point& a = face.corners[i];
    const point& b = face.corners[(i + 1) % face.corners.size()];
    for (std::size_t k = 0; k < 3; ++k) sum[k] += a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
  }
  return std::sqrt(dot(sum, sum));
}

}  // namespace

report::picture draw_faces(std::vector<still_face> faces, const view_settings& view, std::string title) {
  const std::array<point, 3> directions = directions_of(view);
  struct placed {
    double depth = 0;
    const still_face* face = nullptr;
  };
  std::vector<placed> order;
  double reach = 0;
  for (const still_face& face : faces) {
    double depth = 0;
    for (const point& corner : face.corners) {
      depth += dot(corner, directions[2]) / static_cast<double>(face.corners.size());
      for (int i = 0; i < 2; ++i) reach = std::max(reach, std::abs(dot(corner, directions[i])));
    }
    order.push_back({depth, &face});
  }
  std::stable_sort(order.begin(), order.end(), [](const placed& a, const placed& b) { return a.depth < b.depth; });
  const double scale = reach > 0 ? 0.46 * size / reach : 1;
  report::picture made{
      std::move(title), fmt::format("{} faces, seen from one side.", order.size()), {}, size, size, {}};
  for (const placed& one : order) {
    std::string path;
    for (const point& corner : one.face->corners)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", size / 2 + scale * dot(corner, directions[0]),
                          size / 2 - scale * dot(corner, directions[1]));
    const double area = area_of(*one.face);
    const double facing = area > 0 ? std::abs(seen_area(*one.face, directions)) / area : 1;
    made.body += fmt::format(R"(<path d="{0}z" fill="{1}" stroke="{1}" stroke-width=".6"/>)", path,
                             report::hexadecimal(lit(one.face->colour, facing)));
  }
  return made;
}

report::picture still_of(const scene_surface& surface, const view_settings& view, const std::string& title) {
  std::vector<still_face> faces;
  for (std::size_t t = 0; t + 2 < surface.triangles.size(); t += 3) {
    still_face face;
    double value = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t vertex = surface.triangles[t + i];
      face.corners.push_back(
          {surface.vertices[3 * vertex], surface.vertices[3 * vertex + 1], surface.vertices[3 * vertex + 2]});
      value += surface.values[vertex] / (3 * 255.0);
    }
    face.colour = report::value_colour(value);
    faces.push_back(std::move(face));
  }
  return draw_faces(std::move(faces), view, title);
}

report::picture still_of(const scene_field& field, const std::array<scene_axis, 3>& axes, const view_settings& view,
                         const std::string& title) {
  constexpr std::size_t most = 64;
  const std::size_t down = std::min(field.rows, most), across = std::min(field.columns, most);
  const std::size_t last = (field.times.size() - 1) * field.rows * field.columns;
  const auto share_at = [&](std::size_t i, std::size_t j) {
    const std::size_t row = i * (field.rows - 1) / (down - 1), column = j * (field.columns - 1) / (across - 1);
    return field.heights[last + row * field.columns + column] / 65535.0;
  };
  const auto corner = [&](std::size_t i, std::size_t j) {
    const auto part = [](std::size_t index, std::size_t count) {
      return 2 * static_cast<double>(index) / static_cast<double>(count - 1) - 1;
    };
    const double up = field.row_places.empty() ? part(i, down) : field.row_places[i * (field.rows - 1) / (down - 1)];
    return point{axes[0].half * part(j, across), axes[1].half * up, axes[2].half * (2 * share_at(i, j) - 1)};
  };
  std::vector<still_face> faces;
  for (std::size_t i = 0; i + 1 < down; ++i)
    for (std::size_t j = 0; j + 1 < across; ++j)
      faces.push_back({{corner(i, j), corner(i, j + 1), corner(i + 1, j + 1), corner(i + 1, j)},
                       report::value_colour(share_at(i, j))});
  return draw_faces(std::move(faces), view, title);
}

}  // namespace shoal::viewer
