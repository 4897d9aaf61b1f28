// Where units stand, how far apart they are, which are neighbours, and h.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/som/lattice_geometry.hpp>
#include <shoal/som/neighborhood.hpp>
#include <shoal/som/schedule.hpp>
#include <shoal/som/smooth.hpp>
#include <shoal/som/u_matrix.hpp>

#include "som_reference.hpp"

namespace {

namespace som = shoal::som;

std::vector<som::model> maps() {
  std::vector<som::model> all;
  for (const som::lattice lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
    for (const bool toroidal : {false, true}) {
      for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{1, 1},
                                          {1, 2},
                                          {2, 2},
                                          {3, 1},
                                          {3, 4},
                                          {5, 3},
                                          {7, 6},
                                          {4, 10},
                                          {13, 8}}) {
        if (toroidal && lattice == som::lattice::hexagonal && height % 2 != 0) continue;
        all.push_back(som_reference::random_map(width, height, 2, lattice, toroidal));
      }
    }
  }
  return all;
}

TEST(SomLattice, DistancesAreThoseOfTheNearestImages) {
  for (const som::model& map : maps()) {
    const som::lattice_shape shape = som::shape_of(map);
    for (std::size_t a = 0; a < map.units(); ++a) {
      for (std::size_t b = 0; b < map.units(); ++b) {
        const som::unit_offset offset = som::offset_between(shape, a, b);
        EXPECT_LT(offset.row, shape.height);
        EXPECT_LT(offset.column, shape.width);
        EXPECT_NEAR(std::sqrt(som::squared_distance(shape, offset)), som_reference::lattice_distance(map, a, b), 1e-12);
      }
    }
  }
}

TEST(SomLattice, NeighborsAreTheUnitsNextTo) {
  for (const som::model& map : maps()) {
    const double reach = map.lattice == som::lattice::hexagonal ? 1.0 + 1e-9 : std::sqrt(2.0) + 1e-9;
    for (std::size_t a = 0; a < map.units(); ++a) {
      std::vector<std::size_t> expected;
      for (std::size_t b = 0; b < map.units(); ++b) {
        const double distance = som_reference::lattice_distance(map, a, b);
        if (distance > 1e-9 && distance < reach) expected.push_back(b);
      }
      EXPECT_EQ(som::neighbors(map, a), expected);
      for (std::size_t b = 0; b < map.units(); ++b) {
        EXPECT_EQ(som::are_neighbors(som::shape_of(map), a, b),
                  std::find(expected.begin(), expected.end(), b) != expected.end());
      }
    }
  }
}

// By hand: on a hexagonal torus of 4 × 4 every unit has six neighbours at distance 1, those across the seams too.
TEST(SomLattice, HexagonalNeighborsAcrossTheSeams) {
  const som::model map = som_reference::random_map(4, 4, 1, som::lattice::hexagonal, true);
  EXPECT_EQ(som::neighbors(map, 0), (std::vector<std::size_t>{1, 3, 4, 7, 12, 15}));
  EXPECT_EQ(som::neighbors(map, 7), (std::vector<std::size_t>{0, 3, 4, 6, 8, 11}));
  for (std::size_t u = 0; u < map.units(); ++u) {
    ASSERT_EQ(som::neighbors(map, u).size(), 6u);
    for (const std::size_t other : som::neighbors(map, u)) {
      EXPECT_EQ(som::squared_distance(som::shape_of(map), som::offset_between(som::shape_of(map), u, other)), 1.0);
    }
  }
}

// By hand: corners of a flat 3 × 3 map have three neighbours, sides five, the middle all eight.
TEST(SomLattice, RectangularNeighborsOfThreeByThree) {
  const som::model map = som_reference::random_map(3, 3, 1, som::lattice::rectangular, false);
  EXPECT_EQ(som::neighbors(map, 0), (std::vector<std::size_t>{1, 3, 4}));
  EXPECT_EQ(som::neighbors(map, 1), (std::vector<std::size_t>{0, 2, 3, 4, 5}));
  EXPECT_EQ(som::neighbors(map, 4), (std::vector<std::size_t>{0, 1, 2, 3, 5, 6, 7, 8}));
  EXPECT_THROW(som::neighbors(map, 9), shoal::bad_argument);
}

