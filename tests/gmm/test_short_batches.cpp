// Stepwise EM takes a step by what its rows weigh: a short batch must not move the model like a whole one.
#include <cmath>

#include <gtest/gtest.h>

#include <shoal/estimation/batches_seen.hpp>
#include <shoal/estimation/step_for.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/update.hpp>
#include <shoal/io/io.hpp>

#include "../shared_data.hpp"
#include "algorithm_data.hpp"

namespace {

using namespace fit_data;
namespace gmm = shoal::gmm;
using gmm::algorithm;

TEST(StepFor, IsInProportionAndAtMostOne) {
  EXPECT_EQ(shoal::step_for(0.3, 512, 512), 0.3);
  EXPECT_DOUBLE_EQ(shoal::step_for(0.6, 1, 1000), 0.0006);
  EXPECT_DOUBLE_EQ(shoal::step_for(0.4, 3, 2), 0.6);
  EXPECT_EQ(shoal::step_for(0.6, 1000, 10), 1);
  EXPECT_EQ(shoal::step_for(1, 1, 1), 1);
}

// With steps of one over the number of batches, the share of each batch's rows in all.
TEST(BatchesSeen, WeighAllRowsAlikeWhereStepsAreMeans) {
  shoal::batches_seen seen;
  for (const double weight : {1000.0, 1.0, 40.0, 5000.0}) {
    const double before = seen.weight, step = seen.next_step(1 / static_cast<double>(seen.count + 1), weight);
    EXPECT_NEAR(step, weight / (before + weight), 1e-15);
    seen.take(weight);
  }
  EXPECT_EQ(seen.count, 4u);
  EXPECT_EQ(seen.weight, 6041);
  EXPECT_THROW((shoal::batches_seen{1, -2}.next_step(1, 1)), shoal::bad_argument);
}

gmm::options near_batch(std::size_t components) {
  gmm::options options;
  options.components = components;
  options.threads = 2;
  return options;
}

// 272 rows are cut into 256 and 16.
TEST(ShortBatches, OldFaithfulEndsNearItsOptimum) {
  SHOAL_NEEDS_DATA();
  const auto opened = shoal::open_rows<double>(shared_data::folder() / "faithful.csv");
  auto options = near_batch(2);
  options.algorithm = algorithm::stepwise;
  for (options.seed = 0; options.seed < 6; ++options.seed) {
    EXPECT_NEAR(gmm::fit(*opened.rows, options).mean_log_likelihood, -4.15538, 2e-3) << options.seed;
  }
}

// 257 rows are cut into 256 and one, whichever comes first.
TEST(ShortBatches, LeaveTheOptimumWhereItIs) {
  for (const gmm::covariance_type type : all_types()) {
    const auto values = clusters(257, 2, 2, 4);
    auto options = near_batch(2);
    options.covariance_type = type;
    options.tolerance = 1e-9;
    options.max_iterations = 1000;
    const auto optimum = fit<double>(values, 2, options);
    options.init = gmm::initialization::model;
    options.start = optimum.model;
    options.algorithm = algorithm::stepwise;
    options.tolerance = 0;
    options.max_iterations = 10;
    for (options.seed = 0; options.seed < 4; ++options.seed) {
      EXPECT_GT(fit<double>(values, 2, options).mean_log_likelihood, optimum.mean_log_likelihood - 2e-3);
      EXPECT_GT(fit<float>(values, 2, options).mean_log_likelihood, optimum.mean_log_likelihood - 2e-3);
    }
  }
}

// Many rows of little weight are a short batch too.
TEST(ShortBatches, CountWeightsAndNotRows) {
  auto values = clusters(512, 2, 1, 0);
  for (std::size_t i = 512; i < values.size(); ++i) values[i] += 50;  // rows 256 to 511 are elsewhere
  std::vector<double> weights(512, 1.0);
  std::fill(weights.begin() + 256, weights.end(), 1e-3);
  auto options = near_batch(1);
  options.algorithm = algorithm::stepwise;
  options.max_iterations = 200;
  options.tolerance = 0;
  const gmm::model stepwise = fit<double>(values, 2, options, &weights).model;
  options.algorithm = algorithm::batch;
  const gmm::model batch = fit<double>(values, 2, options, &weights).model;
  EXPECT_NEAR(stepwise.means[0], batch.means[0], 0.05);
  EXPECT_NEAR(batch.means[0], 50e-3 / 1.001, 0.1);
}

template <class Scalar>
double after_a_batch_of_one_row(gmm::model model, const std::vector<double>& values, std::size_t first_rows) {
  const auto rows = as<Scalar>(values);
  const std::size_t count = rows.size() / 2;
  shoal::batches_seen seen{1, static_cast<double>(first_rows)};
  gmm::update_options options;
  options.step_size = std::pow(2.0, -0.6);
  const shoal::view_source<Scalar> last({rows.data() + 2 * first_rows, count - first_rows, 2});
  gmm::update(model, last, options, nullptr, {}, &seen);
  EXPECT_EQ(seen.weight, static_cast<double>(count));
  return gmm::predict(model, shoal::view_source<Scalar>({rows.data(), count, 2}), {});
}

TEST(ShortBatches, UpdateGoesByWhatWasSeen) {
  const auto values = clusters(1001, 2, 2, 4);
  auto options = near_batch(2);
  const std::vector<double> first(values.begin(), values.begin() + 2000);
  const gmm::model model = fit<double>(first, 2, options).model;
  const double whole = fit<double>(values, 2, options).mean_log_likelihood;
  EXPECT_GT(after_a_batch_of_one_row<double>(model, values, 1000), whole - 2e-3);
  EXPECT_GT(after_a_batch_of_one_row<float>(model, values, 1000), whole - 2e-3);
}

}  // namespace
