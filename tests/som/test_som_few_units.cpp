// Epochs of maps of few units, which are searched as k-means searches: the units of the definition, the sums of plain
// loops to the bit, and the same bits for every instruction set, cut and number of threads.
#include <shoal/core/simd_targets.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <shoal/execution/executor.hpp>
#include <shoal/som/accumulate.hpp>
#include <shoal/som/distance.hpp>
#include <shoal/som/tuning.hpp>

#include "som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::clouds;
using som_reference::table;

struct folded {
  som::statistics sums;
  std::vector<std::int32_t> units;
  bool operator==(const folded& other) const {
    return sums.weights == other.sums.weights && sums.sums == other.sums.sums && sums.error == other.sums.error &&
           units == other.units;
  }
};

template <class Scalar>
struct problem {
  som::model map;
  table<Scalar> rows;
  table<Scalar> weights;  // no rows: none
  std::vector<double> centre;

  problem(std::size_t row_count, std::size_t columns, std::size_t units, bool weighted, double offset = 0)
      : map(som_reference::random_map(units, 1, columns, som::lattice::rectangular, false, som::metric::euclidean,
                                      offset, units)),
        rows(clouds<Scalar>(row_count, columns, offset)),
        weights{weighted ? row_count : 0, 1, {}} {
    for (std::size_t i = 0; i < weights.rows; ++i) weights.values.push_back(static_cast<Scalar>(0.25 + 0.5 * (i % 7)));
    for (std::size_t j = 0; j < columns; ++j) centre.push_back(offset + 0.3 * static_cast<double>(j % 5));
  }

  som::codebook_index<Scalar> index() const {
    som::codebook_index<Scalar> made;
    made.set(map.metric, map.codebook, map.units(), map.columns);
    return made;
  }

  // As a fold does, on so many threads, reading the rows in pieces where there is a limit.
  folded fold(std::size_t threads = 1, std::size_t memory_limit = 0) const {
    const som::codebook_index<Scalar> prepared = index();
    folded made{{}, std::vector<std::int32_t>(rows.rows, -7)};
    const auto workers = shoal::make_threads(threads);
    const shoal::fold_context context{workers.get(), memory_limit, {}};
    const shoal::view_source<Scalar> source(rows.view()), weight_source(weights.view());
    made.sums = shoal::fold<Scalar>(context, {&source, weights.rows == 0 ? nullptr : &weight_source, 1},
                                    som::statistics_monoid{map.units(), map.columns},
                                    som::accumulate_body<Scalar>{&prepared, centre.data(), made.units.data()});
    return made;
  }

  // As one piece, which no fold cuts.
  folded one_piece() const {
    const som::codebook_index<Scalar> prepared = index();
    folded made{som::statistics_monoid{map.units(), map.columns}.identity(), std::vector<std::int32_t>(rows.rows, -7)};
    typename som::accumulate_body<Scalar>::scratch memory;
    som::accumulate_body<Scalar>{&prepared, centre.data(), made.units.data()}(
        {rows.view(), weights.rows == 0 ? nullptr : weights.values.data(), 0}, shoal::team_member(0, 0, 1, nullptr),
        memory, made.sums);
    return made;
  }
};

template <class Scalar>
void expect_defined(const problem<Scalar>& given, const folded& found, const char* what) {
  const std::size_t columns = given.map.columns;
  som::statistics expected = som::statistics_monoid{given.map.units(), columns}.identity();
  for (std::size_t i = 0; i < given.rows.rows; ++i) {
    const Scalar* const row = given.rows.values.data() + i * columns;
    std::size_t best = 0;
    double least = som::defined_rank(som::metric::euclidean, row, given.map.codebook.data(), columns);
    for (std::size_t u = 1; u < given.map.units(); ++u) {
      const double rank =
          som::defined_rank(som::metric::euclidean, row, given.map.codebook.data() + u * columns, columns);
      if (rank < least) least = rank, best = u;
    }
    ASSERT_EQ(found.units[i], static_cast<std::int32_t>(best))
        << what << ", row " << i << ", " << columns << " columns, " << given.map.units() << " units";
    const double weight = given.weights.rows == 0 ? 1.0 : static_cast<double>(given.weights.values[i]);
    expected.weights[best] += weight;
    for (std::size_t j = 0; j < columns; ++j) {
      expected.sums[best * columns + j] += weight * (static_cast<double>(row[j]) - given.centre[j]);
    }
    expected.error += weight * std::sqrt(least);
  }
  ASSERT_EQ(found.sums.weights, expected.weights) << what;
  ASSERT_EQ(found.sums.sums, expected.sums) << what << ", " << columns << " columns, " << given.map.units() << " units";
  ASSERT_NEAR(found.sums.error, expected.error, 1e-13 * expected.error) << what;
}

