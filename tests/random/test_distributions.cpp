// Gamma, chi-squared, Dirichlet, categorical and Wishart draws against their distributions.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/random/categorical.hpp>
#include <shoal/random/dirichlet.hpp>
#include <shoal/random/gamma.hpp>
#include <shoal/random/wishart.hpp>

#include "statistics.hpp"

namespace {

using namespace shoal::random;
using namespace shoal::testing;

template <class Draw>
std::vector<double> repeat(std::size_t count, std::uint64_t seed, Draw draw) {
  stream bits(seed, 0);
  std::vector<double> values(count);
  for (double& value : values) value = draw(bits);
  return values;
}

TEST(Gamma, HasTheMomentsAndTheDistributionForShapesOnBothSidesOfOne) {
  for (const double shape : {0.1, 0.5, 0.999, 1.0, 1.5, 2.0, 10.0, 300.0}) {
    SCOPED_TRACE(shape);
    const auto values = repeat(100000, 1, [&](stream& bits) { return gamma(bits, shape); });
    const auto cdf = [&](double x) { return gamma_p(shape, x); };
    EXPECT_LT(moments_deviation(values, shape, std::sqrt(shape), 2 / std::sqrt(shape), 3 + 6 / shape), 5);
    EXPECT_GT(ks_test(values, cdf), least_p_value);
    EXPECT_GT(equal_cells_test(values, cdf, 200), least_p_value);
    // Negative control: a shape wrong by 3 %.
    const double wrong = shape * 1.03;
    EXPECT_LT(ks_test(values, [&](double x) { return gamma_p(wrong, x); }), 1e-4);
  }
}

TEST(Gamma, TheLogarithmIsThatOfTheVariateAndFiniteForTinyShapes) {
  for (const double shape : {0.3, 4.0}) {
    stream a(2, 3), b(2, 3);
    for (int i = 0; i < 100; ++i) EXPECT_NEAR(std::exp(log_gamma_variate(a, shape)) / gamma(b, shape), 1, 1e-12);
  }
  // −shape·ln(variate) tends to an exponential of mean one.
  const auto logarithms = repeat(100000, 4, [](stream& bits) { return -1e-5 * log_gamma_variate(bits, 1e-5); });
  EXPECT_GT(ks_test(logarithms, [](double x) { return x < 0 ? 0 : -std::expm1(-x); }), least_p_value);
}

TEST(ChiSquared, HasTheMomentsAndTheDistribution) {
  for (const double degrees : {1.0, 2.0, 3.5, 40.0}) {
    SCOPED_TRACE(degrees);
    const auto values = repeat(100000, 6, [&](stream& bits) { return chi_squared(bits, degrees); });
    EXPECT_LT(moments_deviation(values, degrees, std::sqrt(2 * degrees), std::sqrt(8 / degrees), 3 + 12 / degrees), 5);
    EXPECT_GT(ks_test(values, [&](double x) { return gamma_p(degrees / 2, x / 2); }), least_p_value);
  }
}

TEST(Gamma, RefusesWhatIsNotAShape) {
  stream bits(0, 0);
  for (const double shape : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(gamma(bits, shape), shoal::bad_argument);
    EXPECT_THROW(log_gamma_variate(bits, shape), shoal::bad_argument);
    EXPECT_THROW(chi_squared(bits, shape), shoal::bad_argument);
  }
}

TEST(Dirichlet, HasTheMeansVariancesAndCovariances) {
  const std::vector<double> alpha{0.5, 1, 2.5, 6};
  const double total = 10;
  std::vector<std::vector<double>> columns(alpha.size());
  stream bits(7, 0);
  for (int i = 0; i < 100000; ++i) {
    const auto draw = dirichlet(bits, alpha);
    double sum = 0;
    for (std::size_t j = 0; j < alpha.size(); ++j) {
      columns[j].push_back(draw[j]);
      sum += draw[j];
    }
    ASSERT_NEAR(sum, 1, 1e-15);
  }
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    const double mean = alpha[j] / total;
    EXPECT_LT(std::abs(mean_deviation(columns[j], mean, [](double x) { return x; })), 5);
    EXPECT_LT(std::abs(mean_deviation(columns[j], mean * (1 - mean) / (total + 1),
                                      [&](double x) { return (x - mean) * (x - mean); })),
              5);
    std::vector<double> products(columns[j].size());
    const std::size_t next = (j + 1) % alpha.size();
    for (std::size_t i = 0; i < products.size(); ++i)
      products[i] = (columns[j][i] - mean) * (columns[next][i] - alpha[next] / total);
    EXPECT_LT(std::abs(mean_deviation(products, -mean * alpha[next] / total / (total + 1), [](double x) { return x; })),
              5);
  }
}

