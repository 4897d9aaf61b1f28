// The nearest centroid is that of the float64 definition: any shape, any instruction set, ties, far and wide data.
#define SHOAL_INTEGER_PRODUCTS
#include <shoal/core/simd_targets.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/nearest/nearest.hpp>

#include "../kmeans/kmeans_reference.hpp"

namespace {

using kmeans_reference::clouds;
using kmeans_reference::table;

template <class Scalar>
std::vector<std::int32_t> labels_of(shoal::matrix_view<const Scalar> rows, const std::vector<double>& centroids) {
  const shoal::centroid_index<Scalar> index(centroids, centroids.size() / rows.columns(), rows.columns());
  shoal::nearest_scratch<Scalar> scratch;
  std::vector<std::int32_t> labels(rows.rows(), -1);
  shoal::find_nearest(index, rows, labels.data(), scratch);
  return labels;
}

template <class Scalar>
void expect_exact(shoal::matrix_view<const Scalar> rows, const std::vector<double>& centroids,
                  const std::string& what) {
  EXPECT_EQ(labels_of(rows, centroids), kmeans_reference::nearest(rows, centroids)) << what;
}

// Runs `check` on every instruction set that is compiled and that this machine has.
template <class Check>
void on_every_target(const Check& check) {
  for (std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    check(hwy::TargetName(targets & -targets));
  }
  hwy::SetSupportedTargetsForTest(0);
}

template <class Scalar>
class Nearest : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Nearest, scalars);

TYPED_TEST(Nearest, IsExactAtAwkwardSizes) {
  on_every_target([](const std::string& target) {
    for (const std::size_t columns : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33}) {
      for (const std::size_t clusters : {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 131}) {
        for (const std::size_t rows : {1, 5, 23, 24, 25, 97}) {
          const auto data = clouds<TypeParam>(rows, columns, 5, 1.5, 0, rows + columns);
          const auto centroids = clouds<double>(clusters, columns, 5, 1.5, 0, 77).values;
          expect_exact(
              data.view(), centroids,
              target + " " + std::to_string(rows) + "x" + std::to_string(columns) + " K " + std::to_string(clusters));
        }
      }
    }
  });
}

TYPED_TEST(Nearest, IsExactForMoreCentroidsThanOneSearchNumbers) {
  on_every_target([](const std::string& target) {
    for (const std::size_t columns : {2, 6, 7}) {
      const auto data = clouds<TypeParam>(131, columns, 5, 1.5, 0, columns);
      expect_exact(data.view(), clouds<double>(2100, columns, 5, 1.5, 0, 78).values, target);
    }
  });
}

// Pairs of centroids a millionth apart: no rounding to 16 bits tells them from each other. One scratch for all calls,
// so that what a hopeless call leaves behind meets rows that are easy, and the other way round.
TYPED_TEST(Nearest, IsExactWhereCoarseRoundingIsHopelessAndAfterwards) {
  on_every_target([](const std::string& target) {
    const auto data = clouds<TypeParam>(150, 6, 5, 1.5, 0, 4);
    const auto easy = clouds<double>(20, 6, 5, 1.5, 0, 79).values;
    std::vector<double> hard = easy;
    for (const double value : easy) hard.push_back(value + 1e-6);
    const shoal::centroid_index<TypeParam> easy_index(easy, 20, 6), hard_index(hard, 40, 6);
    const auto easy_labels = kmeans_reference::nearest(data.view(), easy);
    const auto hard_labels = kmeans_reference::nearest(data.view(), hard);
    shoal::nearest_scratch<TypeParam> scratch;
    for (int call = 0; call < 40; ++call) {
      std::vector<std::int32_t> labels(150, -1);
      const bool is_hard = call % 20 == 1;
      shoal::find_nearest(is_hard ? hard_index : easy_index, data.view(), labels.data(), scratch);
      EXPECT_EQ(labels, is_hard ? hard_labels : easy_labels) << target << " call " << call;
    }
  });
}

