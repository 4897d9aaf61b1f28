// A ray's way through the sponge in whole numbers, for the host and for CUDA devices.
#pragma once

#include <cstdint>

#include <shoal/core/host_device.hpp>
#include <shoal/geometry/sponge.hpp>

namespace shoal::geometry {

/// The highest order that rays go through: a path keeps two bits a level.
inline constexpr unsigned most_traced_order = 32;

/// Places within a cell are counted in parts of 2⁻³² of its edge, and directions have components below 2²⁸.
inline constexpr unsigned place_bits = 32;
inline constexpr unsigned direction_bits = 28;
inline constexpr std::int64_t cell_edge = std::int64_t{1} << place_bits;

/// A straight line and the cell that it is in. The cube is mirrored so that the line runs towards growing coordinates.
///
/// The line is known by where it passes the lower corner of the present cell: xy is (X − ox)·dy − (Y − oy)·dx, positive
/// when the plane x = X comes after y = Y, and the same for xz and yz. From a cell to a part of it the corner moves and
/// everything is measured in thirds, so that xy becomes 3·xy + i·dy − j·dx: an integer that stays below (dx + dy)·2³²
/// while the line meets the cell. Nothing is rounded, however deep the cell lies.
struct ray {
  std::int64_t dx, dy, dz;  ///< direction · 2³²; none is 0
  std::int64_t xy, xz, yz;
  std::uint64_t x, y, z;  ///< digits of the cell's coordinates in base 3, two bits each, the last one lowest
  unsigned level;         ///< how often the cube was cut to make the cell
  /// Thirds that the line keeps below the unit of a level: two bits a level. A ray that begins at a small cell has some
  /// where it goes up from there; one from outside has none.
  std::uint64_t rest_xy, rest_xz, rest_yz;
};

/// One of them is −1, the others are 0: the axis of a step.
struct axis_mask {
  std::int64_t x, y, z;
};

/// The plane by which the line came into its cell: the last of the three lower ones.
SHOAL_HD inline axis_mask entered_by(const ray& at) {
  const std::int64_t x = ~(at.xy | at.xz) >> 63;
  const std::int64_t y = ~x & (~at.yz >> 63);
  return {x, y, ~(x | y)};
}

/// Bit 16·x + 4·y + z (digits) is set when such a part of a cube stays.
constexpr std::uint64_t staying_parts() {
  std::uint64_t bits = 0;
  for (unsigned x = 0; x < 3; ++x) {
    for (unsigned y = 0; y < 3; ++y) {
      for (unsigned z = 0; z < 3; ++z) {
        if (stays(x, y, z)) bits |= std::uint64_t{1} << (16 * x + 4 * y + z);
      }
    }
  }
  return bits;
}

SHOAL_HD inline bool cell_stays(const ray& at) {
  constexpr std::uint64_t staying = staying_parts();
  return (staying >> ((at.x & 3) << 4 | (at.y & 3) << 2 | (at.z & 3)) & 1) != 0;
}

/// Moves the lower corner by i, j and k parts.
SHOAL_HD inline void move_corner(ray& at, std::int64_t i, std::int64_t j, std::int64_t k) {
  at.xy += i * at.dy - j * at.dx;
  at.xz += i * at.dz - k * at.dx;
  at.yz += j * at.dz - k * at.dy;
}

/// To the part (i, j, k) of the cell, by its corner in thirds.
SHOAL_HD inline void take_part(ray& at, std::int64_t i, std::int64_t j, std::int64_t k) {
  move_corner(at, i, j, k);
  at.x = at.x << 2 | static_cast<std::uint64_t>(i);
  at.y = at.y << 2 | static_cast<std::uint64_t>(j);
  at.z = at.z << 2 | static_cast<std::uint64_t>(k);
  ++at.level;
}

/// Measures in thirds of the cell.
template <bool Rests>
SHOAL_HD inline void cut_cell(ray& at) {
  at.xy *= 3;
  at.xz *= 3;
  at.yz *= 3;
  if constexpr (Rests) {
    at.xy += static_cast<std::int64_t>(at.rest_xy >> 2 * at.level & 3);
    at.xz += static_cast<std::int64_t>(at.rest_xz >> 2 * at.level & 3);
    at.yz += static_cast<std::int64_t>(at.rest_yz >> 2 * at.level & 3);
  }
}

/// How many of the thirds at 1 and 2 are passed before the line enters: those where start + i·pace is negative.
SHOAL_HD inline std::int64_t thirds_passed(std::int64_t start, std::int64_t pace) {
  return -((start + pace) >> 63) - ((start + 2 * pace) >> 63);
}

/// To the part of the cell by which the line enters it.
template <bool Rests>
SHOAL_HD inline void go_down(ray& at) {
  cut_cell<Rests>(at);
  // ~a is negative where a is not: what is to be passed when it is at most the entry, and what when before it.
  const axis_mask by = entered_by(at);
  const std::int64_t i = thirds_passed(by.z != 0 ? at.xz : at.xy, by.z != 0 ? at.dz : at.dy);
  const std::int64_t j = thirds_passed(by.x != 0 ? ~at.xy : at.yz, by.x != 0 ? at.dx : at.dz);
  const std::int64_t k = thirds_passed(by.x != 0 ? ~at.xz : ~at.yz, by.x != 0 ? at.dx : at.dy);
  take_part(at, i, j, k);
}

/// A third of what a move of the corner has left, and what remains of it at this level.
template <bool Rests>
SHOAL_HD inline void take_third(std::int64_t& value, std::uint64_t& rests, unsigned level) {
  if constexpr (Rests) {
    std::int64_t third = value / 3;
    std::int64_t rest = value - 3 * third;
    third += rest >> 63;  // towards −∞, so that signs say the same on every level
    rest += 3 & (rest >> 63);
    value = third;
    rests = (rests & ~(std::uint64_t{3} << 2 * level)) | static_cast<std::uint64_t>(rest) << 2 * level;
  } else {
    // The value is a multiple of 3: its third is the product with the inverse of 3 modulo 2⁶⁴.
    value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * 0xaaaaaaaaaaaaaaabull);
  }
}

