// Rays held to a search through all cells, and to themselves at depths where no such search ends.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <shoal/geometry/shade.hpp>
#include <shoal/geometry/sponge.hpp>

using namespace shoal::geometry;

namespace {

struct random_ray {
  std::int64_t origin[3];
  std::int64_t direction[3];
};

// From a place around the cube to a place in it.
random_ray draw_ray(std::mt19937_64& numbers) {
  std::uniform_real_distribution<double> around(-2, 3), within(0, 1);
  random_ray drawn{};
  double length = 0;
  std::array<double, 3> towards{}, from{};
  do {
    for (unsigned a = 0; a < 3; ++a) from[a] = around(numbers);
  } while (std::all_of(from.begin(), from.end(), [](double x) { return x > -0.1 && x < 1.1; }));
  for (unsigned a = 0; a < 3; ++a) {
    towards[a] = within(numbers) - from[a];
    length = std::max(length, std::abs(towards[a]));
  }
  for (unsigned a = 0; a < 3; ++a) {
    drawn.origin[a] = std::llround(from[a] * static_cast<double>(cell_edge));
    drawn.direction[a] = std::llround(towards[a] / length * ((1 << direction_bits) - 2));
    if (drawn.direction[a] == 0) drawn.direction[a] = 1;
  }
  return drawn;
}

// Where along the ray a box begins, in units of the direction; infinity where it is missed.
long double entry_into(const random_ray& ray, const std::array<std::uint64_t, 3>& cell, unsigned order) {
  const long double edge = static_cast<long double>(cell_edge) / static_cast<long double>(cells_along_edge(order));
  long double enter = -std::numeric_limits<long double>::infinity(), leave = -enter;
  for (unsigned a = 0; a < 3; ++a) {
    const long double one = (edge * cell[a] - ray.origin[a]) / ray.direction[a];
    const long double other = (edge * (cell[a] + 1) - ray.origin[a]) / ray.direction[a];
    enter = std::max(enter, std::min(one, other));
    leave = std::min(leave, std::max(one, other));
  }
  return enter < leave && enter > 0 ? enter : std::numeric_limits<long double>::infinity();
}

std::uint64_t number_of(std::uint64_t digits, unsigned level) {
  std::uint64_t value = 0;
  for (unsigned at = level; at-- > 0;) value = 3 * value + (digits >> 2 * at & 3);
  return value;
}

// The cell of a hit in the cube as it is, and where the ray came in.
std::array<std::uint64_t, 3> cell_of(const hit& found) {
  const unsigned level = found.at.level;
  const std::uint64_t last = cells_along_edge(level) - 1;
  std::array<std::uint64_t, 3> cell = {number_of(found.at.x, level), number_of(found.at.y, level),
                                       number_of(found.at.z, level)};
  if (found.mirrored.x) cell[0] = last - cell[0];
  if (found.mirrored.y) cell[1] = last - cell[1];
  if (found.mirrored.z) cell[2] = last - cell[2];
  return cell;
}

scene plain_scene(unsigned order) {
  scene made{};
  made.order = order;
  made.perspective = true;
  return made;
}

std::array<std::uint64_t, 3> outside_of(std::array<std::uint64_t, 3> cell, unsigned looks) {
  cell[looks / 2] += looks % 2 == 1 ? 1 : -1;
  return cell;
}

}  // namespace

TEST(Traversal, FindsWhatASearchThroughAllCellsFinds) {
  std::mt19937_64 numbers(1938);
  for (unsigned order = 0; order <= 3; ++order) {
    const std::uint64_t edge = cells_along_edge(order);
    int hits = 0;
    for (int i = 0; i < 200; ++i) {
      const random_ray ray = draw_ray(numbers);
      long double nearest = std::numeric_limits<long double>::infinity();
      for (std::uint64_t cell = 0; cell < edge * edge * edge; ++cell) {
        const std::array<std::uint64_t, 3> at = {cell % edge, cell / edge % edge, cell / edge / edge};
        if (in_sponge(at[0], at[1], at[2], order)) nearest = std::min(nearest, entry_into(ray, at, order));
      }
      hit found;
      if (!find_hit(plain_scene(order), ray.origin, ray.direction, found)) {
        EXPECT_EQ(nearest, std::numeric_limits<long double>::infinity()) << "order " << order << ", ray " << i;
        continue;
      }
      ++hits;
      EXPECT_NEAR(static_cast<double>(entry_into(ray, cell_of(found), order) / nearest), 1, 1e-15);
    }
    EXPECT_GT(hits, 100);
  }
}

