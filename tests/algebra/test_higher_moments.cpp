// Moments of order three and four: against two passes, against published formulas, and as a monoid.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>

#include "property.hpp"

namespace {

using namespace shoal::algebra;

// Two passes in long double.
higher_moments_value two_pass(const std::vector<double>& x, const std::vector<double>& weights) {
  long double weight = 0, sum = 0, powers[5] = {};
  for (std::size_t i = 0; i < x.size(); ++i) weight += weights[i], sum += static_cast<long double>(weights[i]) * x[i];
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (int p = 2; p <= 4; ++p) powers[p] += weights[i] * std::pow(x[i] - sum / weight, p);
  }
  return {static_cast<double>(weight), static_cast<double>(sum / weight), static_cast<double>(powers[2]),
          static_cast<double>(powers[3]), static_cast<double>(powers[4])};
}

TEST(HigherMoments, AgreeWithTwoPassesFarFromTheOriginToo) {
  for (const double offset : {0.0, 1e3, 1e6}) {
    for (const std::size_t count : {1, 2, 3, 100, 1025, 20000}) {
      std::vector<double> x(count), weights(count);
      std::vector<higher_moments_value> parts(count);
      for (std::size_t i = 0; i < count; ++i) {
        const double tail = static_cast<double>(i * 7919 % 1009) / 1009;
        x[i] = offset + std::exp(2 * tail);
        weights[i] = 0.5 + static_cast<double>(i % 3);
        parts[i] = higher_moments::of(x[i], weights[i]);
      }
      const auto expected = two_pass(x, weights);
      const auto got = reduce(higher_moments{}, parts);
      const double allowed = 1e-12 + 4e-15 * offset;
      EXPECT_DOUBLE_EQ(got.weight, expected.weight);
      EXPECT_NEAR(got.mean, expected.mean, 1e-14 * (1 + offset));
      EXPECT_NEAR(got.squares, expected.squares, allowed * (1 + expected.squares));
      EXPECT_NEAR(got.cubes, expected.cubes, allowed * (1 + 3 * expected.squares + expected.fourths));
      EXPECT_NEAR(got.fourths, expected.fourths, allowed * (1 + 4 * expected.fourths));
    }
  }
}

TEST(HigherMoments, HaveTheValuesOfSmallExamples) {
  std::vector<higher_moments_value> parts;
  for (const double x : {2.0, 3.0, 7.0, 8.0, 10.0}) parts.push_back(higher_moments::of(x));
  const auto all = reduce(higher_moments{}, parts);
  // Mean 6; deviations −4, −3, 1, 2, 4.
  EXPECT_EQ(all.weight, 5);
  EXPECT_DOUBLE_EQ(all.mean, 6);
  EXPECT_DOUBLE_EQ(all.squares, 46);
  EXPECT_DOUBLE_EQ(all.cubes, -18);
  EXPECT_DOUBLE_EQ(all.fourths, 610);
  EXPECT_DOUBLE_EQ(all.skewness(), -3.6 / std::pow(9.2, 1.5));
  EXPECT_DOUBLE_EQ(all.excess_kurtosis(), 122 / (9.2 * 9.2) - 3);
  // One coin throw: kurtosis has its least value, −2.
  const auto coin = combine(higher_moments{}, higher_moments::of(0, 3), higher_moments::of(1, 3));
  EXPECT_DOUBLE_EQ(coin.excess_kurtosis(), -2);
  EXPECT_EQ(coin.skewness(), 0);
  EXPECT_TRUE(std::isnan(higher_moments::of(5).skewness()));
  EXPECT_TRUE(std::isnan(higher_moments{}.identity().excess_kurtosis()));
  EXPECT_EQ(combine(higher_moments{}, higher_moments::of(5, 0), higher_moments::of(7, 0)).weight, 0);
  EXPECT_EQ(combine(higher_moments{}, higher_moments::of(4), higher_moments::of(4)), higher_moments::of(4, 2));
}

TEST(HigherMoments, AreACommutativeMonoid) {
  expect_property("higher moments", [] {
    const auto numbers = *rc::gen::container<std::vector<int>>(4, rc::gen::inRange(-1000, 1000));
    const double offset = *rc::gen::element(0.0, 0.1, 1e4, 1e9);
    std::vector<higher_moments_value> samples{higher_moments{}.identity()};
    for (const int number : numbers) {
      samples.push_back(
          combine(higher_moments{}, higher_moments::of(number * 0.37 + offset, 1.5),
                  combine(higher_moments{}, higher_moments::of(offset, 2), higher_moments::of(offset + 1))));
    }
    const law_report report = check_commutative_monoid(higher_moments{}, samples);
    if (!report.passed()) RC_FAIL(report.message());
  });
}

// The bound is one: a term of the formulas left out does not pass.
TEST(HigherMoments, OfAWrongFormulaAreFoundOut) {
  struct forgetful : higher_moments {
    void combine_into(higher_moments_value& into, const higher_moments_value& from) const {
      const double shift = from.mean - into.mean, share = from.weight / (into.weight + from.weight);
      const double lost = 4 * shift * ((1 - share) * from.cubes - share * into.cubes);
      higher_moments::combine_into(into, from);
      if (std::isfinite(lost)) into.fourths -= lost;
    }
  };
  std::vector<higher_moments_value> samples;
  for (const double x : {0.0, 1.0, 5.0, 6.5}) samples.push_back(higher_moments::of(x, 1 + x));
  EXPECT_TRUE(check_semigroup(forgetful{}, samples).failed("associativity"));
}

}  // namespace
