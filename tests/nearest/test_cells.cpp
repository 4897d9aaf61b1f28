// The search among cells finds what the float64 definition says: rows anywhere, centroids in rows, heaps, ties and at
// the ends of the range.
#include <shoal/core/simd_targets.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <shoal/execution/executor.hpp>
#include <shoal/nearest/nearest.hpp>

#include "../kmeans/kmeans_reference.hpp"

namespace {

using kmeans_reference::clouds;
using kmeans_reference::table;

// Runs `check` on every instruction set that is compiled and that this machine has.
template <class Check>
void on_every_target(const Check& check) {
  for (std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    check(hwy::TargetName(targets & -targets));
  }
  hwy::SetSupportedTargetsForTest(0);
}

enum class cells { some, none, either };

// Labels on every instruction set are those of the definition; and cells were made for these centroids, or were not.
template <class Scalar>
void expect_exact(shoal::matrix_view<const Scalar> rows, const std::vector<double>& centroids, cells expected,
                  const std::string& what) {
  const std::size_t clusters = centroids.size() / rows.columns();
  const auto labels = kmeans_reference::nearest(rows, centroids);
  on_every_target([&](const std::string& target) {
    const shoal::centroid_index<Scalar> index(centroids, clusters, rows.columns());
    if (expected != cells::either) EXPECT_EQ(index.cells().any(), expected == cells::some) << what << " " << target;
    shoal::nearest_scratch<Scalar> scratch;
    std::vector<std::int32_t> found(rows.rows(), -1);
    shoal::find_nearest(index, rows, found.data(), scratch);
    EXPECT_EQ(found, labels) << what << " " << target;
  });
}

template <class Scalar>
std::vector<double> in_scalar(std::vector<double> values) {
  for (double& value : values) value = static_cast<double>(static_cast<Scalar>(value));
  return values;
}

// Rows about the centroids, on them, halfway between two of them, and far away.
template <class Scalar>
table<Scalar> rows_about(const std::vector<double>& centroids, std::size_t columns, double spread) {
  const std::size_t clusters = centroids.size() / columns;
  kmeans_reference::uniform u(7);
  table<Scalar> rows{0, columns, {}};
  const auto add = [&](auto&& value) {
    for (std::size_t j = 0; j < columns; ++j) rows.values.push_back(static_cast<Scalar>(value(j)));
    ++rows.rows;
  };
  for (std::size_t k = 0; k < clusters; ++k) {
    const double* own = centroids.data() + k * columns;
    const double* other = centroids.data() + (k * 7 + 1) % clusters * columns;
    add([&](std::size_t j) { return own[j]; });
    add([&](std::size_t j) { return own[j] + spread * (u() - 0.5); });
    add([&](std::size_t j) { return (own[j] + other[j]) / 2; });
    add([&](std::size_t j) { return own[j] + 0.3 * (other[j] - own[j]); });
    for (const double far : {0.3, 1.0, 3.0, 100.0}) {
      add([&](std::size_t j) { return own[j] + far * spread * (u() < 0.5 ? -1 : 1); });
    }
  }
  return rows;
}

template <class Scalar>
class Cells : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Cells, scalars);

TYPED_TEST(Cells, AreExactAtAwkwardSizesAndOffsets) {
  for (const std::size_t columns : {1, 2, 3}) {
    for (const std::size_t clusters : {64, 65, 131, 500}) {
      for (const double offset : {0.0, 1e6}) {
        const auto centroids = clouds<double>(clusters, columns, 5, 4, offset, clusters).values;
        const std::string what =
            std::to_string(columns) + " columns, K " + std::to_string(clusters) + ", offset " + std::to_string(offset);
        // In float32 a million is known to a sixteenth: too little for cells of many clusters on a line.
        const bool coarse = sizeof(TypeParam) == 4 && offset > 0;
        const auto about = rows_about<TypeParam>(centroids, columns, 20);
        if (!coarse) expect_exact(about.view(), centroids, cells::some, what);
        for (const std::size_t rows : {1, 15, 16, 17, 255, 256, 257}) {
          const auto data = clouds<TypeParam>(rows, columns, 5, 4, offset, rows);
          if (!coarse) expect_exact(data.view(), centroids, cells::some, what + ", " + std::to_string(rows) + " rows");
        }
        const auto spread_out = clouds<double>(clusters, columns, 5, 1000, offset, clusters).values;
        expect_exact(rows_about<TypeParam>(spread_out, columns, 4000).view(), spread_out, cells::either,
                     what + ", wide");
      }
    }
  }
}