/// To the cell that this one is a part of.
template <bool Rests>
SHOAL_HD inline void go_up(ray& at) {
  move_corner(at, -static_cast<std::int64_t>(at.x & 3), -static_cast<std::int64_t>(at.y & 3),
              -static_cast<std::int64_t>(at.z & 3));
  at.x >>= 2;
  at.y >>= 2;
  at.z >>= 2;
  --at.level;
  take_third<Rests>(at.xy, at.rest_xy, at.level);
  take_third<Rests>(at.xz, at.rest_xz, at.level);
  take_third<Rests>(at.yz, at.rest_yz, at.level);
}

/// The plane by which the line leaves its cell: the first of the three upper ones.
SHOAL_HD inline axis_mask leaves_by(const ray& at) {
  const std::int64_t after_z = (at.xz + at.dz - at.dx) >> 63 | (at.yz + at.dz - at.dy) >> 63;
  const std::int64_t x = after_z & ((at.xy + at.dy - at.dx) >> 63);
  return {x, after_z & ~x, ~after_z};
}

/// From the present cell through its upper side on the axis, into the next cell of that size or a larger one. False
/// when that is outside the cube.
template <bool Rests>
SHOAL_HD inline bool cross(ray& at, const axis_mask& by) {
  const auto x = static_cast<std::uint64_t>(by.x), y = static_cast<std::uint64_t>(by.y),
             z = static_cast<std::uint64_t>(by.z);
  while ((((at.x & x) | (at.y & y) | (at.z & z)) & 3) == 2) {
    if (at.level == 1) return false;
    go_up<Rests>(at);
  }
  at.x -= x;
  at.y -= y;
  at.z -= z;
  at.xy += (by.x & at.dy) - (by.y & at.dx);
  at.xz += (by.x & at.dz) - (by.z & at.dx);
  at.yz += (by.y & at.dz) - (by.z & at.dy);
  return true;
}

/// From a cell that the line enters and that stays, or (`empty`) from one that does not, to the first cell of `order`
/// that stays. False when the line leaves the cube. The cell of a ray has a level of at least 1, or the order is 0.
template <bool Rests>
SHOAL_HD inline bool find_cell(ray& at, unsigned order, bool empty) {
  for (;;) {
    while (!empty) {
      if (at.level == order) return true;
      go_down<Rests>(at);
      empty = !cell_stays(at);
    }
    do {
      if (!cross<Rests>(at, leaves_by(at))) return false;
    } while (!cell_stays(at));
    empty = false;
  }
}

/// The same for a ray that leaves the cell of `order` that it is in through a side on the axis.
SHOAL_HD inline bool is_blocked(ray& at, unsigned order, const axis_mask& by) {
  if (order == 0 || !cross<true>(at, by)) return false;
  return find_cell<true>(at, order, !cell_stays(at));
}

}  // namespace shoal::geometry