// Rows that are kept as bytes have the labels and bounds of rows that are made bytes anew, about another origin too.
// One call's panels are not another call's.
TEST(NearestOfKeptRows, IsThatOfTheSameRows) {
  on_every_target([](const std::string& target) {
    for (const std::size_t columns : {32, 33, 35, 300}) {
      const std::size_t clusters = 16384 / columns + 3;
      for (const std::size_t rows : {1, 47, 48, 49, 95, 512, 1100}) {
        const auto data = clouds<float>(rows, columns, 5, 1.5, 3, rows + columns);
        auto centroids = clouds<double>(clusters, columns, 5, 1.5, 3, 77).values;
        const std::vector<float> origin(columns, 4.5F);
        shoal::byte_rows bytes;
        bytes.grow(512 + rows, columns);
        for (int turn = 0; turn < 3; ++turn) {
          shoal::centroid_index<float> index;
          index.set(centroids, clusters, columns, rows, nullptr, origin);
          const std::string what = target + " " + std::to_string(rows) + "x" + std::to_string(columns);
          // Half of the rows, and then all of them, at the same place.
          for (const std::size_t count : {rows / 2, rows}) {
            if (count == 0) continue;
            const shoal::matrix_view<const float> view(data.values.data(), count, columns);
            std::vector<std::int32_t> labels(count, -1), again(count, -1);
            std::vector<float> others(count), bounds(count);
            shoal::nearest_scratch<float> first;
            shoal::find_nearest<float>(index, view, labels.data(), first, others.data());
            for (int call = 0; call < 2; ++call) {
              shoal::nearest_scratch<float> scratch;  // one that has seen no call that did not pay
              shoal::find_nearest<float>(index, view, again.data(), scratch, bounds.data(), {}, bytes.of(512, count));
              EXPECT_EQ(again, labels) << what;
              EXPECT_EQ(bounds, others) << what;
            }
            EXPECT_EQ(labels, kmeans_reference::nearest(view, centroids)) << what;
          }
          for (double& value : centroids) value = 0.9 * value + 0.3;
        }
      }
    }
  });
}

TYPED_TEST(Nearest, BoundsTheDistanceToEveryOtherCentroid) {
  on_every_target([](const std::string& target) {
    for (const double offset : {0.0, 1e5}) {
      for (const std::size_t columns : {1, 2, 4, 5, 30}) {
        for (const std::size_t clusters : {2, 5, 70}) {
          const auto data = clouds<TypeParam>(211, columns, 5, 2, offset, columns);
          const auto centroids = clouds<double>(clusters, columns, 5, 2, offset, 33).values;
          const shoal::centroid_index<TypeParam> index(centroids, clusters, columns);
          shoal::nearest_scratch<TypeParam> scratch;
          std::vector<std::int32_t> labels(211);
          std::vector<TypeParam> others(211);
          shoal::find_nearest(index, data.view(), labels.data(), scratch, others.data());
          double share = 0;
          for (std::size_t i = 0; i < 211; ++i) {
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t k = 0; k < clusters; ++k) {
              if (static_cast<std::int32_t>(k) == labels[i]) continue;
              least = std::min(least, std::sqrt(kmeans_reference::squared_distance(
                                          data.view().row(i), centroids.data() + k * columns, columns)));
            }
            ASSERT_LE(static_cast<double>(others[i]), least) << target;
            share += static_cast<double>(others[i]) / least / 211;
          }
          if (offset == 0) {
            // 70 centroids in one column lie so close that the rounding of float32 takes 1.5 % of the distance.
            EXPECT_GT(share, 0.98) << target << ": the bound is useful";
          }
        }
      }
    }
  });
}

// So many columns and centroids that 8 bits come first where one instruction adds four of their products.
TYPED_TEST(Nearest, IsExactForManyColumnsAndCentroids) {
  struct shape {
    std::size_t rows, columns, clusters;
  };
  on_every_target([](const std::string& target) {
    for (const auto& [rows, columns, clusters] :
         {shape{1, 32, 512}, {47, 33, 513}, {48, 35, 515}, {49, 131, 127}, {97, 66, 1025}, {97, 47, 2100}}) {
      for (const double offset : {0.0, 1e4}) {
        const std::string what = target + " " + std::to_string(rows) + "x" + std::to_string(columns) + " K " +
                                 std::to_string(clusters) + " offset " + std::to_string(offset);
        const auto data = clouds<TypeParam>(rows, columns, 5, 1.5, offset, rows + columns);
        const auto centroids = clouds<double>(clusters, columns, 5, 1.5, offset, 77).values;
        const shoal::centroid_index<TypeParam> index(centroids, clusters, columns);
        shoal::nearest_scratch<TypeParam> scratch;
        std::vector<std::int32_t> labels(rows, -1);
        std::vector<TypeParam> others(rows, -1);
        shoal::find_nearest(index, data.view(), labels.data(), scratch, others.data());
        EXPECT_EQ(labels, kmeans_reference::nearest(data.view(), centroids)) << what;
        double share = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          double least = std::numeric_limits<double>::infinity();
          for (std::size_t k = 0; k < clusters; ++k) {
            if (static_cast<std::int32_t>(k) == labels[i]) continue;
            least = std::min(least, std::sqrt(kmeans_reference::squared_distance(
                                        data.view().row(i), centroids.data() + k * columns, columns)));
          }
          ASSERT_GE(static_cast<double>(others[i]), 0) << what;
          ASSERT_LE(static_cast<double>(others[i]), least) << what;
          share += static_cast<double>(others[i]) / least / static_cast<double>(rows);
        }
        if (offset == 0) {
          EXPECT_GT(share, 0.97) << what << ": the bound is useful";
        }
      }
    }
  });
}