// Two concentrations of one make a uniform; (1, 2) a beta with distribution function 1 − (1 − x)².
TEST(Dirichlet, HasTheMarginalDistribution) {
  const std::vector<double> ones{1, 1}, beta{1, 2};
  const auto uniform = repeat(50000, 8, [&](stream& bits) { return dirichlet(bits, ones)[0]; });
  EXPECT_GT(ks_test(uniform, [](double x) { return x; }), least_p_value);
  const auto skewed = repeat(50000, 8, [&](stream& bits) { return dirichlet(bits, beta)[0]; });
  EXPECT_GT(ks_test(skewed, [](double x) { return 1 - (1 - x) * (1 - x); }), least_p_value);
  EXPECT_LT(ks_test(skewed, [](double x) { return x; }), 1e-6);
}

TEST(Dirichlet, TinyConcentrationsPutNearlyAllOnOneElement) {
  const std::vector<double> alpha(5, 1e-6);
  std::vector<std::size_t> winners(5);
  stream bits(9, 0);
  for (int i = 0; i < 10000; ++i) {
    const auto draw = dirichlet(bits, alpha);
    const auto greatest = std::max_element(draw.begin(), draw.end()) - draw.begin();
    ASSERT_GT(draw[greatest], 0.5);
    ++winners[greatest];
  }
  EXPECT_GT(chi_squared_test(winners, std::vector<double>(5, 0.2)), least_p_value);
}

TEST(Dirichlet, RefusesWhatIsNotAConcentration) {
  stream bits(0, 0);
  EXPECT_THROW(dirichlet(bits, {}), shoal::bad_argument);
  for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_THROW(dirichlet(bits, std::vector<double>{1, wrong}), shoal::bad_argument);
}

TEST(Categorical, DrawsInProportionToTheWeights) {
  for (const std::size_t size : {1, 2, 7, 100, 1009}) {
    SCOPED_TRACE(size);
    std::vector<double> weights(size);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += weights[i] = 1 + static_cast<double>(i * i % 13);
    const categorical index(weights);
    std::vector<std::size_t> counts(size);
    stream bits(10, size);
    for (int i = 0; i < 200000; ++i) ++counts[index(bits)];
    std::vector<double> probabilities(weights);
    for (double& p : probabilities) p /= sum;
    if (size > 1) {
      EXPECT_GT(chi_squared_test(counts, probabilities), least_p_value);
      EXPECT_LT(chi_squared_test(counts, std::vector<double>(size, 1.0 / static_cast<double>(size))), 1e-6);
    }
  }
}

// Against the definition, at uniforms on, just below and just above every boundary.
TEST(Categorical, InvertsTheCumulativeSums) {
  const std::vector<double> weights{0, 2, 0, 1, 1, 0, 4, 0};  // cumulative 0 2 2 3 4 4 8 8
  const categorical index(weights);
  for (int i = 1; i < 8000; ++i) {
    const double uniform = i / 8000.0;
    const std::size_t expected = uniform < 0.25 ? 1 : uniform < 0.375 ? 3 : uniform < 0.5 ? 4 : 6;
    ASSERT_EQ(index.at(uniform), expected) << uniform;
  }
  EXPECT_EQ(index.at(0x1p-53), 1u);
  EXPECT_EQ(index.at(1 - 0x1p-53), 6u);
  EXPECT_EQ(index.at(std::nextafter(0.25, 0)), 1u);
  EXPECT_EQ(index.at(std::nextafter(0.25, 1)), 3u);
}