template <class Scalar>
class SomFewUnits : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(SomFewUnits, scalars);

TYPED_TEST(SomFewUnits, AreTheFewestAlone) {
  constexpr std::size_t most = som::most_few_units;
  EXPECT_NE(problem<TypeParam>(1, 3, most, false).index().few(), nullptr);
  EXPECT_EQ(problem<TypeParam>(1, 3, most + 1, false).index().few(), nullptr);
  constexpr std::size_t wide = som::most_few_values / 64;
  EXPECT_NE(problem<TypeParam>(1, wide, 64, false).index().few(), nullptr);
  EXPECT_EQ(problem<TypeParam>(1, wide + 1, 64, false).index().few(), nullptr);
  problem<TypeParam> other(1, 3, 4, false);
  other.map.metric = som::metric::taxicab;
  EXPECT_EQ(other.index().few(), nullptr);
}

TYPED_TEST(SomFewUnits, AwkwardSizes) {
  constexpr std::size_t most = som::most_few_units;
  for (const std::size_t units : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{16}, std::size_t{17},
                                  std::size_t{64}, std::size_t{65}, most - 1, most, most + 1}) {
    for (const std::size_t columns : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 64, 131}) {
      const std::size_t rows = 1 + (units * 13 + columns * 5) % 113;
      for (const bool weighted : {false, true}) {
        const problem<TypeParam> given(rows, columns, units, weighted);
        expect_defined(given, given.one_piece(), "awkward sizes");
      }
    }
  }
}

TYPED_TEST(SomFewUnits, SlabsAndTheirNeighbours) {
  for (const std::size_t columns :
       {som::most_few_values / 64 - 1, som::most_few_values / 64, som::most_few_values / 64 + 1}) {
    const problem<TypeParam> given(53, columns, 64, true);
    expect_defined(given, given.one_piece(), "many columns");
  }
  for (const std::size_t rows :
       {som::few_slab_rows - 1, som::few_slab_rows, som::few_slab_rows + 1, 2 * som::few_slab_rows + 47}) {
    const problem<TypeParam> given(rows, 9, 23, true);
    expect_defined(given, given.one_piece(), "slabs");
  }
}

// Units that the scalar cannot tell from one another, and rows far from the origin.
TYPED_TEST(SomFewUnits, NearTiesAndOffsets) {
  problem<TypeParam> ties(700, 6, 100, false);
  for (std::size_t u = 20; u < 90; ++u) {
    for (std::size_t j = 0; j < 6; ++j) {
      ties.map.codebook[u * 6 + j] =
          ties.map.codebook[(u % 5) * 6 + j] + (u % 3 == 0 ? 0 : 1e-9 * static_cast<double>(u % 7));
    }
  }
  expect_defined(ties, ties.one_piece(), "near ties");
  const problem<TypeParam> far(700, 12, 40, false, 1e6);
  expect_defined(far, far.one_piece(), "offset");
}

TYPED_TEST(SomFewUnits, RangesThatSquaresLeave) {
  for (const double scale : {1e30, 1e-30}) {
    problem<TypeParam> given(300, 9, 30, false);
    for (double& value : given.map.codebook) value *= scale;
    for (double& value : given.centre) value *= scale;
    for (TypeParam& value : given.rows.values) value = static_cast<TypeParam>(static_cast<double>(value) * scale);
    expect_defined(given, given.one_piece(), "range");
  }
}

TYPED_TEST(SomFewUnits, EveryInstructionSetSumsTheSame) {
  for (const std::size_t columns : {3, 8, 29, 64}) {
    const problem<TypeParam> given(1000, columns, 36, true);
    const folded expected = given.one_piece();
    for (std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0; targets &= targets - 1) {
      hwy::SetSupportedTargetsForTest(targets & -targets);
      EXPECT_TRUE(given.one_piece() == expected) << columns << " columns";
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TYPED_TEST(SomFewUnits, ThreadsAndPiecesChangeNothing) {
  for (const std::size_t rows : {5000, 40001}) {
    const problem<TypeParam> given(rows, 11, 48, true);
    const folded expected = given.fold();
    for (const std::size_t threads : {2, 3, 8}) EXPECT_TRUE(given.fold(threads) == expected) << threads << " threads";
    EXPECT_TRUE(given.fold(2, std::size_t{1} << 17) == expected);
  }
}

}  // namespace