// Rows and centroids of whole numbers: most rows have several nearest centroids, many lie on the borders of cells, and
// every centroid is there three times.
TYPED_TEST(Cells, TakeTheLowestOfEquals) {
  for (const std::size_t columns : {1, 2, 3}) {
    const int side = columns == 1 ? 64 : columns == 2 ? 9 : 5;
    const int places = columns == 1 ? side : columns == 2 ? side * side : side * side * side;
    std::vector<double> centroids;
    for (int k = 0; k < 3 * places; ++k) {
      for (int j = 0, rest = k * 5 % places; j < static_cast<int>(columns); ++j, rest /= side) {
        centroids.push_back(2 * (rest % side));
      }
    }
    table<TypeParam> rows{0, columns, {}};
    for (int i = 0; i < 4000; ++i) {
      for (int j = 0, rest = i; j < static_cast<int>(columns); ++j, rest /= 2 * side + 3) {
        rows.values.push_back(static_cast<TypeParam>(rest % (2 * side + 3) - 2));
      }
      ++rows.rows;
    }
    expect_exact(rows.view(), centroids, cells::some, std::to_string(columns));
  }
}

// Rows a hair to either side of the middle between neighbours, where only float64 tells them apart.
TYPED_TEST(Cells, AreExactAHairFromATie) {
  std::vector<double> centroids;
  for (int k = 0; k < 100; ++k) {
    centroids.push_back(k % 10 + 0.1 * (k / 10));
    centroids.push_back(k / 10 * 0.7);
  }
  centroids = in_scalar<TypeParam>(centroids);
  table<TypeParam> rows{0, 2, {}};
  for (std::size_t a = 0; a < 100; ++a) {
    for (const std::size_t b : {a + 1, a + 10}) {
      if (b >= 100) continue;
      const auto x = static_cast<TypeParam>((centroids[2 * a] + centroids[2 * b]) / 2);
      const auto y = static_cast<TypeParam>((centroids[2 * a + 1] + centroids[2 * b + 1]) / 2);
      constexpr TypeParam far = std::numeric_limits<TypeParam>::infinity();
      for (const TypeParam near_x : {std::nextafter(x, -far), x, std::nextafter(x, far)}) {
        for (const TypeParam near_y : {std::nextafter(y, -far), y, std::nextafter(y, far)}) {
          rows.values.insert(rows.values.end(), {near_x, near_y});
          ++rows.rows;
        }
      }
    }
  }
  expect_exact(rows.view(), centroids, cells::some, "middles");
}

TYPED_TEST(Cells, AreExactForCentroidsOnALineAndInHeaps) {
  std::vector<double> slanted, upright, heaps, alike, one_apart;
  for (int k = 0; k < 90; ++k) {
    slanted.insert(slanted.end(), {0.37 * k, 5 - 1.1 * k});
    upright.insert(upright.end(), {3.0, 0.25 * (k * 11 % 90)});
    heaps.insert(heaps.end(), {100.0 * (k % 3) + 1e-3 * k, 70.0 * (k % 2) + 1e-3 * (k * 7 % 90)});
    alike.insert(alike.end(), {1.5, -2.0});
    one_apart.insert(one_apart.end(), {k == 40 ? 1e9 : 0.1 * k, k == 40 ? -1e9 : 0.01 * (k * 7 % 90)});
  }
  expect_exact(rows_about<TypeParam>(slanted, 2, 30).view(), slanted, cells::some, "slanted");
  expect_exact(rows_about<TypeParam>(upright, 2, 30).view(), upright, cells::some, "upright");
  expect_exact(rows_about<TypeParam>(heaps, 2, 30).view(), heaps, cells::some, "heaps");
  expect_exact(rows_about<TypeParam>(alike, 2, 30).view(), alike, cells::none, "alike");
  expect_exact(rows_about<TypeParam>(one_apart, 2, 30).view(), one_apart, cells::none, "one apart");
}

TYPED_TEST(Cells, AreExactAtTheEndsOfTheRange) {
  const double largest = static_cast<double>(std::numeric_limits<float>::max());
  for (const double scale : {largest / 64, 1e19, 1e-19, 1e-30}) {
    auto centroids = clouds<double>(80, 2, 5, 4, 0, 3).values;
    for (double& value : centroids) value *= scale;
    expect_exact(rows_about<TypeParam>(centroids, 2, 20 * scale).view(), centroids, cells::some, std::to_string(scale));
  }
  // Denormal in float32; beyond what squares hold in float64.
  for (const double scale : {1e-43, 1e-160, 1e200, 1e306}) {
    auto centroids = clouds<double>(80, 2, 5, 4, 0, 3).values;
    for (double& value : centroids) value *= scale;
    const bool usual = scale == 1e-43 && sizeof(TypeParam) == 8;
    if (sizeof(TypeParam) == 4 && scale > 1) continue;
    expect_exact(rows_about<TypeParam>(centroids, 2, 20 * scale).view(), centroids, usual ? cells::some : cells::none,
                 std::to_string(std::log10(scale)));
  }
  // Rows at the ends of the range, where every distance is infinite in float64 too, or many are equal.
  const auto centroids = clouds<double>(80, 2, 5, 4, 0, 3).values;
  const TypeParam most = std::numeric_limits<TypeParam>::max(), least = std::numeric_limits<TypeParam>::denorm_min();
  table<TypeParam> rows{6, 2, {most, most, -most, most, most, 0, 0, -most, least, -least, 3, most}};
  expect_exact(rows.view(), centroids, cells::some, "rows at the ends");
}

