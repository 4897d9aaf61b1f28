// The corners of the smallest cubes as points, near ones before far ones.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/geometry/camera.hpp>
#include <shoal/geometry/picture.hpp>
#include <shoal/geometry/sponge_counts.hpp>
#include <shoal/geometry/surface.hpp>

namespace shoal::geometry {
namespace {

double product(const vector3& a, const vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// How far a point is, and the pixel that it falls on.
class projector {
 public:
  explicit projector(const picture_options& options)
      : from_(camera_of(options)),
        perspective_(options.projection == projection::perspective),
        width_(static_cast<double>(options.width)),
        height_(static_cast<double>(options.height)) {}

  struct seen {
    double across, down, depth;
  };

  seen look(const vector3& point) const {
    const vector3 to = {point[0] - from_.eye[0], point[1] - from_.eye[1], point[2] - from_.eye[2]};
    const double depth = product(to, from_.forward);
    const double scale = perspective_ ? 1 / depth : 1;
    return {(product(to, from_.right) * scale / from_.half_width + 1) * width_ / 2,
            (1 - product(to, from_.up) * scale / from_.half_height) * height_ / 2, depth};
  }

  /// Pixels of a length in the middle of the cube.
  double pixels(double length, double distance) const {
    return length * height_ / (2 * from_.half_height) / (perspective_ ? distance : 1);
  }

 private:
  camera from_;
  bool perspective_;
  double width_, height_;
};

std::uint8_t mixed_part(std::uint8_t background, std::uint8_t ink, double share) {
  return static_cast<std::uint8_t>(std::lround(background + (ink - background) * share));
}

}  // namespace

picture draw_points(const picture_options& options, const control& control) {
  check_picture(options);
  if (options.order > most_points_order) {
    const surface_size size = size_of_surface(std::min(options.order, 13u));
    throw bad_argument(fmt::format("order {} has {}{} points; the order must be at most {} to draw them", options.order,
                                   options.order > 13 ? "more than " : "", size.vertices, most_points_order));
  }
  const auto begin = std::chrono::steady_clock::now();
  const projector lens(options);
  const sponge_rows cells(options.order);
  const double edge = 1 / static_cast<double>(cells.cells());
  // Points shrink with the cubes, down to a pixel.
  const double radius = std::clamp(0.08 * lens.pixels(edge, options.distance), 0.5, 4.0);
  const auto reach = static_cast<std::int64_t>(radius);
  const auto width = static_cast<std::int64_t>(options.width), height = static_cast<std::int64_t>(options.height);
  std::vector<float> nearest(options.width * options.height, std::numeric_limits<float>::infinity());
  vertex_plane plane(cells);
  for (std::uint64_t z = 0; z <= cells.cells(); ++z) {
    if (control.stop.stop_requested()) throw interrupted("interrupted; the picture was not drawn");
    plane.move_to(z);
    plane.for_each([&](std::uint32_t x, std::uint64_t y) {
      const projector::seen at = lens.look({x * edge, static_cast<double>(y) * edge, static_cast<double>(z) * edge});
      const auto across = static_cast<std::int64_t>(std::floor(at.across));
      const auto down = static_cast<std::int64_t>(std::floor(at.down));
      for (std::int64_t v = std::max<std::int64_t>(down - reach, 0); v <= std::min(down + reach, height - 1); ++v) {
        for (std::int64_t u = std::max<std::int64_t>(across - reach, 0); u <= std::min(across + reach, width - 1);
             ++u) {
          if ((u - across) * (u - across) + (v - down) * (v - down) > reach * reach) continue;
          float& kept = nearest[static_cast<std::size_t>(v * width + u)];
          kept = std::min(kept, static_cast<float>(at.depth));
        }
      }
    });
  }
  picture drawn{options.width, options.height, std::vector<std::uint8_t>(3 * nearest.size()), 0};
  const auto& paper = options.background;
  const std::uint8_t ink = paper[0] + paper[1] + paper[2] < 384 ? 255 : 0;
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    // The cube lies within 0.87 of its middle.
    const double far = std::clamp((nearest[i] - options.distance + 0.87) / 1.74, 0.0, 1.0);
    const double share = std::isinf(nearest[i]) ? 0 : 1 - 0.8 * far;
    for (std::size_t part = 0; part < 3; ++part) drawn.pixels[3 * i + part] = mixed_part(paper[part], ink, share);
  }
  drawn.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return drawn;
}

}  // namespace shoal::geometry
