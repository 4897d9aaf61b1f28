// What every fit is prepared with keeps the laws of folding: the data check, the race among rows, sums by candidate.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/estimation/check_statistics.hpp>
#include <shoal/estimation/race.hpp>
#include <shoal/execution/executor.hpp>

#include "../kmeans/kmeans_reference.hpp"
#include "../statistics_laws.hpp"

namespace {

using kmeans_reference::clouds;
using shoal::check_statistics;
using statistics_laws::column_moments;

constexpr std::size_t columns = 2;

// Rows of one sample, with what makes them awkward.
struct awkward_rows {
  std::size_t rows;
  double offset;
  double weight;  // of each row; 0: none has any
};
constexpr awkward_rows awkward[] = {{1, 0, 1},     {513, 0, 1},   {40, 1e6, 1e-30}, {70, 0, 1e30},
                                    {90, -1e6, 1}, {30, 1e30, 1}, {20, 5, 0},       {60, -2e4, 0.1}};

template <class Scalar>
check_statistics check(std::vector<Scalar> values, const std::vector<Scalar>& weights) {
  const auto alone = shoal::make_sequential();
  const shoal::view_source<Scalar> rows({values.data(), weights.size(), columns});
  const shoal::view_source<Scalar> row_weights({weights.data(), weights.size(), 1});
  return shoal::fold<Scalar>({alone.get(), 0, {}}, {&rows, &row_weights, 1}, shoal::check_monoid{columns},
                             shoal::check_body<Scalar>{true});
}

column_moments moments_of(const check_statistics& value, std::size_t column) {
  return {value.weight, value.mean[column], value.second_moment[column]};
}

// All but the moments.
bool same_facts(const check_statistics& a, const check_statistics& b) {
  return a.rows == b.rows && a.positive_rows == b.positive_rows && a.bad_row == b.bad_row &&
         a.bad_weight == b.bad_weight && a.largest_weight == b.largest_weight && a.fingerprint == b.fingerprint &&
         a.minimum == b.minimum && a.maximum == b.maximum;
}

template <class Scalar>
auto check_structure() {
  const auto same = [](const check_statistics& a, const check_statistics& b) {
    return same_facts(a, b) && a.weight == b.weight && a.mean == b.mean && a.second_moment == b.second_moment;
  };
  const auto close = [](const check_statistics& left, const check_statistics& right,
                        shoal::algebra::operands_of<check_statistics> operands) {
    if (!same_facts(left, right)) return false;
    for (std::size_t j = 0; j < columns; ++j) {
      std::vector<column_moments> parts;
      for (const check_statistics& operand : operands) parts.push_back(moments_of(operand, j));
      if (!statistics_laws::moments_agree(moments_of(left, j), moments_of(right, j), parts)) return false;
    }
    return true;
  };
  return statistics_laws::structure(shoal::check_monoid{columns}, same, close);
}

template <class Scalar>
class EstimationLaws : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(EstimationLaws, scalars);

TYPED_TEST(EstimationLaws, CheckStatisticsAreACommutativeMonoid) {
  const auto structure = check_structure<TypeParam>();
  std::vector<check_statistics> samples{structure.identity()};
  for (const awkward_rows& how : awkward) {
    samples.push_back(check<TypeParam>(clouds<TypeParam>(how.rows, columns, 3, 2, how.offset).values,
                                       std::vector<TypeParam>(how.rows, static_cast<TypeParam>(how.weight))));
  }
  const auto report = shoal::algebra::check_commutative_monoid(structure, samples);
  EXPECT_TRUE(report.passed()) << report.message();
  statistics_laws::expect_reset(structure, samples);
}

TYPED_TEST(EstimationLaws, CheckStatisticsKeepTheFirstBadRowAndWeight) {
  const auto structure = check_structure<TypeParam>();
  const std::vector<TypeParam> ones(40, 1);
  std::vector<check_statistics> samples{structure.identity(),
                                        check<TypeParam>(clouds<TypeParam>(40, columns, 3, 2).values, ones)};
  for (const std::size_t bad : {3, 17}) {
    auto values = clouds<TypeParam>(40, columns, 3, 2).values;
    values[bad * columns] = std::numeric_limits<TypeParam>::quiet_NaN();
    samples.push_back(check<TypeParam>(values, ones));
    auto weights = ones;
    weights[bad] = -1;
    samples.push_back(check<TypeParam>(clouds<TypeParam>(40, columns, 3, 2).values, weights));
  }
  const auto report = shoal::algebra::check_commutative_monoid(structure, samples);
  EXPECT_TRUE(report.passed()) << report.message();
}

TEST(EstimationLaws, CheckStatisticsOfHugeValuesHaveAnIdentity) {
  // Squares of the values overflow; those of their differences do not.
  std::vector<double> values;
  for (std::size_t i = 0; i < 20 * columns; ++i) values.push_back(1e160 + 1e150 * std::sin(static_cast<double>(i)));
  const auto structure = check_structure<double>();
  const std::vector<check_statistics> samples{structure.identity(), check<double>(values, std::vector<double>(20, 1))};
  const auto report = shoal::algebra::check_monoid(structure, samples);
  EXPECT_TRUE(report.passed()) << report.message();
}

TEST(EstimationLaws, TheRaceIsACommutativeMonoid) {
  kmeans_reference::uniform u(3);
  for (const std::size_t places : {0, 1, 5, 50}) {
    const shoal::race_monoid race(places);
    std::vector<std::vector<shoal::runner>> samples{{}};
    std::size_t row = 0;
    for (const std::size_t rows : {1, 4, 5, 6, 90}) {
      for (const double weight : {1.0, 1e-300, 1e300}) {
        samples.emplace_back();
        for (std::size_t i = 0; i < rows; ++i) {
          // A dead heat in each sample.
          race.insert(samples.back(), {i == 2 ? 0.5 / weight : -std::log(u()) / weight, row++});
        }
      }
    }
    const auto report = shoal::algebra::check_commutative_monoid(race, samples);
    EXPECT_TRUE(report.passed()) << places << " places: " << report.message();
    statistics_laws::expect_reset(race, samples);
  }
}

TEST(EstimationLaws, TheRaceKeepsTheFirstRunners) {
  const shoal::race_monoid race(2);
  std::vector<shoal::runner> value;
  for (const shoal::runner& runner : {shoal::runner{3, 0}, {1, 1}, {1, 2}, {2, 3}, {0.5, 4}})
    race.insert(value, runner);
  const auto sorted = race.sorted(value);
  ASSERT_EQ(sorted.size(), 2u);
  EXPECT_EQ(sorted[0].row, 4u);
  EXPECT_EQ(sorted[1].row, 1u);
  EXPECT_TRUE(race.refuses(value, {1, 2}));
  EXPECT_FALSE(race.refuses(value, {1, 0}));
}

}  // namespace
