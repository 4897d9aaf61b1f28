#include <shoal/geometry/camera.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/geometry/sponge.hpp>
#include <shoal/geometry/traversal.hpp>

namespace shoal::geometry {
namespace {

constexpr std::size_t most_pixels_along = 16384;
constexpr std::size_t most_samples = 16;
constexpr double farthest = 1000;

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

vector3 towards(double azimuth, double elevation) {
  const double a = radians(azimuth), e = radians(elevation);
  return {std::cos(e) * std::cos(a), std::cos(e) * std::sin(a), std::sin(e)};
}

vector3 cross(const vector3& a, const vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

std::int64_t whole(double value) { return std::llround(value); }

// The longest component has all but the last of the bits that there are.
std::array<std::int64_t, 3> whole_direction(const vector3& direction) {
  const double scale = std::ldexp(1.0, direction_bits) - 2;
  return {whole(direction[0] * scale), whole(direction[1] * scale), whole(direction[2] * scale)};
}

void check_range(const char* name, double value, double least, double most) {
  if (!(value >= least && value <= most)) {
    throw bad_argument(fmt::format("{} must be from {} to {}; got {}", name, least, most, value));
  }
}

// Between black at 0 and white at 1, as screens show it (IEC 61966-2-1).
double linear_of(double encoded) {
  return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
}
double encoded_of(double linear) {
  return linear <= 0.0031308 ? linear * 12.92 : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
}

std::array<std::uint16_t, 3> linear_colour_of(const std::array<std::uint8_t, 3>& colour) {
  std::array<std::uint16_t, 3> linear{};
  for (unsigned i = 0; i < 3; ++i) {
    linear[i] = static_cast<std::uint16_t>(whole(linear_of(colour[i] / 255.0) * full_light));
  }
  return linear;
}

// Points of a disc lifted to the hemisphere lie as dense as cosines say; i runs along, the reversed bits of i across,
// so that every stride through them is spread well.
void set_sky(scene& made) {
  const double scale = std::ldexp(1.0, direction_bits) - 2;
  for (unsigned i = 0; i < sky_directions; ++i) {
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 8; ++bit) reversed |= (i >> bit & 1) << (7 - bit);
    const double radius = std::sqrt((reversed + 0.5) / sky_directions);
    const double angle = 2 * std::numbers::pi * (i + 0.5) / sky_directions;
    const vector3 way = {radius * std::cos(angle), radius * std::sin(angle), std::sqrt(1 - radius * radius)};
    for (unsigned a = 0; a < 3; ++a) made.sky[i][a] = static_cast<std::int32_t>(whole(way[a] * scale));
  }
}

void set_lights(scene& made, const picture_options& options) {
  made.lights = static_cast<unsigned>(options.lights.size());
  for (unsigned i = 0; i < made.lights; ++i) {
    const light& given = options.lights[i];
    const vector3 way = towards(given.azimuth, given.elevation);
    made.light_directions[i] = whole_direction(way);
    for (unsigned looks = 0; looks < 6; ++looks) {
      const double facing = way[looks / 2] * (looks % 2 == 1 ? 1 : -1);
      made.light_on_faces[i][looks] =
          static_cast<std::uint32_t>(whole(std::max(0.0, facing) * given.strength * full_light));
    }
    if (!options.section) continue;
    const auto& normal = options.section->normal;
    const double length = std::hypot(normal[0], normal[1], normal[2]);
    const double facing = (way[0] * normal[0] + way[1] * normal[1] + way[2] * normal[2]) / length;
    made.light_on_faces[i][6] = static_cast<std::uint32_t>(whole(std::max(0.0, facing) * given.strength * full_light));
  }
}

}  // namespace

void check_picture(const picture_options& options) {
  if (options.order > most_traced_order) {
    throw bad_argument(fmt::format("order must be at most {} for a picture; got {}", most_traced_order, options.order));
  }
  for (const std::size_t size : {options.width, options.height}) {
    if (size < 1 || size > most_pixels_along) {
      throw bad_argument(fmt::format("a picture of {} x {} pixels cannot be drawn; each side must be from 1 to {}",
                                     options.width, options.height, most_pixels_along));
    }
  }
  if (options.samples < 1 || options.samples > most_samples) {
    throw bad_argument(fmt::format("samples must be from 1 to {}; got {}", most_samples, options.samples));
  }
  if (options.sky_rays > sky_directions) {
    throw bad_argument(fmt::format("sky_rays must be at most {}; got {}", sky_directions, options.sky_rays));
  }
  if (options.lights.size() > most_lights) {
    throw bad_argument(fmt::format("there are at most {} lights; got {}", most_lights, options.lights.size()));
  }
  check_range("azimuth", options.azimuth, -36000, 36000);
  check_range("elevation", options.elevation, -90, 90);
  check_range("distance", options.distance, 0.9, farthest);
  check_range("field_of_view", options.field_of_view, 1e-3, 120);
  check_range("extent", options.extent, 1e-6, farthest);
  check_range("ambient", options.ambient, 0, 1);
  for (const light& given : options.lights) {
    check_range("azimuth of a light", given.azimuth, -36000, 36000);
    check_range("elevation of a light", given.elevation, -90, 90);
    check_range("strength of a light", given.strength, 0, 1);
  }
  if (!options.section) return;
  const auto& normal = options.section->normal;
  if (std::all_of(normal.begin(), normal.end(), [](int part) { return part == 0; })) {
    throw bad_argument("the normal of a section must not be 0,0,0");
  }
  for (const int part : normal) check_range("the normal of a section", part, -1000, 1000);
  check_range("the offset of a section", options.section->offset, -farthest * farthest, farthest * farthest);
}

camera camera_of(const picture_options& options) {
  camera made{};
  const vector3 outward = towards(options.azimuth, options.elevation);
  for (unsigned a = 0; a < 3; ++a) {
    made.eye[a] = 0.5 + options.distance * outward[a];
    made.forward[a] = -outward[a];
  }
  // Seen from the pole, north of the azimuth is up.
  const double turned = radians(options.azimuth);
  made.right = {-std::sin(turned), std::cos(turned), 0};
  made.up = cross(made.right, made.forward);
  const double half =
      options.projection == projection::perspective ? std::tan(radians(options.field_of_view) / 2) : options.extent / 2;
  const auto width = static_cast<double>(options.width), height = static_cast<double>(options.height);
  made.half_width = half * width / std::min(width, height);
  made.half_height = half * height / std::min(width, height);
  return made;
}

scene scene_of(const picture_options& options) {
  check_picture(options);
  scene made{};
  made.order = options.order;
  made.width = static_cast<unsigned>(options.width);
  made.height = static_cast<unsigned>(options.height);
  made.samples = static_cast<unsigned>(options.samples);
  made.perspective = options.projection == projection::perspective;
  const camera from = camera_of(options);
  const double place_scale = static_cast<double>(cell_edge);
  // A ray to a corner of the picture still has components below 2²⁸.
  const double scale = made.perspective
                           ? (std::ldexp(1.0, direction_bits) - 2) / std::hypot(1.0, from.half_width, from.half_height)
                           : place_scale;
  for (unsigned a = 0; a < 3; ++a) {
    made.origin[a] = whole((made.perspective ? from.eye[a] : 0.5) * place_scale);
    const double left = -from.half_width * from.right[a], top = from.half_height * from.up[a];
    made.corner[a] = scale * (left + top + (made.perspective ? from.forward[a] : 0));
    made.across[a] = -2 * scale * left / static_cast<double>(made.width * made.samples);
    made.down[a] = -2 * scale * top / static_cast<double>(made.height * made.samples);
  }
  made.straight = whole_direction(from.forward);
  set_lights(made, options);
  made.ambient = static_cast<std::uint32_t>(whole(options.ambient * full_light));
  made.sky_rays = static_cast<unsigned>(options.sky_rays);
  set_sky(made);
  if (options.section) {
    made.section = true;
    for (unsigned a = 0; a < 3; ++a) made.section_normal[a] = options.section->normal[a];
    made.section_offset = whole(options.section->offset * place_scale);
  }
  for (unsigned looks = 0; looks < 6; ++looks) made.colours[looks] = linear_colour_of(face_colours[looks]);
  made.colours[6] = linear_colour_of(section_colour);
  made.background = linear_colour_of(options.background);
  for (unsigned i = 0; i <= full_light; ++i) {
    made.encoded[i] = static_cast<std::uint8_t>(whole(255 * encoded_of(static_cast<double>(i) / full_light)));
  }
  return made;
}

}  // namespace shoal::geometry
