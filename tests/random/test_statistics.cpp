// The goodness-of-fit helpers against values worked out elsewhere, so that the sampler tests rest on something.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "statistics.hpp"

namespace {

using namespace shoal::testing;

TEST(Statistics, IncompleteGammaMatchesClosedForms) {
  for (const double x : {0.01, 0.5, 1.0, 1.9, 2.1, 5.0, 30.0}) {
    EXPECT_NEAR(gamma_p(1, x), 1 - std::exp(-x), 1e-14);
    EXPECT_NEAR(gamma_p(0.5, x), std::erf(std::sqrt(x)), 1e-14);
    EXPECT_NEAR(gamma_p(3, x), 1 - std::exp(-x) * (1 + x + x * x / 2), 1e-14);
  }
}

// The 5 % points of printed tables.
TEST(Statistics, ChiSquaredMatchesTheTables) {
  EXPECT_NEAR(chi_squared_p_value(3.841, 1), 0.05, 1e-4);
  EXPECT_NEAR(chi_squared_p_value(18.307, 10), 0.05, 1e-5);
  EXPECT_NEAR(chi_squared_p_value(124.342, 100), 0.05, 1e-5);
}

TEST(Statistics, KolmogorovSmirnovMatchesTheTables) {
  EXPECT_NEAR(ks_p_value(1.3581 / std::sqrt(1e8), 100000000), 0.05, 1e-4);
  EXPECT_NEAR(ks_p_value(1.6276 / std::sqrt(1e8), 100000000), 0.01, 1e-4);
  EXPECT_NEAR(ks_p_value(0.29408, 20), 0.05, 2e-3);  // the exact 5 % point for twenty draws
}

TEST(Statistics, KolmogorovSmirnovDistanceIsTakenOnBothSidesOfEachStep) {
  const auto uniform = [](double x) { return x; };
  EXPECT_DOUBLE_EQ(ks_test({0.9}, uniform), ks_p_value(0.9, 1));
  EXPECT_DOUBLE_EQ(ks_test({0.1}, uniform), ks_p_value(0.9, 1));
}

TEST(Statistics, PearsonCountsByHand) {
  // 8 and 12 against 10 and 10: statistic 0.8, one degree of freedom.
  const std::vector<std::size_t> counts{8, 12};
  const std::vector<double> halves{0.5, 0.5};
  EXPECT_NEAR(chi_squared_test(counts, halves), std::erfc(std::sqrt(0.4)), 1e-14);
}

}  // namespace
