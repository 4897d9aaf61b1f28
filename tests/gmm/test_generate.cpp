// Generated mixtures: the distributions of their weights, means and covariances, and what a seed fixes.
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/core/error.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/sample.hpp>

#include "tests/random/statistics.hpp"

namespace {

using namespace shoal::testing;
using shoal::gmm::covariance_type;
using shoal::gmm::generate_model;
using shoal::gmm::generator_options;
using shoal::gmm::weight_distribution;

generator_options large() {
  generator_options options;
  options.components = 20000;
  options.columns = 3;
  options.seed = 17;
  return options;
}

std::vector<double> every(const std::vector<double>& values, std::size_t first, std::size_t step) {
  std::vector<double> result;
  for (std::size_t i = first; i < values.size(); i += step) result.push_back(values[i]);
  return result;
}

TEST(Generate, HasTheSizesThatTheTypeAsksFor) {
  generator_options options;
  options.components = 4;
  options.columns = 3;
  const std::size_t sizes[] = {4 * 9, 9, 4 * 3, 4};
  for (const auto type :
       {covariance_type::full, covariance_type::tied, covariance_type::diag, covariance_type::spherical}) {
    options.covariance_type = type;
    const auto model = generate_model(options);
    EXPECT_EQ(model.covariance_type, type);
    EXPECT_EQ(model.components, 4u);
    EXPECT_EQ(model.columns, 3u);
    EXPECT_EQ(model.weights.size(), 4u);
    EXPECT_EQ(model.means.size(), 12u);
    EXPECT_EQ(model.covariances.size(), sizes[static_cast<int>(type)]);
    EXPECT_NEAR(std::accumulate(model.weights.begin(), model.weights.end(), 0.0), 1, 1e-15);
    EXPECT_NO_THROW({
      std::vector<double> rows(30);
      sample(model, 0, 0, shoal::matrix_view<double>(rows.data(), 10, 3), nullptr);
    });
  }
}

TEST(Generate, MeansAreNormalOfTheVarianceAsked) {
  auto options = large();
  for (const double scale : {1.0, 4.0, 100.0}) {
    options.mean_scale = scale;
    const auto means = generate_model(options).means;
    const auto cdf = [&](double x) { return normal_cdf(x / std::sqrt(scale)); };
    EXPECT_GT(ks_test(means, cdf), least_p_value);
    EXPECT_LT(moments_deviation(means, 0, std::sqrt(scale), 0, 3), 5);
    // Negative control: the scale taken for a deviation.
    if (scale > 1) {
      EXPECT_LT(ks_test(means, [&](double x) { return normal_cdf(x / scale); }), 1e-6);
    }
    EXPECT_LT(std::abs(correlation(every(means, 0, 3), every(means, 1, 3))), 5 / std::sqrt(20000.0));
  }
  options.mean_scale = 0;
  for (const double value : generate_model(options).means) EXPECT_EQ(value, 0);
}

TEST(Generate, WeightsAreNormalisedUniforms) {
  const auto weights = generate_model(large()).weights;
  const double greatest = *std::max_element(weights.begin(), weights.end());
  // The greatest of 20,000 uniforms is one to 1e-3, so that the weights over it are uniform again.
  std::vector<double> uniforms(weights);
  for (double& value : uniforms) value /= greatest;
  EXPECT_GT(ks_test(uniforms, [](double x) { return x; }), least_p_value);
}

// Of many components, K·π is nearly a gamma of shape alpha and mean one.
TEST(Generate, WeightsAreDirichletWhenAsked) {
  auto options = large();
  options.weights = weight_distribution::dirichlet;
  for (const double alpha : {0.5, 1.0, 7.0}) {
    options.dirichlet_alpha = alpha;
    auto weights = generate_model(options).weights;
    for (double& weight : weights) weight *= alpha * static_cast<double>(options.components);
    EXPECT_GT(ks_test(weights, [&](double x) { return gamma_p(alpha, x); }), least_p_value);
    EXPECT_LT(ks_test(weights, [&](double x) { return gamma_p(alpha * 1.1, x); }), 1e-4);
  }
}

TEST(Generate, CovariancesAreWishart) {
  auto options = large();
  for (const double degrees : {2.5, 8.0})
    for (const bool divide : {false, true}) {
      options.wishart_degrees = degrees;
      options.divide_by_degrees = divide;
      auto values = generate_model(options).covariances;
      if (divide)
        for (double& value : values) value *= degrees;
      for (const std::size_t diagonal : {0, 4, 8})
        EXPECT_GT(ks_test(every(values, diagonal, 9), [&](double x) { return gamma_p(degrees / 2, x / 2); }),
                  least_p_value);
      for (const std::size_t element : {1, 2, 5}) {
        const auto off = every(values, element, 9);
        EXPECT_LT(std::abs(mean_deviation(off, 0, [](double x) { return x; })), 5);
        EXPECT_LT(std::abs(mean_deviation(off, degrees, [](double x) { return x * x; })), 5);
      }
    }
}

TEST(Generate, TheDefaultDegreesAreTheColumnsAndTwo) {
  auto options = large();
  const auto standard = generate_model(options).covariances;
  options.wishart_degrees = 5;
  EXPECT_EQ(standard, generate_model(options).covariances);
}

TEST(Generate, VariancesOfTheOtherTypesAreChiSquared) {
  auto options = large();
  options.wishart_degrees = 6;
  for (const auto type : {covariance_type::diag, covariance_type::spherical}) {
    options.covariance_type = type;
    EXPECT_GT(ks_test(generate_model(options).covariances, [](double x) { return gamma_p(3, x / 2); }), least_p_value);
  }
}

TEST(Generate, ComponentsDoNotDependOnHowManyThereAre) {
  auto options = large();
  options.components = 3;
  const auto few = generate_model(options);
  options.components = 8;
  const auto many = generate_model(options);
  EXPECT_TRUE(std::equal(few.means.begin(), few.means.end(), many.means.begin()));
  EXPECT_TRUE(std::equal(few.covariances.begin(), few.covariances.end(), many.covariances.begin()));
  options.seed = 18;
  const auto other = generate_model(options);
  EXPECT_NE(other.weights, many.weights);
  EXPECT_NE(other.means, many.means);
  EXPECT_NE(other.covariances, many.covariances);
}

TEST(Generate, TheRowsDoNotRepeatTheModelsDraws) {
  generator_options options;
  options.columns = 1;
  options.mean_scale = 1;
  const auto model = generate_model(options);
  double row = 0;
  sample(model, options.seed, 0, shoal::matrix_view<double>(&row, 1, 1), nullptr);
  EXPECT_NE((row - model.means[0]) / std::sqrt(model.covariances[0]), model.means[0]);
}

TEST(Generate, HardShapesStillSample) {
  generator_options options;
  options.components = 5;
  options.columns = 64;
  options.wishart_degrees = 63.5;  // barely more than d − 1: badly conditioned, yet positive definite
  const auto model = generate_model(options);
  std::vector<float> rows(100 * 64);
  EXPECT_NO_THROW(sample(model, 1, 0, shoal::matrix_view<float>(rows.data(), 100, 64), nullptr));
  for (const float value : rows) ASSERT_TRUE(std::isfinite(value));
}

TEST(Generate, RefusesBadOptionsByName) {
  const auto message = [](auto change) -> std::string {
    generator_options options;
    change(options);
    try {
      generate_model(options);
    } catch (const shoal::bad_argument& failure) {
      return failure.what();
    }
    return "";
  };
  using options = generator_options;
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(message([](options& o) { o.components = 0; }), "components is 0"));
  EXPECT_TRUE(has(message([](options& o) { o.columns = 0; }), "columns is 0"));
  EXPECT_TRUE(has(message([](options& o) { o.mean_scale = -1; }), "mean_scale is -1"));
  EXPECT_TRUE(has(message([](options& o) { o.mean_scale = std::nan(""); }), "mean_scale is nan"));
  EXPECT_TRUE(has(message([](options& o) { o.wishart_degrees = 1; }), "wishart_degrees is 1; for 2 columns"));
  EXPECT_TRUE(has(message([](options& o) { o.wishart_degrees = HUGE_VAL; }), "wishart_degrees is inf"));
  EXPECT_TRUE(has(message([](options& o) {
                    o.weights = weight_distribution::dirichlet;
                    o.dirichlet_alpha = 0;
                  }),
                  "dirichlet_alpha is 0"));
  EXPECT_EQ(message([](options& o) { o.dirichlet_alpha = 0; }), "");  // not used by uniform weights
}

}  // namespace
