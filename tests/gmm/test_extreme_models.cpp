// Models at the ends of float64's range: what is computed under them is a number, or they are refused; never silence.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/gmm/statistics.hpp>

namespace {

namespace gmm = shoal::gmm;

constexpr double means[] = {0, 1e20, -1e37, 1e100, 1e149, 1e160, 1e308};
constexpr double variances[] = {5e-324, 1e-320, 1e-300, 1e-100, 1e-60, 1e-50, 1e-20, 1, 1e60, 1e300, 1e308};

// Two components; the first has the mean and the variance in question in column 0.
gmm::model extreme(gmm::covariance_type type, double mean, double variance) {
  using enum gmm::covariance_type;
  gmm::model made;
  made.covariance_type = type;
  made.components = made.columns = 2;
  made.weights = {0.25, 0.75};
  made.means = {mean, 1, -1, 0.5};
  const double other = type == spherical ? variance : 1;
  const std::vector<double> diagonal = {variance, other};
  switch (type) {
    case full:
      made.covariances = {variance, 0, 0, other, 1, 0.5, 0.5, 1};
      break;
    case tied:
      made.covariances = {variance, 0, 0, other};
      break;
    case diag:
      made.covariances = {variance, other, 1, 2};
      break;
    case spherical:
      made.covariances = {variance, 1};
      break;
  }
  return made;
}

template <class Scalar>
class ExtremeModels : public testing::Test {
 protected:
  // Calls work(rows, model, name) for every model and some rows; counts what was refused.
  template <class Work>
  void for_each(const Work& work) {
    std::vector<std::vector<Scalar>> tables = {{0, 0, 1, 1, -2, 3}, {0, 0, 1e30F, -1e30F, 5, 1}};
    if constexpr (sizeof(Scalar) == 8) tables.push_back({0, 0, 1e140, 1e100, 1e-200, 1});
    if constexpr (sizeof(Scalar) == 8) tables.push_back({0, 0, 1e308, -1e308, 1e-308, 1});
    using enum gmm::covariance_type;
    for (const auto type : {full, tied, diag, spherical}) {
      for (const double mean : means) {
        for (const double variance : variances) {
          for (const auto& table : tables) {
            const shoal::view_source<Scalar> rows({table.data(), 3, 2});
            const std::string name = fmt::format("type {}, mean {:g}, variance {:g}, rows to {:g}",
                                                 static_cast<int>(type), mean, variance, table[2]);
            try {
              work(rows, extreme(type, mean, variance), name);
              ++computed_;
            } catch (const shoal::error& refused) {
              EXPECT_GT(std::string(refused.what()).size(), 30u);
              ++refused_;
            }
          }
        }
      }
    }
    EXPECT_GT(computed_, 0u);
    EXPECT_GT(refused_, 0u);
  }

  std::size_t computed_ = 0, refused_ = 0;
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ExtremeModels, scalars);

TYPED_TEST(ExtremeModels, PredictNumbersOrAreRefused) {
  this->for_each([](const auto& rows, const gmm::model& model, const std::string& name) {
    std::vector<std::int32_t> labels(3, -1);
    std::vector<TypeParam> probabilities(6), log_density(3);
    const double mean = gmm::predict(
        model, rows, gmm::prediction<TypeParam>{labels.data(), probabilities.data(), log_density.data()}, 1);
    EXPECT_TRUE(std::isfinite(mean)) << name;
    for (std::size_t i = 0; i < 3; ++i) {
      // A finite logarithm may be beyond float32's range.
      EXPECT_TRUE(!std::isnan(log_density[i]) && log_density[i] < 1e30) << name << ": " << log_density[i];
      EXPECT_TRUE(sizeof(TypeParam) == 4 || std::isfinite(log_density[i])) << name << ": " << log_density[i];
      EXPECT_NEAR(probabilities[2 * i] + probabilities[2 * i + 1], 1, 1e-6) << name;
      EXPECT_TRUE(labels[i] == 0 || labels[i] == 1) << name;
    }
  });
}

TYPED_TEST(ExtremeModels, SumUpNumbersOrAreRefused) {
  this->for_each([](const auto& rows, const gmm::model& model, const std::string& name) {
    shoal::accumulate_options options;
    options.threads = 1;
    const gmm::statistics sums = gmm::accumulate(model, rows, options).sums();
    for (const double value : sums.values()) {
      EXPECT_TRUE(std::isfinite(value)) << name;
    }
  });
}

TYPED_TEST(ExtremeModels, StartFitsOfNumbersOrAreRefused) {
  this->for_each([](const auto& rows, const gmm::model& model, const std::string& name) {
    gmm::options options;
    options.components = 2;
    options.covariance_type = model.covariance_type;
    options.init = gmm::initialization::model;
    options.start = model;
    options.max_iterations = 2;
    options.threads = 1;
    const gmm::fit_result result = gmm::fit(rows, options);
    EXPECT_TRUE(std::isfinite(result.mean_log_likelihood)) << name;
    for (const auto* part : {&result.model.weights, &result.model.means, &result.model.covariances}) {
      for (const double value : *part) EXPECT_TRUE(std::isfinite(value)) << name;
    }
  });
}

}  // namespace
