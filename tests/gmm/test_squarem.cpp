// Accelerated fits: the coordinates that models are extrapolated in, the guard, and what it saves.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/coordinates.hpp>
#include <shoal/gmm/model.hpp>

#include "algorithm_data.hpp"

namespace {

using namespace algorithm_data;
using gmm::algorithm;
using gmm::covariance_type;

class Squarem : public testing::TestWithParam<covariance_type> {};
INSTANTIATE_TEST_SUITE_P(Types, Squarem, testing::ValuesIn(fit_data::all_types()));

struct fitted {
  shoal::data_summary summary;
  gmm::model model;
};

fitted some_model(covariance_type type) {
  auto values = fit_data::clusters(3000, 3, 3, 3, 20);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] *= 1e4;  // columns of unlike units
  const shoal::view_source<double> source({values.data(), 3000, 3});
  const auto workers = shoal::make_sequential();
  const auto options = options_for(algorithm::batch, 3, 10, type);
  return {shoal::check_data<double>({workers.get(), 0, {}}, source, nullptr), gmm::fit(source, options).model};
}

TEST_P(Squarem, CoordinatesNameTheirModel) {
  const auto [summary, model] = some_model(GetParam());
  const std::vector<double> point = gmm::coordinates_of(model, summary);
  EXPECT_EQ(static_cast<double>(point.size()), gmm::free_parameters(GetParam(), 3, 3) + 1);  // ln π has one too many
  gmm::model back = model;
  for (auto* part : {&back.weights, &back.means, &back.covariances}) std::fill(part->begin(), part->end(), 0.0);
  gmm::place_at(point, summary, back);
  EXPECT_LT(difference(back, model), 1e-11);
}

TEST_P(Squarem, EveryPointIsAMixture) {
  const auto [summary, model] = some_model(GetParam());
  std::vector<double> point = gmm::coordinates_of(model, summary);
  fit_data::uniform u(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> far = point;
    for (double& coordinate : far) coordinate += 6 * (u() - 0.5);
    gmm::model placed = model;
    gmm::place_at(far, summary, placed);
    EXPECT_NO_THROW(gmm::validate_model(placed));
  }
}

TEST_P(Squarem, CoordinatesDoNotDependOnUnits) {
  if (GetParam() == covariance_type::spherical) return;  // one variance for all columns has no other units
  const auto values = fit_data::clusters(2000, 2, 2, 3);
  auto scaled = values;
  for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i] = i % 2 == 0 ? 1024 * scaled[i] - 5 : scaled[i] / 32 + 7;
  const auto workers = shoal::make_sequential();
  auto options = options_for(algorithm::batch, 2, 5, GetParam());
  const auto point_of = [&](const std::vector<double>& rows) {
    const shoal::view_source<double> source({rows.data(), 2000, 2});
    return gmm::coordinates_of(gmm::fit(source, options).model,
                               shoal::check_data<double>({workers.get(), 0, {}}, source, nullptr));
  };
  const std::vector<double> points[2] = {point_of(values), point_of(scaled)};
  ASSERT_EQ(points[0].size(), points[1].size());
  for (std::size_t i = 0; i < points[0].size(); ++i) EXPECT_NEAR(points[0][i], points[1][i], 1e-6);
}

TEST_P(Squarem, ReachesWhatBatchReachesInFarFewerPasses) {
  const auto values = fit_data::clusters(6000, 2, 3, 1.5);
  auto options = options_for(algorithm::batch, 3, 20000, GetParam());
  options.tolerance = 1e-9;
  const auto batch = fit_data::fit<double>(values, 2, options);
  options.acceleration = gmm::acceleration::squarem;
  const auto accelerated = fit_data::fit<double>(values, 2, options);
  ASSERT_TRUE(batch.converged);
  ASSERT_TRUE(accelerated.converged);
  EXPECT_GE(accelerated.mean_log_likelihood, batch.mean_log_likelihood - 1e-5);
  EXPECT_LT(2 * accelerated.iterations, batch.iterations);
  EXPECT_EQ(accelerated.reseeded, 0u);
}

TEST_P(Squarem, TheFirstTwoPassesAreThoseOfBatchAndNoModelThatIsKeptIsWorse) {
  const auto values = fit_data::clusters(4000, 2, 3, 2);
  auto options = options_for(algorithm::batch, 3, 2, GetParam());
  const auto batch = fit_data::fit<double>(values, 2, options);
  options.acceleration = gmm::acceleration::squarem;
  EXPECT_TRUE(same_bits(fit_data::fit<double>(values, 2, options).model, batch.model));
  double before = batch.mean_log_likelihood;
  for (std::size_t passes = 3; passes < 40; ++passes) {
    options.max_iterations = passes;
    const double reached = fit_data::fit<double>(values, 2, options).mean_log_likelihood;
    EXPECT_GE(reached, before - 1e-12) << passes;
    before = reached;
  }
}

}  // namespace
