// Accelerated fits: the coordinates that models are extrapolated in, the guard, and what it saves.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/check_model.hpp>
#include <shoal/gmm/coordinates.hpp>
#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/sample.hpp>
#include <shoal/gmm/squarem_rule.hpp>

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

TEST(SquaremCoordinates, AreThoseOfOneThread) {
  gmm::generator_options options;
  options.components = 12;
  options.columns = 30;
  const gmm::model model = gmm::generate_model(options);
  shoal::data_summary summary;
  summary.columns = 30;
  summary.mean.assign(30, 1.5);
  summary.variance.assign(30, 7.0);
  const auto workers = shoal::make_threads(3);
  const std::vector<double> point = gmm::coordinates_of(model, summary);
  EXPECT_EQ(gmm::coordinates_of(model, summary, workers.get()), point);
  gmm::model alone = model, shared = model;
  gmm::place_at(point, summary, alone);
  gmm::place_at(point, summary, shared, workers.get());
  EXPECT_TRUE(same_bits(shared, alone));
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

// Ready to leap, where the last two iterations gained so much.
gmm::squarem_course before_leap(double gain_before, double gain) {
  gmm::squarem_course course;
  course.follow(0, false);
  course.follow(gain_before, true);
  course.follow(gain_before + gain, true);
  EXPECT_EQ(course.phase, gmm::squarem_phase::leap);
  return course;
}

TEST(SquaremRule, LeapsWhereBatchIsSlowAndGainsShrinkAsTheyShould) {
  EXPECT_EQ(before_leap(1, 0.75).step_length(64, 1), 4);  // its bound, not 8
  EXPECT_EQ(before_leap(1, 0.75).step_length(25, 1), 0);
  EXPECT_EQ(before_leap(1, 0.96).step_length(64, 1), 4);
  EXPECT_EQ(before_leap(1, 0.97).step_length(64, 1), 0);  // above 1.1 (1 − 1/8)
  EXPECT_EQ(before_leap(1, 1.05).step_length(10'000, 1), 4);
  EXPECT_EQ(before_leap(1, 1.2).step_length(10'000, 1), 0);
}

TEST(SquaremRule, DoesNotLeapBeforeItKnowsTwoGains) {
  gmm::squarem_course course;
  course.follow(0, true);
  course.follow(1, true);
  EXPECT_EQ(course.step_length(64, 1), 0);
  EXPECT_EQ(course.phase, gmm::squarem_phase::base);
}

TEST(SquaremRule, TrustsLeapsThatWereKept) {
  gmm::squarem_course course = before_leap(1, 0.75);
  course.step_length(64, 1);
  EXPECT_TRUE(course.judge(1.75));
  EXPECT_EQ(course.longest, 8);
  EXPECT_TRUE(std::isinf(course.follow(1.75, true)));
  course.follow(1.8, true);
  EXPECT_EQ(course.step_length(1.9, 1), 0);
  EXPECT_EQ(course.phase, gmm::squarem_phase::base);
  course.follow(1.9, true);
  course.follow(2.2, true);
  EXPECT_EQ(course.step_length(9, 1), 3);
  EXPECT_FALSE(course.judge(2.1));
  EXPECT_EQ(course.objective, 2.2);
  EXPECT_EQ(course.longest, 4);
  course.follow(2.3, true);
  course.follow(2.35, true);
  EXPECT_EQ(course.step_length(9, 1), 0);
}

// Unit Gaussians whose means are N(0, spread²).
template <class Scalar>
std::vector<Scalar> unit_gaussians(double spread, std::uint64_t seed) {
  gmm::generator_options options;
  options.components = 6;
  options.columns = 4;
  options.mean_scale = spread * spread;
  options.covariance_type = covariance_type::spherical;
  options.seed = seed;
  gmm::model model = gmm::generate_model(options);
  std::fill(model.weights.begin(), model.weights.end(), 1.0 / 6);
  std::fill(model.covariances.begin(), model.covariances.end(), 1.0);
  std::vector<Scalar> rows(std::size_t{4} * 3000);
  gmm::sample(model, seed, 0, shoal::matrix_view<Scalar>(rows.data(), 3000, 4), nullptr);
  return rows;
}

// Passes until a model explains the rows so well.
std::size_t passes_to(const std::vector<double>& history, double enough) {
  return static_cast<std::size_t>(std::find_if(history.begin(), history.end(), [&](double l) { return l >= enough; }) -
                                  history.begin());
}

// Passes of all starts to come within 1e-4 of batch's end.
struct compared {
  std::size_t batch = 0;
  std::size_t own = 0;
  std::size_t starts_with_more = 0;
};

template <class Scalar>
compared compare_with_batch(double spread, gmm::initialization init) {
  compared sums;
  for (std::uint64_t start = 0; start < 25; ++start) {
    const std::vector<Scalar> rows = unit_gaussians<Scalar>(spread, start);
    const shoal::view_source<Scalar> source({rows.data(), 3000, 4});
    auto options = options_for(algorithm::batch, 6, 3000);
    options.init = init;
    options.regularization = 1e-6;
    options.tolerance = 1e-8;
    options.seed = start;
    const auto batch = gmm::fit(source, options);
    options.acceleration = gmm::acceleration::squarem;
    const auto own = gmm::fit(source, options);
    const double enough = batch.mean_log_likelihood - 1e-4;
    const std::size_t expected = passes_to(batch.history, enough), got = passes_to(own.history, enough);
    sums.batch += expected;
    sums.own += got;
    if (got > expected) ++sums.starts_with_more;
  }
  return sums;
}

// A leap that does not pay costs a pass; none is tried where it is not likely to pay.
TEST(SquaremPasses, AreNotMoreThanThoseOfBatchWhereComponentsLieApart) {
  for (const double spread : {3.0, 5.0, 10.0}) {
    for (const auto init : {gmm::initialization::plus_plus, gmm::initialization::kmeans}) {
      for (const compared& sums : {compare_with_batch<float>(spread, init), compare_with_batch<double>(spread, init)}) {
        EXPECT_LE(sums.own, sums.batch) << spread;
        EXPECT_EQ(sums.starts_with_more, 0u) << spread;
      }
    }
  }
}

TEST(SquaremPasses, AreAThirdOfThoseOfBatchWhereComponentsOverlap) {
  const compared sums = compare_with_batch<float>(1.3, gmm::initialization::plus_plus);
  EXPECT_LT(3 * sums.own, sums.batch);
}

}  // namespace