TYPED_TEST(Cells, ReadOnlyTheRowsOfAView) {
  for (const std::size_t columns : {1, 2, 3}) {
    const auto centroids = clouds<double>(90, columns, 5, 4, 0, 3).values;
    const auto data = clouds<TypeParam>(700, columns, 5, 4);
    const auto gaps = kmeans_reference::strided(data.view(), columns + 2);
    expect_exact<TypeParam>({gaps.data(), 700, columns, columns + 2}, centroids, cells::some, std::to_string(columns));
  }
}

// Every list is short where cells are many, and each centroid is on the list of its own cell.
TYPED_TEST(Cells, HaveShortListsThatHoldTheirOwnCentroids) {
  const auto centroids = clouds<double>(400, 2, 7, 3, 0, 3).values;
  shoal::centroid_cells cells;
  cells.set<TypeParam>(centroids, 400, 2, 1 << 20);
  ASSERT_TRUE(cells.any());
  double groups = 0;
  for (std::size_t cell = 0; cell < cells.cells(); ++cell) groups += cells.lists()[cell].groups;
  EXPECT_LT(groups / static_cast<double>(cells.cells()), 1.5);
  for (std::size_t k = 0; k < 400; ++k) {
    const double x = (centroids[2 * k] - cells.low(0)) * cells.inverse(),
                 y = (centroids[2 * k + 1] - cells.low(1)) * cells.inverse();
    ASSERT_GE(std::min(x, y), 0);
    ASSERT_LT(x, static_cast<double>(cells.counts(0)));
    ASSERT_LT(y, static_cast<double>(cells.counts(1)));
    const auto list = cells.lists()[static_cast<std::size_t>(y) * cells.counts(0) + static_cast<std::size_t>(x)];
    bool found = false;
    for (std::size_t i = 4 * list.first; i < 4 * (list.first + list.groups); ++i) {
      found = found || cells.numbers()[i] == static_cast<std::int32_t>(k);
    }
    EXPECT_TRUE(found) << k;
  }
}

TEST(Cells, AreNotMadeWhereTheyDoNotPay) {
  const auto many = clouds<double>(200, 2, 7, 3).values;
  shoal::centroid_cells cells;
  cells.set<float>(many, 200, 2, 1 << 20);
  EXPECT_TRUE(cells.any());
  cells.set<float>(many, 200, 2, 100);
  EXPECT_FALSE(cells.any()) << "few rows";
  cells.set<float>(std::span(many).first(2 * 12), 12, 2, 1 << 20);
  EXPECT_FALSE(cells.any()) << "few clusters";
  cells.set<float>(many, 100, 4, 1 << 20);
  EXPECT_FALSE(cells.any()) << "many columns";
}

// Whoever divides the parts of the grid: the same lists, in the same places.
TEST(Cells, DoNotDependOnThreads) {
  for (const std::size_t columns : {1, 2, 3}) {
    for (const std::size_t clusters : {64, 300}) {
      const auto centroids = clouds<double>(clusters, columns, 5, 3, 0, columns).values;
      const shoal::centroid_index<float> alone(centroids, clusters, columns);
      ASSERT_TRUE(alone.cells().any());
      for (const std::size_t threads : {2, 5}) {
        const auto workers = shoal::make_threads(threads);
        shoal::centroid_index<float> shared;
        // Twice, the first time in other places, so that what the build keeps is used again.
        shared.set(clouds<double>(clusters, columns, 5, 3, 7, 9).values, clusters, columns, 1 << 20, workers.get());
        shared.set(centroids, clusters, columns, std::numeric_limits<std::size_t>::max(), workers.get());
        const shoal::centroid_cells &expected = alone.cells(), &cells = shared.cells();
        ASSERT_TRUE(cells.any());
        ASSERT_EQ(cells.cells(), expected.cells());
        for (std::size_t i = 0; i <= cells.cells(); ++i) {
          const auto list = cells.lists()[i];
          ASSERT_EQ(list.first, expected.lists()[i].first) << i;
          ASSERT_EQ(list.groups, expected.lists()[i].groups) << i;
          const std::size_t first = list.first * shoal::centroid_cells::group;
          const std::size_t count = list.groups * shoal::centroid_cells::group;
          ASSERT_TRUE(std::equal(cells.numbers() + first, cells.numbers() + first + count, expected.numbers() + first));
          ASSERT_TRUE(std::equal(cells.places() + first * columns, cells.places() + (first + count) * columns,
                                 expected.places() + first * columns));
        }
      }
    }
  }
}

}  // namespace
