// Membership, counts and meshes of the sponge, each held to the others.
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/geometry/geometry.hpp>

using namespace shoal::geometry;

namespace {

// Cells by the rule itself: cut the cube, take seven parts away, and go on with the rest.
std::vector<std::array<std::uint64_t, 3>> cells_by_cutting(unsigned order) {
  std::vector<std::array<std::uint64_t, 3>> cells = {{0, 0, 0}};
  for (unsigned level = 0; level < order; ++level) {
    std::vector<std::array<std::uint64_t, 3>> parts;
    for (const auto& cell : cells) {
      for (std::uint64_t part = 0; part < 27; ++part) {
        const std::array<std::uint64_t, 3> at = {part % 3, part / 3 % 3, part / 9};
        const int middles = (at[0] == 1) + (at[1] == 1) + (at[2] == 1);
        if (middles == 3 || middles == 2) continue;
        parts.push_back({3 * cell[0] + at[0], 3 * cell[1] + at[1], 3 * cell[2] + at[2]});
      }
    }
    cells = parts;
  }
  return cells;
}

struct corner {
  double x, y, z;
};

corner corner_of(const mesh& of, std::size_t face, std::size_t i) {
  const float* at = &of.vertices[3 * of.faces[4 * face + i]];
  return {at[0], at[1], at[2]};
}

}  // namespace

TEST(Sponge, DigitsSayWhatCuttingLeaves) {
  for (unsigned order = 0; order <= 3; ++order) {
    const std::uint64_t edge = cells_along_edge(order);
    std::size_t inside = 0;
    for (std::uint64_t cell = 0; cell < edge * edge * edge; ++cell) {
      inside += in_sponge(cell % edge, cell / edge % edge, cell / edge / edge, order);
    }
    const auto cut = cells_by_cutting(order);
    EXPECT_EQ(inside, cut.size());
    for (const auto& [x, y, z] : cut) EXPECT_TRUE(in_sponge(x, y, z, order)) << x << ' ' << y << ' ' << z;
  }
  EXPECT_FALSE(in_sponge(3, 0, 0, 1)) << "outside the cube";
  EXPECT_TRUE(in_sponge(cells_along_edge(40) - 1, 0, 0, 40));
}

TEST(Sponge, CountsAreThoseOfTheLiterature) {
  const std::vector<std::array<std::string, 3>> known = {{"6", "8", "0"},
                                                         {"72", "64", "5"},
                                                         {"1056", "896", "81"},
                                                         {"18048", "15232", "1409"},
                                                         {"336384", "283520", "26433"}};
  for (unsigned order = 0; order < known.size(); ++order) {
    const sponge_counts counts = count_sponge(order);
    EXPECT_EQ(counts.faces, known[order][0]);
    EXPECT_EQ(counts.vertices, known[order][1]);
    EXPECT_EQ(counts.genus, known[order][2]);
  }
  const sponge_counts one = count_sponge(1);
  EXPECT_EQ(one.area.numerator + "/" + one.area.denominator, "8/1");
  EXPECT_EQ(one.volume.numerator + "/" + one.volume.denominator, "20/27");
  const sponge_counts twenty = count_sponge(20);
  EXPECT_EQ(twenty.cubes, "104857600000000000000000000");
  EXPECT_EQ(twenty.faces, "209715204611686018427387904");  // 2·20²⁰ + 2⁶²
  EXPECT_EQ(twenty.edges, "419430409223372036854775808");
  EXPECT_EQ(twenty.volume.denominator, "42391158275216203514294433201");  // 27²⁰
  EXPECT_NEAR(twenty.volume.value, std::pow(20.0 / 27, 20), 1e-15);
  EXPECT_THROW(count_sponge(21), shoal::bad_argument);
}

// Euler's formula for closed surfaces, V − E + F = 2 − 2·genus, at every order.
TEST(Sponge, CountsObeyEuler) {
  for (unsigned order = 0; order <= 13; ++order) {
    const surface_size size = size_of_surface(order);
    const std::int64_t genus = std::stoll(count_sponge(order).genus);
    EXPECT_EQ(static_cast<std::int64_t>(size.vertices) - static_cast<std::int64_t>(size.faces), 2 - 2 * genus);
    EXPECT_EQ(count_sponge(order).vertices, std::to_string(size.vertices));
  }
  EXPECT_THROW(size_of_surface(14), shoal::bad_argument);
}

TEST(Mesh, HasTheCountsAndIsClosed) {
  for (unsigned order = 0; order <= 3; ++order) {
    const mesh made = make_mesh(order);
    const sponge_counts counts = count_sponge(order);
    EXPECT_EQ(std::to_string(made.directions.size()), counts.faces);
    EXPECT_EQ(std::to_string(made.vertices.size() / 3), counts.vertices);
    // Each edge is run once each way: the surface has no hole and no seam, and all faces agree which side is out.
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> runs;
    std::vector<int> used(made.vertices.size() / 3);
    for (std::size_t face = 0; face < made.directions.size(); ++face) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::uint32_t from = made.faces[4 * face + i], to = made.faces[4 * face + (i + 1) % 4];
        ++runs[{from, to}];
        used.at(from) = 1;
      }
    }
    for (const auto& [edge, times] : runs) {
      ASSERT_EQ(times, 1);
      ASSERT_TRUE(runs.contains({edge.second, edge.first}));
    }
    EXPECT_EQ(std::to_string(runs.size() / 2), counts.edges);
    for (const int vertex : used) ASSERT_EQ(vertex, 1);
  }
}

TEST(Mesh, LooksOutwardAndHoldsTheVolume) {
  for (unsigned order = 0; order <= 4; ++order) {
    const mesh made = make_mesh(order);
    const double edge = 1.0 / static_cast<double>(cells_along_edge(order));
    double volume = 0;
    for (std::size_t face = 0; face < made.directions.size(); ++face) {
      const corner a = corner_of(made, face, 0), b = corner_of(made, face, 1), c = corner_of(made, face, 2),
                   d = corner_of(made, face, 3);
      // The cross product of the diagonals is twice the area, along the normal.
      const double normal[3] = {(c.y - a.y) * (d.z - b.z) - (c.z - a.z) * (d.y - b.y),
                                (c.z - a.z) * (d.x - b.x) - (c.x - a.x) * (d.z - b.z),
                                (c.x - a.x) * (d.y - b.y) - (c.y - a.y) * (d.x - b.x)};
      const unsigned axis = axis_of(made.directions[face]);
      const double outward = is_forward(made.directions[face]) ? 1 : -1;
      ASSERT_NEAR(normal[axis] * outward, 2 * edge * edge, 1e-6);
      ASSERT_NEAR(std::abs(normal[0]) + std::abs(normal[1]) + std::abs(normal[2]), 2 * edge * edge, 1e-6);
      volume += (a.x * normal[0] + a.y * normal[1] + a.z * normal[2]) / 6;
    }
    EXPECT_NEAR(volume, count_sponge(order).volume.value, 1e-6);
  }
}

TEST(Mesh, IsRefusedWithItsSize) {
  try {
    make_mesh(6);
    FAIL();
  } catch (const shoal::bad_argument& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("129048576 faces"), std::string::npos) << refusal.what();
    EXPECT_NE(std::string(refusal.what()).find("bytes"), std::string::npos);
  }
}