TEST(Traversal, StaysTrueAtAnyDepth) {
  std::mt19937_64 numbers(2012);
  for (int i = 0; i < 300; ++i) {
    const random_ray ray = draw_ray(numbers);
    long double before = 0;
    for (const unsigned order : {1u, 2u, 5u, 10u, 20u, 32u}) {
      hit found;
      if (!find_hit(plain_scene(order), ray.origin, ray.direction, found)) {
        before = std::numeric_limits<long double>::infinity();
        continue;
      }
      const auto cell = cell_of(found);
      const auto outside = outside_of(cell, found.looks);
      EXPECT_TRUE(in_sponge(cell[0], cell[1], cell[2], order));
      EXPECT_FALSE(in_sponge(outside[0], outside[1], outside[2], order)) << "the face is covered";
      // Each order is a part of the last, so that rays end where they did or go farther.
      const long double entry = entry_into(ray, cell, order);
      EXPECT_GE(entry, before * (1 - 1e-15L)) << "order " << order << ", ray " << i;
      if (order <= 20) {
        EXPECT_LT(entry, std::numeric_limits<long double>::infinity());
      }
      before = entry;
    }
  }
}

// From a hit back to the eye there is nothing: the ray that came is free of shadow on its way back.
TEST(Traversal, NothingStandsBetweenAHitAndTheEye) {
  std::mt19937_64 numbers(7);
  for (const unsigned order : {1u, 3u, 4u, 8u, 20u, 32u}) {
    const scene of = plain_scene(order);
    int hits = 0;
    for (int i = 0; i < 300; ++i) {
      const random_ray ray = draw_ray(numbers);
      hit found;
      if (!find_hit(of, ray.origin, ray.direction, found)) continue;
      ++hits;
      const std::int64_t back[3] = {-ray.direction[0], -ray.direction[1], -ray.direction[2]};
      EXPECT_FALSE(is_shadowed(of, found, back)) << "order " << order << ", ray " << i;
    }
    EXPECT_GT(hits, 30) << order;
  }
}

TEST(Traversal, ShadowsAreWhatASearchThroughAllCellsFinds) {
  std::mt19937_64 numbers(11);
  constexpr unsigned order = 2;
  const std::uint64_t edge = cells_along_edge(order);
  int dark = 0, lit = 0;
  for (int i = 0; i < 300; ++i) {
    const random_ray ray = draw_ray(numbers);
    random_ray light = draw_ray(numbers);
    hit found;
    if (!find_hit(plain_scene(order), ray.origin, ray.direction, found)) continue;
    const unsigned axis = found.looks / 2;
    if ((light.direction[axis] > 0) != (found.looks % 2 == 1)) light.direction[axis] = -light.direction[axis];
    // The place of the hit, moved outward by what rounding may hide.
    const auto cell = cell_of(found);
    const bool mirrored[3] = {found.mirrored.x, found.mirrored.y, found.mirrored.z};
    for (unsigned a = 0; a < 3; ++a) {
      const double inside = static_cast<double>(mirrored[a] ? cell_edge - found.inside[a] : found.inside[a]);
      light.origin[a] = std::llround((static_cast<double>(cell[a]) * static_cast<double>(cell_edge) + inside) /
                                     static_cast<double>(edge));
    }
    light.origin[axis] += found.looks % 2 == 1 ? 64 : -64;
    bool blocked = false;
    for (std::uint64_t other = 0; other < edge * edge * edge; ++other) {
      const std::array<std::uint64_t, 3> at = {other % edge, other / edge % edge, other / edge / edge};
      if (in_sponge(at[0], at[1], at[2], order) && !std::isinf(entry_into(light, at, order))) blocked = true;
    }
    EXPECT_EQ(is_shadowed(plain_scene(order), found, light.direction), blocked) << i;
    ++(blocked ? dark : lit);
  }
  EXPECT_GT(dark, 10);
  EXPECT_GT(lit, 10);
}

TEST(Section, CutsLieOnThePlaneAndWithinTheSponge) {
  std::mt19937_64 numbers(3);
  for (const unsigned order : {1u, 3u, 12u}) {
    scene of = plain_scene(order);
    of.section = true;
    of.section_normal = {1, 1, 1};
    of.section_offset = cell_edge * 3 / 2;
    int cuts = 0, faces = 0;
    for (int i = 0; i < 2000; ++i) {
      const random_ray ray = draw_ray(numbers);
      hit found;
      if (!find_hit(of, ray.origin, ray.direction, found)) continue;
      const auto cell = cell_of(found);
      EXPECT_TRUE(in_sponge(cell[0], cell[1], cell[2], order));
      double height = 0;
      const bool mirrored[3] = {found.mirrored.x, found.mirrored.y, found.mirrored.z};
      for (unsigned a = 0; a < 3; ++a) {
        const double inside = static_cast<double>(found.inside[a]) / static_cast<double>(cell_edge);
        height += (static_cast<double>(cell[a]) + (mirrored[a] ? 1 - inside : inside)) /
                  static_cast<double>(cells_along_edge(order));
      }
      if (found.looks == 6) {
        EXPECT_NEAR(height, 1.5, 1e-9);
        ++cuts;
      } else {
        EXPECT_LE(height, 1.5 + 1e-9);
        ++faces;
      }
    }
    EXPECT_GT(cuts, 10) << order;
    EXPECT_GT(faces, 10) << order;
  }
}