// Rows that 8 bits leave one, some, or too many centroids for, one after the other, with one scratch.
TYPED_TEST(Nearest, IsExactForManyColumnsWhereFewCentroidsOrManyAreNear) {
  constexpr std::size_t columns = 40, clusters = 500, rows = 150;
  const auto data = clouds<TypeParam>(rows, columns, 5, 3, 0, 4);
  const auto apart = clouds<double>(clusters, columns, 5, 3, 0, 79).values;
  const auto apart_labels = kmeans_reference::nearest(data.view(), apart);
  for (const double spread : {1e-7, 1e-3, 0.02, 0.3}) {
    // The first hundred of the centroids again and again, each time moved a little.
    std::vector<double> close = apart;
    for (std::size_t i = 100 * columns; i < close.size(); ++i) {
      close[i] = close[i % (100 * columns)] + spread * (apart[i] - apart[i % (100 * columns)]);
    }
    const auto close_labels = kmeans_reference::nearest(data.view(), close);
    const shoal::centroid_index<TypeParam> apart_index(apart, clusters, columns), close_index(close, clusters, columns);
    on_every_target([&](const std::string& target) {
      shoal::nearest_scratch<TypeParam> scratch;
      for (int call = 0; call < 40; ++call) {
        std::vector<std::int32_t> labels(rows, -1);
        const bool is_close = call % 20 == 1;
        shoal::find_nearest(is_close ? close_index : apart_index, data.view(), labels.data(), scratch);
        EXPECT_EQ(labels, is_close ? close_labels : apart_labels) << target << " " << spread << " call " << call;
      }
    });
  }
}

// Rows between two centroids, a little nearer to one: by so much that float32 tells, or 16 bits or 8 do, or none.
TYPED_TEST(Nearest, IsExactForManyColumnsBetweenTwoCentroids) {
  for (const auto& [columns, pairs] : {std::pair<std::size_t, std::size_t>{45, 200}, {301, 30}}) {
    const auto middles = clouds<double>(pairs, columns, 5, 3, 0, 4).values;
    const auto halves = clouds<double>(pairs, columns, 1, 0.5, 0, 5).values;
    std::vector<double> centroids;
    for (const double sign : {1.0, -1.0}) {
      for (std::size_t i = 0; i < middles.size(); ++i) centroids.push_back(middles[i] + sign * 0.3 * halves[i]);
    }
    for (const double away : {1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8}) {
      table<TypeParam> data{2 * pairs, columns, {}};
      for (const double sign : {1.0, -1.0}) {
        for (std::size_t i = 0; i < middles.size(); ++i) {
          data.values.push_back(static_cast<TypeParam>(middles[i] + sign * away * halves[i]));
        }
      }
      const auto expected = kmeans_reference::nearest(data.view(), centroids);
      on_every_target([&](const std::string& target) {
        EXPECT_EQ(labels_of(data.view(), centroids), expected) << target << " away by " << away;
      });
    }
  }
}

