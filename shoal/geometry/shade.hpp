// The colour of one sample of a picture, for the host and for CUDA devices.
#pragma once

#include <shoal/geometry/scene.hpp>
#include <shoal/geometry/section.hpp>
#include <shoal/geometry/traversal.hpp>

namespace shoal::geometry {

/// Which axes are mirrored: 1 where the ray runs towards smaller coordinates.
struct mirrored_axes {
  bool x, y, z;
};

/// A place in the cell where a ray ended.
struct hit {
  ray at;
  mirrored_axes mirrored;
  std::int64_t inside[3];  ///< in the mirrored cell
  unsigned looks;          ///< the direction of the face, or 6 for the section
};

SHOAL_HD inline std::int64_t magnitude(std::int64_t value) {
  const std::int64_t size = value < 0 ? -value : value;
  return size > 0 ? size : 1;  // no ray runs along a plane
}

/// A ray from a place in a cell, given by the digits of an unmirrored cell.
SHOAL_HD inline ray ray_from(const std::int64_t* direction, const std::int64_t* inside) {
  const std::int64_t x = magnitude(direction[0]), y = magnitude(direction[1]), z = magnitude(direction[2]);
  ray made{};
  made.dx = x << place_bits;
  made.dy = y << place_bits;
  made.dz = z << place_bits;
  made.xy = inside[1] * x - inside[0] * y;
  made.xz = inside[2] * x - inside[0] * z;
  made.yz = inside[2] * y - inside[1] * z;
  return made;
}

SHOAL_HD inline std::uint64_t mirrored_digits(std::uint64_t digits, unsigned level) {
  const std::uint64_t twos = 0xaaaaaaaaaaaaaaaaull;
  return (level == 32 ? twos : twos & ((std::uint64_t{1} << 2 * level) - 1)) - digits;
}

/// The place within the cell where the ray entered it.
SHOAL_HD inline void find_place(hit& found) {
  const ray& at = found.at;
  const axis_mask by = entered_by(at);
  const auto along = [](std::int64_t distance, std::int64_t pace) {
    const auto place =
        static_cast<std::int64_t>(static_cast<double>(distance) / static_cast<double>(pace >> place_bits));
    return place < 0 ? 0 : place >= cell_edge ? cell_edge - 1 : place;
  };
  if (by.x != 0) {
    found.inside[0] = 0;
    found.inside[1] = along(at.xy, at.dx);
    found.inside[2] = along(at.xz, at.dx);
    found.looks = found.mirrored.x ? 1 : 0;
  } else if (by.y != 0) {
    found.inside[0] = along(-at.xy, at.dy);
    found.inside[1] = 0;
    found.inside[2] = along(at.yz, at.dy);
    found.looks = found.mirrored.y ? 3 : 2;
  } else {
    found.inside[0] = along(-at.xz, at.dz);
    found.inside[1] = along(-at.yz, at.dz);
    found.inside[2] = 0;
    found.looks = found.mirrored.z ? 5 : 4;
  }
}

/// Whether a place is on the side of the section that is shown.
SHOAL_HD inline bool is_shown(const scene& of, const ray& at, const mirrored_axes& mirrored,
                              const std::int64_t* inside) {
  double x = coordinate_of(at.x, at.level, inside[0]), y = coordinate_of(at.y, at.level, inside[1]),
         z = coordinate_of(at.z, at.level, inside[2]);
  if (mirrored.x) x = 1 - x;
  if (mirrored.y) y = 1 - y;
  if (mirrored.z) z = 1 - z;
  const double height = static_cast<double>(of.section_normal[0]) * x + static_cast<double>(of.section_normal[1]) * y +
                        static_cast<double>(of.section_normal[2]) * z;
  return height * static_cast<double>(cell_edge) <= static_cast<double>(of.section_offset);
}

/// Whether something stands between a hit on a face and what lies in a direction outward.
SHOAL_HD inline bool is_shadowed(const scene& of, const hit& from, const std::int64_t* direction) {
  const mirrored_axes mirrored{direction[0] < 0, direction[1] < 0, direction[2] < 0};
  const bool turned[3] = {mirrored.x != from.mirrored.x, mirrored.y != from.mirrored.y, mirrored.z != from.mirrored.z};
  std::int64_t inside[3];
  for (unsigned a = 0; a < 3; ++a) inside[a] = turned[a] ? cell_edge - from.inside[a] : from.inside[a];
  ray at = ray_from(direction, inside);
  at.level = from.at.level;
  at.x = turned[0] ? mirrored_digits(from.at.x, at.level) : from.at.x;
  at.y = turned[1] ? mirrored_digits(from.at.y, at.level) : from.at.y;
  at.z = turned[2] ? mirrored_digits(from.at.z, at.level) : from.at.z;
  const unsigned axis = from.looks / 2;
  const axis_mask by{axis == 0 ? -1 : 0, axis == 1 ? -1 : 0, axis == 2 ? -1 : 0};
  if (!is_blocked(at, of.order, by)) return false;
  if (!of.section) return true;
  hit end{at, mirrored, {}, 0};
  find_place(end);
  return is_shown(of, at, mirrored, end.inside);
}

/// The first place of the sponge on a ray. False when it meets none.
SHOAL_HD inline bool find_hit(const scene& of, const std::int64_t* origin, const std::int64_t* direction, hit& found) {
  std::int64_t place[3], pace[3], normal[3], offset = of.section_offset;
  for (unsigned a = 0; a < 3; ++a) {
    const bool mirrored = direction[a] < 0;
    place[a] = mirrored ? cell_edge - origin[a] : origin[a];
    pace[a] = magnitude(direction[a]);
    if (of.perspective && place[a] >= cell_edge) return false;  // the cube lies behind the eye
    normal[a] = of.section_normal[a];
    if (mirrored && of.section) {
      offset -= normal[a] * cell_edge;
      normal[a] = -normal[a];
    }
  }
  found.mirrored = {direction[0] < 0, direction[1] < 0, direction[2] < 0};
  // The line meets the cube when each upper plane comes after both other lower ones.
  const auto corner = [&](unsigned a, unsigned b) {
    return static_cast<wide_integer>(place[b]) * pace[a] - static_cast<wide_integer>(place[a]) * pace[b];
  };
  const auto meets = [&](wide_integer at_corner, unsigned a, unsigned b) {
    return at_corner + (pace[b] << place_bits) > 0 && at_corner - (pace[a] << place_bits) < 0;
  };
  const wide_integer xy = corner(0, 1), xz = corner(0, 2), yz = corner(1, 2);
  if (!meets(xy, 0, 1) || !meets(xz, 0, 2) || !meets(yz, 1, 2)) return false;
  found.at = {pace[0] << place_bits,
              pace[1] << place_bits,
              pace[2] << place_bits,
              static_cast<std::int64_t>(xy),
              static_cast<std::int64_t>(xz),
              static_cast<std::int64_t>(yz),
              0,
              0,
              0,
              0,
              0,
              0,
              0};
  section_start start = section_start::from_outside;
  if (of.section) start = start_at_section(found.at, of.order, place, pace, normal, offset, found.inside);
  if (start == section_start::nowhere) return false;
  if (start == section_start::in_the_cut) {
    found.looks = 6;
    return true;
  }
  if (!find_cell<false>(found.at, of.order, start == section_start::in_a_cell)) return false;
  find_place(found);
  return !of.section || is_shown(of, found.at, found.mirrored, found.inside);
}

/// Mixes a number well (Murmur3's last step).
SHOAL_HD inline std::uint32_t mixed(std::uint32_t value) {
  value = (value ^ value >> 16) * 0x85ebca6bu;
  value = (value ^ value >> 13) * 0xc2b2ae35u;
  return value ^ value >> 16;
}

/// The share of the sky that a face sees, of full_light: rays at angles whose cosine is what they count. `seed` turns
/// them, so that neighbouring pixels try others.
SHOAL_HD inline std::uint32_t open_sky(const scene& of, const hit& from, std::uint32_t seed) {
  const unsigned axis = from.looks / 2;
  const unsigned first = (axis + 1) % 3, second = (axis + 2) % 3;
  unsigned open = 0;
  for (unsigned i = 0; i < of.sky_rays; ++i) {
    const auto& way = of.sky[(seed + i * sky_directions / of.sky_rays) % sky_directions];
    std::int64_t direction[3];
    direction[first] = way[0];
    direction[second] = way[1];
    direction[axis] = from.looks % 2 == 1 ? way[2] : -way[2];
    open += !is_shadowed(of, from, direction);
  }
  return open * full_light / of.sky_rays;
}

struct linear_colour {
  std::uint32_t red, green, blue;
};

/// The colour that sample (across, down) of the picture sees, in parts of full_light.
SHOAL_HD inline linear_colour sample_colour(const scene& of, unsigned across, unsigned down) {
  std::int64_t origin[3], direction[3];
  for (unsigned a = 0; a < 3; ++a) {
    // Rounded by adding a half and cutting off: a function of the library could differ from the device's.
    const double exact = of.corner[a] + (across + 0.5) * of.across[a] + (down + 0.5) * of.down[a];
    const auto rounded = static_cast<std::int64_t>(exact < 0 ? exact - 0.5 : exact + 0.5);
    origin[a] = of.perspective ? of.origin[a] : of.origin[a] + rounded;
    direction[a] = of.perspective ? rounded : of.straight[a];
  }
  hit found;
  if (!find_hit(of, origin, direction, found)) return {of.background[0], of.background[1], of.background[2]};
  const bool on_face = found.looks < 6;
  std::uint32_t light = of.ambient;
  if (on_face && of.sky_rays > 0) {
    const std::uint32_t seed = mixed(down * (of.width * of.samples) + across);
    light = light * open_sky(of, found, seed) / full_light;
  }
  for (unsigned i = 0; i < of.lights; ++i) {
    const std::uint32_t strength = of.light_on_faces[i][found.looks];
    // From the section outward there is nothing.
    if (strength > 0 && !(on_face && is_shadowed(of, found, of.light_directions[i].data()))) light += strength;
  }
  if (light > full_light) light = full_light;
  const auto& colour = of.colours[found.looks];
  return {colour[0] * light / full_light, colour[1] * light / full_light, colour[2] * light / full_light};
}

/// Writes red, green and blue of a pixel: the mean of its samples.
SHOAL_HD inline void draw_pixel(const scene& of, unsigned across, unsigned down, std::uint8_t* out) {
  linear_colour sum{0, 0, 0};
  for (unsigned v = 0; v < of.samples; ++v) {
    for (unsigned u = 0; u < of.samples; ++u) {
      const linear_colour seen = sample_colour(of, across * of.samples + u, down * of.samples + v);
      sum.red += seen.red;
      sum.green += seen.green;
      sum.blue += seen.blue;
    }
  }
  const unsigned count = of.samples * of.samples;
  out[0] = of.encoded[sum.red / count];
  out[1] = of.encoded[sum.green / count];
  out[2] = of.encoded[sum.blue / count];
}

}  // namespace shoal::geometry
