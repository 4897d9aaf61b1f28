// Stepwise EM: one whole step is an iteration of EM, a smaller one mixes statistics, and what is wrong is refused.
#include <limits>

#include <gtest/gtest.h>

#include <shoal/gmm/update.hpp>
#include "fit_data.hpp"

namespace {

using namespace fit_data;
namespace gmm = shoal::gmm;

constexpr std::size_t rows = 600, columns = 3, components = 2;
constexpr double regularization = 1e-3;

gmm::options one_iteration(gmm::covariance_type type, std::uint64_t seed = 0) {
  gmm::options options;
  options.components = components;
  options.covariance_type = type;
  options.init = gmm::initialization::random_responsibilities;
  options.regularization = regularization;
  options.max_iterations = 1;
  options.tolerance = 0;
  options.seed = seed;
  options.threads = 2;
  return options;
}

gmm::model start_of(const std::vector<double>& values, gmm::covariance_type type, std::uint64_t seed = 0) {
  gmm::options options = one_iteration(type, seed);
  options.max_iterations = 0;
  return fit<double>(values, columns, options).model;
}

template <class Scalar>
double update(gmm::model& model, const std::vector<double>& values, double step_size,
              const std::vector<double>* weights = nullptr, std::size_t threads = 2) {
  const auto scalars = as<Scalar>(values);
  const shoal::view_source<Scalar> source({scalars.data(), scalars.size() / columns, columns});
  const gmm::update_options options{step_size, regularization, threads, 0, {}};
  if (weights == nullptr) return gmm::update(model, source, options);
  const auto held = as<Scalar>(*weights);
  const shoal::view_source<Scalar> weight_source({held.data(), held.size(), 1});
  return gmm::update(model, source, options, &weight_source);
}

void expect_near(const gmm::model& a, const gmm::model& b, double tolerance) {
  const auto near = [&](const std::vector<double>& x, const std::vector<double>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << i;
  };
  near(a.weights, b.weights);
  near(a.means, b.means);
  near(a.covariances, b.covariances);
}

class Update : public testing::TestWithParam<gmm::covariance_type> {};

TEST_P(Update, AWholeStepIsAnIterationOfEm) {
  const auto values = clusters(rows, columns, components, 5, 100);
  std::vector<double> weights;
  for (std::size_t i = 0; i < rows; ++i) weights.push_back(0.5 + static_cast<double>(i % 3));
  for (const auto* given : {static_cast<std::vector<double>*>(nullptr), &weights}) {
    gmm::options options = one_iteration(GetParam());
    options.init = gmm::initialization::model;
    options.start = start_of(values, GetParam());
    const auto fitted = fit<double>(values, columns, options, given);
    gmm::model model = options.start;
    EXPECT_NEAR(update<double>(model, values, 1, given), fitted.history[0], 1e-12 * std::abs(fitted.history[0]));
    expect_near(model, fitted.model, 1e-11);
    gmm::model single = options.start;
    update<float>(single, values, 1, given);
    expect_near(single, fitted.model, 1e-4);
  }
}

// Half a step on some rows and half on others is, to first order in the change of the model, one step on all: exactly
// so when the model that gives the responsibilities is the same for both, as it is for one component.
TEST_P(Update, StepsOfOneComponentAverageTheRows) {
  const auto values = clusters(rows, columns, 1, 0, 10);
  const std::vector<double> first(values.begin(), values.begin() + 200 * columns);
  const std::vector<double> second(values.begin() + 200 * columns, values.end());
  gmm::options options = one_iteration(GetParam());
  options.components = 1;
  const gmm::model all = fit<double>(values, columns, options).model;
  options.max_iterations = 0;
  gmm::model model = fit<double>(first, columns, options).model;
  update<double>(model, first, 1);
  update<double>(model, second, 400.0 / 600.0);
  expect_near(model, all, 1e-10);
}

TEST_P(Update, ThreadsDoNotChangeABit) {
  const auto values = clusters(20'000, columns, components, 4);
  gmm::model one = start_of(values, GetParam()), three = one;
  update<float>(one, values, 0.3, nullptr, 1);
  update<float>(three, values, 0.3, nullptr, 3);
  EXPECT_EQ(one.means, three.means);
  EXPECT_EQ(one.covariances, three.covariances);
}

INSTANTIATE_TEST_SUITE_P(Types, Update, testing::ValuesIn(all_types()));

TEST(Update, RefusesWhatItCannotUse) {
  const auto values = clusters(rows, columns, components, 4);
  const gmm::model model = start_of(values, gmm::covariance_type::full);
  for (const double step : {0.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    gmm::model copy = model;
    EXPECT_NE(message_of([&] { update<double>(copy, values, step); }).find("step size"), std::string::npos);
  }
  auto holed = values;
  holed[4] = std::numeric_limits<double>::quiet_NaN();
  gmm::model copy = model;
  EXPECT_NE(message_of([&] { update<double>(copy, holed, 0.5); }).find("row 1, column 1"), std::string::npos);
  EXPECT_EQ(copy.means, model.means);
  copy.columns = 2;
  EXPECT_THROW(update<double>(copy, values, 0.5), shoal::bad_argument);
}

// A fit that goes on from a model stops where one long fit stops, when it knows what came before.
TEST(Fit, StopsByWhatCameBeforeItsStart) {
  const auto values = clusters(rows, columns, components, 3);
  gmm::options options = one_iteration(gmm::covariance_type::full, 3);
  options.tolerance = 1e-5;
  options.max_iterations = 500;
  const auto whole = fit<double>(values, columns, options);
  ASSERT_TRUE(whole.converged);
  options.max_iterations = 1;
  auto part = fit<double>(values, columns, options);
  std::size_t iterations = 1;
  while (!part.converged && iterations < 500) {
    options.init = gmm::initialization::model;
    options.start = part.model;
    options.previous_log_likelihood = part.history.back();
    part = fit<double>(values, columns, options);
    ++iterations;
  }
  EXPECT_EQ(iterations, whole.iterations);
  EXPECT_EQ(part.model.means, whole.model.means);
}

}  // namespace