// Steps of 1 (the largest value is 127 and the mean 0), and rounding to them that always favours the wrong one of two
// centroids: that of the rows, then that of the centroids.
TYPED_TEST(Nearest, IsExactWhereRoundingToBytesMisleads) {
  constexpr std::size_t columns = 45, pairs = 100;
  const auto noise = clouds<double>(pairs, columns, 5, 20, 0, 4).values;
  for (const bool by_rows : {true, false}) {
    std::vector<double> centroids;
    table<TypeParam> rows{pairs, columns, {}};
    for (std::size_t i = 0; i < pairs; ++i) {
      std::vector<double> row(columns), right(columns), wrong(columns);
      for (std::size_t j = 0; j < columns; ++j) {
        const double value = std::clamp(std::round(noise[i * columns + j]), -100.0, 100.0);
        const double sign = value < 0 ? -1 : 1;
        // The row is a hair farther from the middle to the wrong one in most columns, and rounds all the way.
        row[j] = by_rows ? value + sign * (j == 0 ? 4 : 0.501) : value;
        right[j] = by_rows ? (j == 0 ? value + sign * 6 : value) : value + sign * 0.49;
        wrong[j] = by_rows ? (j == 0 ? value : value + sign) : value + (j < 16 ? sign : 0);
        if (j == columns - 1) row[j] = right[j] = wrong[j] = 127;
      }
      for (const double value : row) rows.values.push_back(static_cast<TypeParam>(value));
      for (const auto* centroid : {&right, &wrong}) {
        centroids.insert(centroids.end(), centroid->begin(), centroid->end());
        for (const double value : *centroid) centroids.push_back(-value);
      }
    }
    const auto expected = kmeans_reference::nearest(rows.view(), centroids);
    for (std::size_t i = 0; i < pairs; ++i) ASSERT_EQ(expected[i], static_cast<std::int32_t>(4 * i));
    on_every_target([&](const std::string& target) {
      EXPECT_EQ(labels_of(rows.view(), centroids), expected) << target << (by_rows ? " rows" : " centroids");
    });
  }
}

TYPED_TEST(Nearest, IsExactForManyColumnsAtTheEndsOfTheRange) {
  on_every_target([](const std::string& target) {
    constexpr std::size_t columns = 37, clusters = 460;
    for (const double scale : {1e18, 1e11, 1.0, 1e-11, 1e-19, 1e-30}) {
      auto data = clouds<TypeParam>(100, columns, 3, 1, 0, 8);
      auto centroids = clouds<double>(clusters, columns, 3, 1, 0, 9).values;
      for (auto& value : data.values) value = static_cast<TypeParam>(static_cast<double>(value) * scale);
      for (auto& value : centroids) value *= scale;
      const std::string what = target + " scale " + std::to_string(scale);
      expect_exact(data.view(), centroids, what);
      // One centroid, one row and one column far beyond the others.
      for (std::size_t j = 0; j < columns; ++j) centroids[5 * columns + j] *= 300;
      for (std::size_t i = 0; i < 100; ++i) data.values[i * columns + 3] *= 50;
      expect_exact(data.view(), centroids, what + ", one centroid and one column apart");
      for (std::size_t j = 0; j < columns; ++j) data.values[60 * columns + j] *= 1000;
      expect_exact(data.view(), centroids, what + ", one row apart");
      // Centroids that are rows, some twice: distances of zero, and ties.
      for (std::size_t i = 0; i < centroids.size(); ++i) {
        centroids[i] = static_cast<double>(data.values[i % (70 * columns)]);
      }
      expect_exact(data.view(), centroids, what + ", centroids that are rows");
    }
  });
}

TYPED_TEST(Nearest, ReadsOnlyTheRowsOfAView) {
  const auto data = clouds<TypeParam>(101, 6, 3, 4);
  const auto centroids = kmeans_reference::spread_rows(data.view(), 9);
  const auto gaps = kmeans_reference::strided(data.view(), 11);
  EXPECT_EQ(labels_of<TypeParam>({gaps.data(), 101, 6, 11}, centroids), labels_of(data.view(), centroids));
  const auto pairs = clouds<TypeParam>(77, 2, 3, 4);
  const auto wide = kmeans_reference::strided(pairs.view(), 3);
  const auto few = kmeans_reference::spread_rows(pairs.view(), 5);
  EXPECT_EQ(labels_of<TypeParam>({wide.data(), 77, 2, 3}, few), labels_of(pairs.view(), few));
  const auto many = clouds<TypeParam>(77, 33, 3, 4);
  const auto spaced = kmeans_reference::strided(many.view(), 50);
  const auto centroids_of_many = clouds<double>(520, 33, 3, 4, 0, 5).values;
  EXPECT_EQ(labels_of<TypeParam>({spaced.data(), 77, 33, 50}, centroids_of_many),
            labels_of(many.view(), centroids_of_many));
}

TYPED_TEST(Nearest, TakesTheLowestOfEquals) {
  on_every_target([](const std::string&) {
    // A lattice of rows about a lattice of centroids, some twice: most rows have several nearest centroids.
    for (const std::size_t columns : {1, 2, 5}) {
      table<TypeParam> rows{0, columns, {}};
      for (int i = 0; i < 300; ++i) {
        for (std::size_t j = 0; j < columns; ++j) rows.values.push_back(static_cast<TypeParam>((i >> j) % 5 * 0.5));
        ++rows.rows;
      }
      std::vector<double> centroids;
      for (int k = 0; k < 70; ++k)
        for (std::size_t j = 0; j < columns; ++j) centroids.push_back((k % 35 >> j) % 3);
      expect_exact(rows.view(), centroids, std::to_string(columns));
    }
  });
}