TEST(SomNeighborhood, ByHand) {
  const auto h = [](som::neighborhood kind, double squared, double radius, double cutoff = 0) {
    return som::neighborhood_function{kind, radius, cutoff}(squared);
  };
  EXPECT_DOUBLE_EQ(h(som::neighborhood::gaussian, 4, 2), std::exp(-0.5));
  EXPECT_DOUBLE_EQ(h(som::neighborhood::gaussian, 4, 2, 1), std::exp(-0.5));
  EXPECT_EQ(h(som::neighborhood::gaussian, 5, 2, 1), 0);
  EXPECT_EQ(h(som::neighborhood::bubble, 4, 2), 1);
  EXPECT_EQ(h(som::neighborhood::bubble, 4.25, 2), 0);
  EXPECT_EQ(h(som::neighborhood::mexican_hat, 4, 2), 0);
  EXPECT_DOUBLE_EQ(h(som::neighborhood::mexican_hat, 8, 2), -std::exp(-1.0));
  EXPECT_EQ(h(som::neighborhood::triangle, 1, 2), 0.5);
  EXPECT_EQ(h(som::neighborhood::triangle, 9, 2), 0);
  for (const auto kind : {som::neighborhood::gaussian, som::neighborhood::bubble, som::neighborhood::mexican_hat,
                          som::neighborhood::triangle}) {
    EXPECT_EQ(h(kind, 0, 0), 1);
    EXPECT_EQ(h(kind, 0.25, 0), 0);
    EXPECT_EQ(h(kind, 0, 3), 1);
    EXPECT_EQ(h(kind, 0, 1e-200), 1);
    EXPECT_EQ(h(kind, 1, 1e-200), 0);
    EXPECT_EQ(h(kind, 1, 1e200), 1);
  }
}

TEST(SomSchedule, ByHand) {
  const som::range way{8, 2};
  for (const auto decay : {som::decay::linear, som::decay::exponential, som::decay::asymptotic}) {
    EXPECT_EQ(som::decayed(decay, way, 0, 1), 8);
    EXPECT_EQ(som::decayed(decay, way, 0, 5), 8);
    EXPECT_EQ(som::decayed(decay, way, 4, 5), 2);
  }
  EXPECT_DOUBLE_EQ(som::decayed(som::decay::linear, way, 1, 3), 5);
  EXPECT_DOUBLE_EQ(som::decayed(som::decay::exponential, way, 1, 3), 4);
  EXPECT_DOUBLE_EQ(som::decayed(som::decay::asymptotic, way, 1, 3), 8 / 2.5);
  EXPECT_EQ(som::decayed(som::decay::linear, {3, 0}, 3, 4), 0);

  som::options options;
  options.width = 30;
  options.height = 12;
  EXPECT_EQ(som::radius_range(options).first, 6);
  EXPECT_EQ(som::radius_range(options).last, 1);
  options.height = 1;
  EXPECT_EQ(som::radius_range(options).first, 15);
  options.width = 1;
  EXPECT_EQ(som::radius_range(options).first, 1);
}

struct smoothed {
  std::vector<double> in, out;
};

smoothed smooth(const som::model& map, const som::neighborhood_function& h, std::size_t threads, bool dense) {
  const std::size_t stride = 3 * som::stride_unit;
  som_reference::uniform u(3);
  smoothed values;
  for (std::size_t i = 0; i < map.units() * stride; ++i) values.in.push_back(u() - 0.3);
  values.out.resize(values.in.size(), -1);
  const auto workers = shoal::make_executor(threads);
  som::smoother(som::shape_of(map))(*workers, h, values.in.data(), values.out.data(), stride, {.dense = dense});
  return values;
}

TEST(SomSmoothing, SeparableAndDenseAgreeWithTheSumOverAllUnits) {
  const std::size_t stride = 3 * som::stride_unit;
  for (const som::model& map : maps()) {
    for (const auto kind : {som::neighborhood::gaussian, som::neighborhood::bubble, som::neighborhood::mexican_hat,
                            som::neighborhood::triangle}) {
      for (const double radius : {0.4, 1.0, 2.7}) {
        for (const double cutoff : {0.0, 1.5}) {
          const som::neighborhood_function h{kind, radius, cutoff};
          const smoothed fast = smooth(map, h, 1, false);
          std::vector<double> expected(fast.in.size());
          for (std::size_t i = 0; i < map.units(); ++i) {
            for (std::size_t j = 0; j < map.units(); ++j) {
              const double value = som_reference::h(kind, som_reference::lattice_distance(map, i, j), radius, cutoff);
              for (std::size_t c = 0; c < stride; ++c) expected[i * stride + c] += value * fast.in[j * stride + c];
            }
          }
          const double bound = 1e-14 * static_cast<double>(map.units());
          EXPECT_LT(som_reference::apart(fast.out, expected), bound)
              << map.width << " x " << map.height << ", neighbourhood " << static_cast<int>(kind);
          EXPECT_LT(som_reference::apart(smooth(map, h, 1, true).out, expected), bound);
          EXPECT_EQ(fast.out, smooth(map, h, 3, false).out) << "threads left a trace";
        }
      }
    }
  }
}

}  // namespace
