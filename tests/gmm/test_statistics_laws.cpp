// What mixtures are folded with keeps the laws of folding: statistics, scores, the ranking of the worst rows.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/algebra/instances/top_k.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/statistics.hpp>

#include "../statistics_laws.hpp"
#include "kernel_checks.hpp"
#include "reference.hpp"

namespace {

using shoal::gmm::covariance_type;
using shoal::gmm::score;
using shoal::gmm::statistics;

constexpr std::size_t components = 3, columns = 4;

// Rows of one sample, with what makes them awkward.
struct awkward_rows {
  std::size_t rows;
  double shift;   // from where the model expects them
  double weight;  // of each row; 0: every third row has weight 1 and the others none
};
constexpr awkward_rows awkward[] = {
    {1, 0, 1}, {513, 0, 1}, {700, 3, 1e-30}, {40, 0, 1e30}, {60, 1e6, 1}, {90, 1e12, 1e-3}, {50, 0, 0},
};

template <class Scalar>
struct sample_rows {
  std::vector<Scalar> values;
  std::vector<Scalar> weights;
};

template <class Scalar>
sample_rows<Scalar> draw(const shoal::gmm::model& model, const awkward_rows& how, unsigned seed) {
  sample_rows<Scalar> drawn{reference::random_rows<Scalar>(model, how.rows, columns, seed), {}};
  for (Scalar& value : drawn.values) value += static_cast<Scalar>(how.shift);
  for (std::size_t i = 0; i < how.rows; ++i) {
    drawn.weights.push_back(static_cast<Scalar>(how.weight > 0 ? how.weight : (i % 3 == 0 ? 1 : 0)));
  }
  return drawn;
}

template <class Scalar>
std::vector<statistics> sampled_statistics(covariance_type type) {
  const auto model = reference::random_model(type, components, columns, 1.0, 31);
  const auto ready = shoal::gmm::prepare<Scalar>(model);
  std::vector<statistics> samples{statistics({type, components, columns})};
  unsigned seed = 0;
  for (const awkward_rows& how : awkward) {
    const auto rows = draw<Scalar>(model, how, ++seed);
    samples.push_back(checks::accumulate<Scalar>(ready, {rows.values.data(), how.rows, columns}, rows.weights.data()));
  }
  return samples;
}

template <class Scalar>
class MixtureStatistics : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(MixtureStatistics, scalars);

TYPED_TEST(MixtureStatistics, AreAnAbelianGroup) {
  const auto same = [](const statistics& a, const statistics& b) { return std::ranges::equal(a.values(), b.values()); };
  const auto close = [](const statistics& left, const statistics& right,
                        shoal::algebra::operands_of<statistics> operands) {
    for (std::size_t i = 0; i < left.values().size(); ++i) {
      double magnitude = 0;
      for (const statistics& operand : operands) magnitude += std::abs(operand.values()[i]);
      if (!statistics_laws::sums_agree(left.values()[i], right.values()[i], magnitude)) return false;
    }
    return true;
  };
  for (const covariance_type type : checks::all_types) {
    const shoal::gmm::statistics_group group(shoal::gmm::statistics_layout(type, components, columns));
    const auto structure = statistics_laws::structure(group, same, close);
    const auto samples = sampled_statistics<TypeParam>(type);
    const auto report = shoal::algebra::check_abelian_group(structure, samples);
    EXPECT_TRUE(report.passed()) << checks::name(type) << ": " << report.message();
    statistics_laws::expect_reset(structure, samples);
    if (sizeof(TypeParam) == 4) {
      EXPECT_GT(samples[6].far_rows(), 0) << "no sample holds rows that float32 is too coarse for";
    }
  }
}

TEST(MixtureScores, AreACommutativeMonoid) {
  const auto model = reference::random_model(covariance_type::full, components, columns, 1.0, 31);
  const auto ready = shoal::gmm::prepare<float>(model);
  shoal::gmm::workspace<float> memory;
  std::vector<score> samples{{}};
  unsigned seed = 0;
  for (const awkward_rows& how : awkward) {
    const auto rows = draw<float>(model, how, ++seed);
    samples.emplace_back();
    predict_rows(ready, {{rows.values.data(), how.rows, columns}, rows.weights.data(), 0}, memory, {}, samples.back());
  }
  const auto same = [](const score& a, const score& b) {
    return a.log_likelihood == b.log_likelihood && a.weight == b.weight;
  };
  const auto close = [](const score& left, const score& right, shoal::algebra::operands_of<score> operands) {
    score magnitude;
    for (const score& operand : operands) {
      magnitude.log_likelihood += std::abs(operand.log_likelihood);
      magnitude.weight += std::abs(operand.weight);
    }
    return statistics_laws::sums_agree(left.log_likelihood, right.log_likelihood, magnitude.log_likelihood) &&
           statistics_laws::sums_agree(left.weight, right.weight, magnitude.weight);
  };
  const auto structure = statistics_laws::structure(shoal::gmm::score_monoid{}, same, close);
  const auto report = shoal::algebra::check_commutative_monoid(structure, samples);
  EXPECT_TRUE(report.passed()) << report.message();
  statistics_laws::expect_reset(structure, samples);
}

TEST(WorstRows, AreRankedByACommutativeMonoid) {
  const auto model = reference::random_model(covariance_type::full, components, columns, 1.0, 31);
  const auto ready = shoal::gmm::prepare<float>(model);
  shoal::gmm::workspace<float> memory;
  const shoal::algebra::complete ranking(shoal::algebra::top_k<double>(5));
  std::vector<std::vector<shoal::algebra::located<double>>> samples{{}};
  std::size_t first = 0;
  for (const awkward_rows& how : awkward) {
    const auto rows = draw<float>(model, how, 1);  // the same rows again and again: ties
    std::vector<float> log_density(how.rows);
    score ignored;
    predict_rows(ready, {{rows.values.data(), how.rows, columns}, nullptr, 0}, memory,
                 {nullptr, nullptr, log_density.data()}, ignored);
    samples.emplace_back();
    for (std::size_t i = 0; i < how.rows; ++i) {
      ranking.insert(samples.back(), {-static_cast<double>(log_density[i]), first + i});
    }
    first += how.rows;
  }
  const auto report = shoal::algebra::check_commutative_monoid(ranking, samples);
  EXPECT_TRUE(report.passed()) << report.message();
  statistics_laws::expect_reset(ranking, samples);
}

}  // namespace