TYPED_TEST(Nearest, IsExactFarFromTheOriginAndForClustersFarApart) {
  on_every_target([](const std::string& target) {
    for (const double offset : {1e3, 1e6, 3e7}) {
      const auto data = clouds<TypeParam>(400, 3, 4, 3, offset, 5);
      auto centroids = clouds<double>(12, 3, 4, 3, offset, 6).values;  // not representable in float32
      expect_exact(data.view(), centroids, target + " offset " + std::to_string(offset));
    }
    const auto apart = clouds<TypeParam>(400, 8, 3, 1e6, 0, 7);
    expect_exact(apart.view(), kmeans_reference::spread_rows(apart.view(), 40), target + " apart");
  });
}

TYPED_TEST(Nearest, IsExactForValuesAtTheEndsOfTheRange) {
  const double largest = static_cast<double>(std::numeric_limits<float>::max());
  for (const double scale : {largest / 8, 1e19, 1e-19, 1e-30, 1e-42}) {
    auto data = clouds<TypeParam>(200, 4, 3, 1, 0, 8);
    for (auto& value : data.values) value = static_cast<TypeParam>(static_cast<double>(value) * scale);
    expect_exact(data.view(), kmeans_reference::spread_rows(data.view(), 7), std::to_string(scale));
    auto wide = clouds<TypeParam>(200, 6, 3, 1, 0, 8);
    for (auto& value : wide.values) value = static_cast<TypeParam>(static_cast<double>(value) * scale);
    expect_exact(wide.view(), kmeans_reference::spread_rows(wide.view(), 20), std::to_string(scale));
  }
  // One row far beyond its neighbours, which share its steps.
  auto one_apart = clouds<TypeParam>(200, 6, 3, 1, 0, 8);
  one_apart.values[60] = 1000;
  expect_exact(one_apart.view(), kmeans_reference::spread_rows(one_apart.view(), 20), "one apart");
  const auto ordinary = clouds<TypeParam>(50, 2, 3, 1);
  expect_exact(ordinary.view(), {1e300, -1e300, 0, 0, 1e200, 5}, "centroids beyond float32");
}

TYPED_TEST(Nearest, OneRowAwayFromATieDecidesRight) {
  // Rows on the bisector of two centroids, moved by one unit in the last place to either side.
  std::vector<double> centroids = {0, 0, 1, 0};
  table<TypeParam> rows{3, 2, {}};
  const auto half = TypeParam(0.5);
  rows.values = {std::nextafter(half, TypeParam(0)), 0, half, 0, std::nextafter(half, TypeParam(1)), 0};
  on_every_target([&](const std::string& target) {
    EXPECT_EQ(labels_of(rows.view(), centroids), (std::vector<std::int32_t>{0, 0, 1})) << target;
  });
}

TEST(Nearest, RefusesCentroidsThatAreNotFinite) {
  const std::vector<double> centroids = {0, 1, std::numeric_limits<double>::quiet_NaN(), 2};
  EXPECT_THROW(shoal::centroid_index<float>(centroids, 2, 2), shoal::numerical_error);
}

TYPED_TEST(Nearest, DistancesAreThoseOfEachRowAlone) {
  const auto data = clouds<TypeParam>(131, 5, 4, 2);
  const auto points = clouds<TypeParam>(7, 5, 4, 2, 0, 9);
  shoal::nearest_scratch<TypeParam> scratch;
  std::vector<TypeParam> all(7 * 140), one(1);
  shoal::squared_distances<TypeParam>(data.view(), points.view(), all.data(), 140, scratch);
  std::vector<std::int32_t> labels(131);
  std::vector<TypeParam> own(131);
  for (std::size_t i = 0; i < 131; ++i) labels[i] = static_cast<std::int32_t>(i % 7);
  shoal::distances_to_labels<TypeParam>(data.view(), points.view(), labels.data(), own.data());
  const double unit = static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
  for (std::size_t t = 0; t < 7; ++t) {
    const std::vector<double> point(points.view().row(t), points.view().row(t) + 5);
    for (std::size_t i = 0; i < 131; ++i) {
      const double expected = kmeans_reference::squared_distance(data.view().row(i), point.data(), 5);
      EXPECT_NEAR(static_cast<double>(all[t * 140 + i]), expected, 8 * unit * expected);
      shoal::squared_distances<TypeParam>(data.view().middle_rows(i, 1), points.view().middle_rows(t, 1), one.data(), 1,
                                          scratch);
      EXPECT_EQ(one[0], all[t * 140 + i]);
      if (t == i % 7) {
        EXPECT_NEAR(static_cast<double>(own[i]), expected, 8 * unit * expected);
      }
    }
  }
}

