// Best-matching units are those of the definition, for every metric, scalar and instruction set.
#include <shoal/core/simd_targets.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <shoal/som/search.hpp>
#include <shoal/som/tuning.hpp>

#include "som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::clouds;
using som_reference::metrics;
using som_reference::table;

template <class Scalar>
som_reference::matched find(const som::model& map, shoal::matrix_view<const Scalar> rows) {
  som::codebook_index<Scalar> index;
  index.set(map.metric, map.codebook, map.units(), map.columns);
  som_reference::matched found;
  found.best.resize(rows.rows());
  found.second.resize(rows.rows());
  found.distances.resize(rows.rows());
  som::search_scratch<Scalar> scratch;
  som::find_units<Scalar>(index, rows, {found.best.data(), found.distances.data(), found.second.data()}, scratch);
  std::vector<std::int32_t> alone(rows.rows());
  som::find_units<Scalar>(index, rows, {alone.data(), nullptr, nullptr}, scratch);
  EXPECT_EQ(found.best, alone);
  return found;
}

// The definition of find_units, apart from the order, where the reference's square roots and quotients may blur ties.
template <class Scalar>
double rank_of(const som::model& map, const Scalar* row, std::size_t unit) {
  const double* w = map.codebook.data() + unit * map.columns;
  double largest = 0, squares = 0, rank = 0;
  for (std::size_t j = 0; j < map.columns; ++j) largest = std::max(largest, std::abs(w[j]));
  for (std::size_t j = 0; j < map.columns && largest > 0; ++j) squares += w[j] / largest * (w[j] / largest);
  for (std::size_t j = 0; j < map.columns; ++j) {
    const double difference = static_cast<double>(row[j]) - w[j];
    if (map.metric == som::metric::euclidean) rank += difference * difference;
    if (map.metric == som::metric::taxicab) rank += std::abs(difference);
    if (map.metric == som::metric::chebyshev) rank = std::max(rank, std::abs(difference));
    if (map.metric == som::metric::cosine && largest > 0) {
      rank -= static_cast<double>(row[j]) * (w[j] / largest / std::sqrt(squares));
    }
  }
  return rank;
}

template <class Scalar>
void expect_exact(const som::model& map, shoal::matrix_view<const Scalar> rows, const char* what) {
  const som_reference::matched found = find(map, rows);
  const som_reference::matched expected = som_reference::match(map, rows);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    std::int32_t best = 0, second = -1;
    for (std::size_t u = 1; u < map.units(); ++u) {
      if (rank_of(map, rows.row(i), u) < rank_of(map, rows.row(i), static_cast<std::size_t>(best))) {
        best = static_cast<std::int32_t>(u);
      }
    }
    for (std::size_t u = 0; u < map.units(); ++u) {
      if (static_cast<std::int32_t>(u) == best) continue;
      if (second < 0 || rank_of(map, rows.row(i), u) < rank_of(map, rows.row(i), static_cast<std::size_t>(second))) {
        second = static_cast<std::int32_t>(u);
      }
    }
    ASSERT_EQ(found.best[i], best) << what << ", row " << i << " of " << rows.rows() << ", " << map.units() << " units";
    ASSERT_EQ(found.second[i], second) << what << ", row " << i;
    const double scale = 1 + std::abs(expected.distances[i]);
    ASSERT_NEAR(found.distances[i], expected.distances[i], 1e-13 * scale * static_cast<double>(map.columns)) << what;
  }
}

template <class Scalar>
class SomSearch : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(SomSearch, scalars);

TYPED_TEST(SomSearch, AwkwardSizes) {
  for (const som::metric metric : metrics) {
    for (const std::size_t units : {1, 2, 7, 23, 24, 25, 47, 48, 49, 97, 1009}) {
      for (const std::size_t columns : {1, 2, 5, 16, 17}) {
        const std::size_t rows = units == 1009 ? som::slab_rows + 3 : 1 + units % 11;
        const som::model map =
            som_reference::random_map(units, 1, columns, som::lattice::rectangular, false, metric, 0, units);
        expect_exact<TypeParam>(map, clouds<TypeParam>(rows, columns).view(), "awkward sizes");
      }
    }
  }
}