TEST(Categorical, SurvivesTinyAndHugeWeights) {
  const std::vector<double> weights{1e-300, 1e300, 1e-300};
  const categorical index(weights);
  stream bits(1, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(index(bits), 1u);
  // Sums that rounding could pass: the last index of positive weight is never passed.
  const categorical tenths(std::vector<double>{0.1, 0.2, 0.3, 0.0});
  EXPECT_EQ(tenths.at(1 - 0x1p-53), 2u);
}

TEST(Categorical, RefusesWhatAreNotWeights) {
  using weights = std::vector<double>;
  for (const weights& wrong : {weights{}, weights{0, 0}, weights{1, -1}, weights{1, std::nan("")}, weights{HUGE_VAL},
                               weights{1.7e308, 1.7e308}})
    EXPECT_THROW(categorical{wrong}, shoal::bad_argument);
}

// E[W] = n·I; Var[W_ij] = n (1 + [i = j]); W_ii ~ χ²(n).
TEST(Wishart, HasTheMeanTheVariancesAndTheMarginals) {
  constexpr std::size_t d = 4;
  for (const double n : {3.2, 4.0, 11.5}) {
    SCOPED_TRACE(n);
    std::vector<std::vector<double>> elements(d * d);
    std::vector<double> determinants;
    stream bits(11, 0);
    for (int draw = 0; draw < 40000; ++draw) {
      const auto matrix = wishart(bits, d, n);
      for (std::size_t i = 0; i < d * d; ++i) elements[i].push_back(matrix[i]);
    }
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) {
        const double mean = i == j ? n : 0;
        const auto& values = elements[i * d + j];
        EXPECT_EQ(values, elements[j * d + i]);
        EXPECT_LT(std::abs(mean_deviation(values, mean, [](double x) { return x; })), 5) << i << j;
        EXPECT_LT(
            std::abs(mean_deviation(values, i == j ? 2 * n : n, [&](double x) { return (x - mean) * (x - mean); })), 5)
            << i << j;
        if (i == j) {
          EXPECT_GT(ks_test(values, [&](double x) { return gamma_p(n / 2, x / 2); }), least_p_value) << i;
          EXPECT_LT(ks_test(values, [&](double x) { return gamma_p(n / 2 * 1.03, x / 2); }), 1e-2) << i;
        }
      }
  }
}

// ln det W = Σ ln χ²(n − i): the factor's diagonal squared has those marginals, and the strict lower triangle is
// normal.
TEST(Wishart, TheFactorHasBartlettsMarginals) {
  constexpr std::size_t d = 3;
  const double n = 2.5;
  std::vector<std::vector<double>> elements(d * d);
  stream bits(12, 0);
  for (int draw = 0; draw < 40000; ++draw) {
    const auto factor = wishart_factor(bits, d, n);
    for (std::size_t i = 0; i < d * d; ++i) elements[i].push_back(factor[i]);
  }
  for (std::size_t i = 0; i < d; ++i) {
    const double degrees = n - static_cast<double>(i);
    EXPECT_GT(ks_test(elements[i * d + i], [&](double x) { return gamma_p(degrees / 2, x * x / 2); }), least_p_value);
    // Negative control: the reading L_ii ~ χ² without the root.
    EXPECT_LT(ks_test(elements[i * d + i], [&](double x) { return gamma_p(degrees / 2, x / 2); }), 1e-6);
    for (std::size_t j = 0; j < d; ++j) {
      if (j < i) {
        EXPECT_GT(ks_test(elements[i * d + j], normal_cdf), least_p_value);
      } else if (j > i) {
        EXPECT_EQ(elements[i * d + j], std::vector<double>(40000, 0.0));
      }
    }
  }
}

// n = 6 whole degrees: the sum of six outer products of normal vectors, by the trace, which is χ²(n·d).
TEST(Wishart, TheTraceIsChiSquared) {
  const auto traces = repeat(40000, 13, [](stream& bits) {
    const auto matrix = wishart(bits, 2, 6);
    return matrix[0] + matrix[3];
  });
  EXPECT_GT(ks_test(traces, [](double x) { return gamma_p(6, x / 2); }), least_p_value);
}

TEST(Wishart, RefusesTooFewDegreesOfFreedom) {
  stream bits(0, 0);
  EXPECT_THROW(wishart_factor(bits, 0, 1), shoal::bad_argument);
  for (const double wrong : {2.0, 1.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_THROW(wishart_factor(bits, 3, wrong), shoal::bad_argument);
  EXPECT_NO_THROW(wishart_factor(bits, 3, 2.001));
  EXPECT_NO_THROW(wishart_factor(bits, 1, 0.001));
}

}  // namespace