// Rows come in other groups when they are streamed: what stands around a row must not show.
TYPED_TEST(Nearest, DistancesToLabelsDoNotDependOnTheGroup) {
  for (const std::size_t columns : {1, 3, 5, 16, 17, 54}) {
    const auto data = clouds<TypeParam>(23, columns, 4, 2);
    const auto points = clouds<TypeParam>(7, columns, 4, 2, 0, 9);
    std::vector<std::int32_t> labels(23);
    for (std::size_t i = 0; i < 23; ++i) labels[i] = static_cast<std::int32_t>(i % 7);
    on_every_target([&](const std::string& target) {
      std::vector<TypeParam> all(23);
      shoal::distances_to_labels<TypeParam>(data.view(), points.view(), labels.data(), all.data());
      for (std::size_t i = 0; i < 23; ++i) {
        TypeParam alone = 0;
        shoal::distances_to_labels<TypeParam>(data.view().middle_rows(i, 1), points.view(), labels.data() + i, &alone);
        EXPECT_EQ(alone, all[i]) << columns << " columns, row " << i << ", " << target;
      }
    });
  }
}

TYPED_TEST(Nearest, SumsMinima) {
  for (const std::size_t count : {1, 7, 8, 9, 512}) {
    const auto a = clouds<TypeParam>(count, 1, 3, 1, 10, 1), b = clouds<TypeParam>(count, 1, 3, 1, 10, 2);
    const auto w = clouds<TypeParam>(count, 1, 3, 1, 10, 3);
    double plain = 0, weighted = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double least = std::min(a.values[i], b.values[i]);
      plain += least;
      weighted += least * static_cast<double>(w.values[i]);
    }
    const TypeParam* none = nullptr;
    EXPECT_NEAR(shoal::sum_of_minima(a.values.data(), b.values.data(), none, count), plain, 1e-12 * plain);
    EXPECT_NEAR(shoal::sum_of_minima(a.values.data(), b.values.data(), w.values.data(), count), weighted,
                1e-12 * weighted);
  }
}

// Layouts of many numbers are made by several threads, with the same numbers in them.
TEST(CentroidIndex, DoesNotDependOnThreads) {
  constexpr std::size_t clusters = 515, columns = 35;
  const auto centroids = clouds<double>(clusters, columns, 5, 2, 100, 3).values;
  const shoal::centroid_index<float> alone(centroids, clusters, columns);
  const auto workers = shoal::make_threads(3);
  shoal::centroid_index<float> shared;
  shared.set(centroids, clusters, columns, std::numeric_limits<std::size_t>::max(), workers.get());
  const auto same = [](const auto* a, const auto* b, std::size_t count) { return std::equal(a, a + count, b); };
  const std::size_t padded = alone.panels() * shoal::centroid_index<float>::panel;
  ASSERT_TRUE(alone.has_coarse() && alone.has_bytes());
  EXPECT_TRUE(same(shared.negated(), alone.negated(), padded * columns));
  EXPECT_TRUE(same(shared.half_norms(), alone.half_norms(), padded));
  EXPECT_TRUE(same(shared.exact(), alone.exact(), (clusters + 15) / 16 * 16 * columns));
  EXPECT_TRUE(same(shared.coarse(), alone.coarse(), padded * ((columns + 1) / 2)));
  EXPECT_TRUE(same(shared.bytes(), alone.bytes(), padded * ((columns + 3) / 4)));
  EXPECT_TRUE(same(shared.byte_starts(), alone.byte_starts(), padded));
  EXPECT_TRUE(same(shared.byte_errors(), alone.byte_errors(), padded));
  EXPECT_TRUE(same(shared.negated_rows(), alone.negated_rows(), clusters * alone.row_stride()));
  EXPECT_EQ(shared.largest_norm(), alone.largest_norm());
  EXPECT_EQ(shared.coarse_error(), alone.coarse_error());
}

}  // namespace