// As many panels as make the number of groups the limit.
TYPED_TEST(SomSearch, ManyUnitsOfManyColumns) {
  const som::model map = som_reference::random_map(190, 137, 64, som::lattice::rectangular, false);
  expect_exact<TypeParam>(map, clouds<TypeParam>(7, 64).view(), "many units");
}

// Units that rounding cannot tell from one another: the lowest of equals, and the nearest of nearly equals.
TYPED_TEST(SomSearch, TiesAndNearTies) {
  for (const som::metric metric : metrics) {
    som::model map = som_reference::random_map(400, 1, 6, som::lattice::rectangular, false, metric);
    for (std::size_t u = 100; u < 300; ++u) {
      for (std::size_t j = 0; j < 6; ++j) {
        // Copies of a few units, each one moved by less than float32 sees.
        map.codebook[u * 6 + j] = map.codebook[(u % 5) * 6 + j] + (u % 3 == 0 ? 0 : 1e-9 * static_cast<double>(u % 7));
      }
    }
    expect_exact<TypeParam>(map, clouds<TypeParam>(300, 6).view(), "near ties");
  }
}

TYPED_TEST(SomSearch, LargeOffsets) {
  for (const som::metric metric : metrics) {
    const som::model map = som_reference::random_map(150, 1, 3, som::lattice::rectangular, false, metric, 1e6, 5);
    expect_exact<TypeParam>(map, clouds<TypeParam>(100, 3, 1e6).view(), "offset");
  }
}

TYPED_TEST(SomSearch, RangesThatSquaresLeave) {
  const double huge = sizeof(TypeParam) == 4 ? 1e30 : 1e200, tiny = 1 / huge;
  for (const double scale : {huge, tiny}) {
    for (const som::metric metric : {som::metric::taxicab, som::metric::chebyshev}) {
      som::model map = som_reference::random_map(60, 1, 3, som::lattice::rectangular, false, metric);
      for (double& value : map.codebook) value *= scale;
      table<TypeParam> rows = clouds<TypeParam>(40, 3);
      for (TypeParam& value : rows.values) value = static_cast<TypeParam>(static_cast<double>(value) * scale);
      expect_exact<TypeParam>(map, rows.view(), "range");
    }
  }
  // Euclidean float32 rows whose squares float64 holds.
  if (sizeof(TypeParam) == 4) {
    som::model map = som_reference::random_map(60, 1, 3, som::lattice::rectangular, false);
    for (double& value : map.codebook) value *= huge;
    table<TypeParam> rows = clouds<TypeParam>(40, 3);
    for (TypeParam& value : rows.values) value = static_cast<TypeParam>(static_cast<double>(value) * huge);
    expect_exact<TypeParam>(map, rows.view(), "range");
  }
}

TYPED_TEST(SomSearch, CosineOfZeros) {
  som::model map = som_reference::random_map(3, 3, 2, som::lattice::rectangular, false, som::metric::cosine);
  map.codebook[4] = map.codebook[5] = 0;
  table<TypeParam> rows{3, 2, {0, 0, 1, 2, -1, -5}};
  const som_reference::matched found = find<TypeParam>(map, rows.view());
  EXPECT_EQ(found.best[0], 0);
  EXPECT_EQ(found.second[0], 1);
  EXPECT_EQ(found.distances[0], 1);
  expect_exact<TypeParam>(map, rows.view(), "zeros");
}

TYPED_TEST(SomSearch, EveryInstructionSetFindsTheSame) {
  for (const som::metric metric : metrics) {
    const som::model map = som_reference::random_map(33, 31, 7, som::lattice::rectangular, false, metric);
    const table<TypeParam> rows = clouds<TypeParam>(517, 7, 3);
    const som_reference::matched expected = find<TypeParam>(map, rows.view());
    for (std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0; targets &= targets - 1) {
      hwy::SetSupportedTargetsForTest(targets & -targets);
      const som_reference::matched found = find<TypeParam>(map, rows.view());
      EXPECT_EQ(found.best, expected.best);
      EXPECT_EQ(found.second, expected.second);
      EXPECT_EQ(found.distances, expected.distances);
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace
