// What maps are folded with keeps the laws of folding.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/som/accumulate.hpp>
#include <shoal/som/quality_fold.hpp>
#include <shoal/som/statistics.hpp>

#include "../statistics_laws.hpp"
#include "som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::table;

// Rows of one sample, with what makes them awkward.
struct awkward_rows {
  std::size_t rows;
  double offset;
  double weight;  // of each row; 0: every third row has weight 1 and the others none
};
constexpr awkward_rows awkward[] = {{1, 0, 1}, {1025, 0, 1}, {700, 2, 1e-30}, {60, 0, 1e30}, {90, 1e6, 1}, {50, 0, 0}};

// Calls visit(rows) for the rows of each sample.
template <class Scalar, class Visit>
void for_each_sample(std::size_t columns, const Visit& visit) {
  for (const awkward_rows& how : awkward) {
    const table<Scalar> rows = som_reference::clouds<Scalar>(how.rows, columns, how.offset);
    std::vector<Scalar> weights;
    for (std::size_t i = 0; i < how.rows; ++i) {
      weights.push_back(static_cast<Scalar>(how.weight > 0 ? how.weight : (i % 3 == 0 ? 1 : 0)));
    }
    const shoal::view_source<Scalar> source(rows.view());
    const shoal::view_source<Scalar> weight_source({weights.data(), how.rows, 1});
    visit(shoal::weighted_rows<Scalar>{&source, &weight_source, 1});
  }
}

// Whether every element of left and right agrees for sums of the operands.
template <class Value, class Elements>
bool all_agree(const Value& left, const Value& right, shoal::algebra::operands_of<Value> operands,
               const Elements& elements) {
  const std::vector<double> a = elements(left), b = elements(right);
  std::vector<double> magnitudes(a.size());
  for (const Value& operand : operands) {
    const std::vector<double> each = elements(operand);
    for (std::size_t i = 0; i < each.size(); ++i) magnitudes[i] += std::abs(each[i]);
  }
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i) all = statistics_laws::sums_agree(a[i], b[i], magnitudes[i]);
  return all;
}

template <class Monoid, class Elements>
void expect_monoid(const Monoid& monoid, const std::vector<typename Monoid::value_type>& samples,
                   const Elements& elements) {
  using value = typename Monoid::value_type;
  const auto structure = statistics_laws::structure(
      monoid, [&](const value& a, const value& b) { return elements(a) == elements(b); },
      [&](const value& left, const value& right, shoal::algebra::operands_of<value> operands) {
        return all_agree<value>(left, right, operands, elements);
      });
  const auto report = shoal::algebra::check_commutative_monoid(structure, samples);
  EXPECT_TRUE(report.passed()) << report.message();
  statistics_laws::expect_reset(structure, samples);
}

template <class Scalar>
class SomLaws : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(SomLaws, scalars);

TYPED_TEST(SomLaws, StatisticsAndQualityAreCommutativeMonoids) {
  const auto alone = shoal::make_sequential();
  const shoal::fold_context context{alone.get(), 0, {}};
  constexpr std::size_t columns = 3;
  const som::model map = som_reference::random_map(4, 3, columns, som::lattice::rectangular, false);
  som::codebook_index<TypeParam> index;
  index.set(map.metric, map.codebook, map.units(), columns);
  const std::vector<double> centre{1, 2, 3};

  const som::statistics_monoid sums{map.units(), columns};
  const som::quality_monoid qualities{map.units()};
  std::vector<som::statistics> sum_samples{sums.identity()};
  std::vector<som::quality_statistics> quality_samples{qualities.identity()};
  for_each_sample<TypeParam>(columns, [&](const shoal::weighted_rows<TypeParam>& data) {
    sum_samples.push_back(
        shoal::fold<TypeParam>(context, data, sums, som::accumulate_body<TypeParam>{&index, centre.data()}));
    quality_samples.push_back(
        shoal::fold<TypeParam>(context, data, qualities, som::quality_body<TypeParam>{&index, som::shape_of(map)}));
    EXPECT_GT(sum_samples.back().error, 0);
  });
  expect_monoid(sums, sum_samples, [](const som::statistics& value) {
    std::vector<double> all = value.weights;
    all.insert(all.end(), value.sums.begin(), value.sums.end());
    all.push_back(value.error);
    return all;
  });
  expect_monoid(qualities, quality_samples, [](const som::quality_statistics& value) {
    std::vector<double> all = value.hits;
    all.push_back(value.error);
    all.push_back(value.torn);
    return all;
  });
}

}  // namespace
