// Whole fits on a GPU, against those on the CPU.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/fit_loop.hpp>
#include <shoal/gmm/first_model.hpp>

#include "../fit_data.hpp"
#include "checks.hpp"

namespace {

using device_checks::on_devices;
using device_checks::problem;
using fit_data::all_types;
using shoal::step_record;
using shoal::gmm::covariance_type;
using shoal::gmm::initialization;

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

// Means within `tolerance` of the spread of the data, the rest relative to its largest element.
void expect_close(const shoal::gmm::model& got, const shoal::gmm::model& expected, double spread, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.means.size(), expected.means.size());
  ASSERT_EQ(got.covariances.size(), expected.covariances.size());
  for (std::size_t i = 0; i < got.weights.size(); ++i)
    ASSERT_NEAR(got.weights[i], expected.weights[i], tolerance) << what << ", weight " << i;
  for (std::size_t i = 0; i < got.means.size(); ++i)
    ASSERT_NEAR(got.means[i], expected.means[i], tolerance * spread) << what << ", mean " << i;
  const double scale = largest(expected.covariances);
  for (std::size_t i = 0; i < got.covariances.size(); ++i)
    ASSERT_NEAR(got.covariances[i], expected.covariances[i], tolerance * scale) << what << ", covariance " << i;
}

void expect_same(const shoal::gmm::model& got, const shoal::gmm::model& expected, const std::string& what) {
  EXPECT_EQ(got.weights, expected.weights) << what;
  EXPECT_EQ(got.means, expected.means) << what;
  EXPECT_EQ(got.covariances, expected.covariances) << what;
}

// Exactly `count` steps.
std::vector<double> run(shoal::gmm::mixture_stepper& fit, std::size_t count) {
  std::vector<double> objectives;
  while (objectives.size() < count) {
    for (const step_record& step : fit.advance(count - objectives.size())) objectives.push_back(step.objective);
  }
  return objectives;
}

std::function<bool(std::span<const step_record>)> stop_rule(double tolerance) {
  return [tolerance](std::span<const step_record> done) {
    if (done.size() < 2 || tolerance == 0) return false;
    return std::abs(done.back().objective - done[done.size() - 2].objective) < tolerance;
  };
}

shoal::loop_result run_to_the_end(shoal::gmm::mixture_stepper& fit, double tolerance, std::size_t most) {
  shoal::loop_options loop;
  loop.phase = "gmm";
  loop.max_iterations = most;
  loop.stop = stop_rule(tolerance);
  return run_fit(fit, loop, {});
}

template <class Scalar>
inline constexpr double fit_tolerance = sizeof(Scalar) == 4 ? 2e-4 : 1e-8;

struct shape {
  std::size_t rows, columns, components;
};

template <class Scalar>
void compare_steps(covariance_type type, const shape& s, bool weighted, std::size_t steps) {
  const std::string what = fmt::format("{} {} {}x{} K={}{}", device_checks::name<Scalar>(), checks::name(type), s.rows,
                                       s.columns, s.components, weighted ? " weighted" : "");
  problem<Scalar> of(fit_data::as<Scalar>(fit_data::clusters(s.rows, s.columns, s.components, 4.0)), s.columns,
                     weighted ? device_checks::some_weights<Scalar>(s.rows) : std::vector<Scalar>());
  of.options.components = s.components;
  of.options.covariance_type = type;
  of.options.init = initialization::plus_plus;
  of.options.tolerance = 0;
  of.options.regularization = 1e-3;
  const auto cpu = of.on_cpu();
  on_devices<Scalar> devices(of);
  const auto gpu = devices.stepper();
  cpu->seed(0);
  gpu->seed(0);
  const std::vector<double> expected = run(*cpu, steps);
  const std::vector<double> got = run(*gpu, steps);
  for (std::size_t i = 0; i < steps; ++i)
    ASSERT_NEAR(got[i], expected[i], fit_tolerance<Scalar> * (1 + std::abs(expected[i]))) << what << ", step " << i;
  const double spread = 4.0 * static_cast<double>(s.components);
  expect_close(gpu->current(), cpu->current(), spread, fit_tolerance<Scalar>, what);
  const double cpu_score = cpu->score();
  EXPECT_NEAR(gpu->score(), cpu_score, fit_tolerance<Scalar> * (1 + std::abs(cpu_score))) << what;
  EXPECT_EQ(gpu->reseeded(), cpu->reseeded()) << what;
}

TEST(DeviceFit, FollowsTheCpu) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    for (const shape& s :
         {shape{1000, 1, 2}, shape{4099, 2, 3}, shape{2000, 8, 10}, shape{900, 17, 3}, shape{700, 33, 2},
          shape{1500, 64, 2}, shape{3000, 40, 20}, shape{1100, 3, 65}, shape{600, 130, 1}, shape{500, 180, 1}}) {
      for (const bool weighted : {false, true}) {
        compare_steps<float>(type, s, weighted, 5);
        compare_steps<double>(type, s, weighted, 5);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Matrices are eliminated 16 columns at a time, in one block up to some 160 columns, and in tiles of 64 beyond.
TEST(DeviceFit, FollowsTheCpuWhereverPanelsEnd) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    for (const std::size_t columns :
         {9, 15, 16, 31, 32, 47, 49, 63, 65, 80, 97, 112, 127, 129, 144, 163, 166, 167, 193}) {
      compare_steps<float>(type, {4 * columns + 300, columns, 2}, false, 3);
      compare_steps<double>(type, {4 * columns + 300, columns, 2}, false, 3);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DeviceFit, TakesEveryInitialization) {
  SHOAL_NEEDS_DEVICES(1);
  for (const initialization init : {initialization::kmeans, initialization::parallel, initialization::random_rows,
                                    initialization::random_responsibilities, initialization::kmeans_of_tenth}) {
    problem<float> of(fit_data::as<float>(fit_data::clusters(3000, 3, 4, 6.0)), 3);
    of.options.components = 4;
    of.options.init = init;
    const auto cpu = of.on_cpu();
    on_devices<float> devices(of);
    const auto gpu = devices.stepper();
    const auto expected = run_to_the_end(*cpu, of.options.tolerance, 50);
    const auto got = run_to_the_end(*gpu, of.options.tolerance, 50);
    EXPECT_NEAR(got.score, expected.score, 1e-4);
    EXPECT_EQ(got.iterations, expected.iterations) << static_cast<int>(init);
  }
}

// The GPU ends its steps where the loop's rule would, however many it was asked for.
TEST(DeviceFit, StopsWhereTheCpuDoes) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    for (const double tolerance : {1e-2, 1e-3, 1e-5}) {
      problem<double> of(fit_data::clusters(2000, 3, 4, 2.5), 3);
      of.options.components = 4;
      of.options.covariance_type = type;
      of.options.init = initialization::plus_plus;
      of.options.tolerance = tolerance;
      const auto cpu = of.on_cpu();
      on_devices<double> devices(of);
      const auto gpu = devices.stepper();
      const auto expected = run_to_the_end(*cpu, tolerance, 300);
      const auto got = run_to_the_end(*gpu, tolerance, 300);
      EXPECT_EQ(got.iterations, expected.iterations) << checks::name(type) << " " << tolerance;
      EXPECT_EQ(got.converged, expected.converged);
      expect_close(gpu->current(), cpu->current(), 10, 1e-8, checks::name(type));
    }
  }
}

// float32 rows at offset 10⁶ with unit spread give the model of the same values in float64.
TEST(DeviceFit, KeepsItsDigitsFarFromTheOrigin) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    const auto narrow = fit_data::as<float>(fit_data::clusters(5000, 3, 2, 8.0, 1e6));
    problem<float> of(narrow, 3);
    problem<double> wide({narrow.begin(), narrow.end()}, 3);
    of.options.components = wide.options.components = 2;
    of.options.covariance_type = wide.options.covariance_type = type;
    of.options.init = wide.options.init = initialization::plus_plus;
    const auto cpu = wide.on_cpu();
    on_devices<float> devices(of);
    const auto gpu = devices.stepper();
    cpu->seed(0);
    gpu->restore(cpu->save());
    run(*cpu, 10);
    run(*gpu, 10);
    expect_close(gpu->current(), cpu->current(), 1.0, 1e-3, checks::name(type));
  }
}

template <class Scalar>
void check_streamed(std::size_t count) {
  for (const covariance_type type : all_types()) {
    const std::size_t rows = 5 * 4096 + 77, columns = 5;
    problem<Scalar> of(fit_data::as<Scalar>(fit_data::clusters(rows, columns, 3, 5.0)), columns);
    of.options.components = 3;
    of.options.covariance_type = type;
    of.options.init = initialization::plus_plus;
    of.options.tolerance = 0;
    on_devices<Scalar> resident(of, 0, count), again(of, 0, count);
    on_devices<Scalar> streamed(of, 2 * 4096 * columns * sizeof(Scalar), count);
    ASSERT_TRUE(resident.rows().resident());
    ASSERT_FALSE(streamed.rows().resident());
    const auto first = resident.stepper(), second = again.stepper(), third = streamed.stepper();
    for (auto* one : {first.get(), second.get(), third.get()}) {
      one->seed(0);
      run(*one, 21);
    }
    expect_same(second->current(), first->current(), "again");
    expect_same(third->current(), first->current(), "streamed");
    EXPECT_EQ(third->score(), first->score());
  }
}

TEST(DeviceFit, GivesTheSameBitsStreamedAndAgain) {
  SHOAL_NEEDS_DEVICES(1);
  check_streamed<float>(1);
  check_streamed<double>(1);
}

// Streamed rows are merged by a launch of their own, resident ones where the step ends.
template <class Scalar>
void check_small_steps(const shape& s) {
  const std::string what = fmt::format("{} {}x{} K={}", device_checks::name<Scalar>(), s.rows, s.columns, s.components);
  problem<Scalar> of(fit_data::as<Scalar>(fit_data::clusters(s.rows, s.columns, s.components, 3.0)), s.columns);
  of.options.components = s.components;
  of.options.init = initialization::random_rows;
  of.options.tolerance = 0;
  on_devices<Scalar> resident(of), streamed(of, 2 * 4096 * s.columns * sizeof(Scalar));
  ASSERT_FALSE(streamed.rows().resident()) << what;
  const auto first = resident.stepper(), second = streamed.stepper();
  first->seed(0);
  second->seed(0);
  EXPECT_EQ(run(*first, 12), run(*second, 12)) << what;
  expect_same(first->current(), second->current(), what);
}

TEST(DeviceFit, EndsAStepInOneLaunchWithTheBitsOfTwo) {
  SHOAL_NEEDS_DEVICES(1);
  for (const shape& s : {shape{9000, 1, 1}, shape{9000, 3, 2}, shape{9000, 4, 7}, shape{9000, 5, 8}, shape{9000, 8, 9},
                         shape{9000, 7, 16}, shape{200'000, 8, 8}}) {
    check_small_steps<float>(s);
    check_small_steps<double>(s);
  }
}

TEST(DeviceFit, RunsOnTwoDevices) {
  SHOAL_NEEDS_DEVICES(2);
  check_streamed<float>(2);
  problem<float> of(fit_data::as<float>(fit_data::clusters(20000, 4, 3, 5.0)), 4);
  of.options.components = 3;
  of.options.init = initialization::plus_plus;
  on_devices<float> one(of), two(of, 0, 2);
  const auto first = one.stepper(), second = two.stepper();
  first->seed(0);
  second->seed(0);
  run(*first, 10);
  run(*second, 10);
  expect_close(second->current(), first->current(), 10, 1e-5, "two devices");
}

TEST(DeviceFit, GoesOnFromWhatItSaved) {
  SHOAL_NEEDS_DEVICES(1);
  problem<float> of(fit_data::as<float>(fit_data::clusters(3000, 4, 3, 3.0)), 4);
  of.options.components = 3;
  of.options.init = initialization::plus_plus;
  of.options.tolerance = 0;
  on_devices<float> devices(of);
  const auto whole = devices.stepper(), first = devices.stepper(), second = devices.stepper();
  whole->seed(0);
  run(*whole, 12);
  first->seed(0);
  run(*first, 5);
  second->restore(first->save());
  expect_same(second->current(), first->current(), "restored");
  run(*second, 7);
  expect_same(second->current(), whole->current(), "resumed");
  // The state means the same to the CPU.
  const auto cpu = of.on_cpu();
  cpu->restore(first->save());
  expect_same(cpu->current(), first->current(), "restored on the CPU");
  EXPECT_THROW(second->restore(std::vector<double>(3)), shoal::bad_data);
}

// A component that no row belongs to starts anew at the row that fits worst, as on the CPU.
TEST(DeviceFit, FillsAnEmptyComponent) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    auto values = fit_data::clusters(3000, 2, 2, 10.0);
    values[2 * 1234] = 60;
    problem<double> of(values, 2);
    of.options.components = 3;
    of.options.covariance_type = type;
    of.options.init = initialization::model;
    of.options.tolerance = 0;
    of.options.start = shoal::gmm::pooled_model(type, {0, 0, 10, 10, -1e8, 1e8}, of.summary(), 1e-6);
    const auto cpu = of.on_cpu();
    on_devices<double> devices(of);
    const auto gpu = devices.stepper();
    cpu->seed(0);
    gpu->seed(0);
    run(*cpu, 1);
    run(*gpu, 1);
    EXPECT_EQ(cpu->reseeded(), 1u);
    EXPECT_EQ(gpu->reseeded(), 1u) << checks::name(type);
    expect_close(gpu->current(), cpu->current(), 10, 1e-9, checks::name(type));
    run(*cpu, 4);
    run(*gpu, 4);
    EXPECT_EQ(gpu->reseeded(), cpu->reseeded());
    expect_close(gpu->current(), cpu->current(), 10, 1e-7, checks::name(type));
  }
}

TEST(DeviceFit, StopsOnRequest) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t memory : {std::size_t{0}, std::size_t{2 * 4096 * 2 * sizeof(float)}}) {
    problem<float> of(fit_data::as<float>(fit_data::clusters(20000, 2, 2, 3.0)), 2);
    of.options.components = 2;
    of.options.init = initialization::plus_plus;
    of.options.tolerance = 0;
    on_devices<float> devices(of, memory);
    const auto gpu = devices.stepper();
    gpu->seed(0);
    run(*gpu, 3);
    const auto before = gpu->save();
    of.stop.request_stop();
    EXPECT_THROW(gpu->advance(10), shoal::interrupted);
    EXPECT_EQ(gpu->save(), before);
  }
}

// Two columns that are the same, without regularization: the message names the component, and the model is the one
// that the last step reported.
TEST(DeviceFit, NamesACollapsedComponent) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    std::vector<double> values;
    for (const double value : fit_data::clusters(500, 1, 1, 0.0)) {
      values.push_back(value);
      values.push_back(value);
    }
    problem<double> of(values, 2);
    of.options.components = 1;
    of.options.covariance_type = type;
    of.options.init = initialization::model;
    of.options.tolerance = 0;
    of.options.regularization = 0;
    of.options.start = shoal::gmm::pooled_model(type, {0, 0}, of.summary(), 1.0);
    const auto cpu = of.on_cpu();
    on_devices<double> devices(of);
    const auto gpu = devices.stepper();
    cpu->seed(0);
    gpu->seed(0);
    const auto to_the_end = [](shoal::gmm::mixture_stepper& fit) {
      return fit_data::message_of([&] { run(fit, 10); });
    };
    const std::string expected = to_the_end(*cpu);
    EXPECT_NE(expected.find("ill-defined empirical covariance"), std::string::npos) << expected;
    EXPECT_EQ(to_the_end(*gpu), expected);
    EXPECT_EQ(fit_data::message_of([&] { gpu->score(); }), expected);
    expect_close(gpu->current(), cpu->current(), 1, 1e-12, checks::name(type));
    gpu->seed(0);
    EXPECT_EQ(run(*gpu, 1).size(), 1u);
  }
}

TEST(DeviceFit, RefusesMeansBeyondTheScalar) {
  SHOAL_NEEDS_DEVICES(1);
  problem<float> of(fit_data::as<float>(fit_data::clusters(100, 2, 1, 0.0)), 2);
  of.options.components = 2;
  of.options.init = initialization::model;
  of.options.start = shoal::gmm::pooled_model(covariance_type::diag, {0, 0, 1, 1e39}, of.summary(), 1.0);
  of.options.covariance_type = covariance_type::diag;
  const auto cpu = of.on_cpu();
  on_devices<float> devices(of);
  const auto gpu = devices.stepper();
  cpu->seed(0);
  gpu->seed(0);
  const std::string expected = fit_data::message_of([&] { cpu->advance(1); });
  EXPECT_NE(expected.find("component 1 in column 1"), std::string::npos) << expected;
  EXPECT_EQ(fit_data::message_of([&] { gpu->advance(1); }), expected);
  of.options.start.means[3] = 1;
  of.options.start.covariances[2] = -2;
  cpu->seed(0);
  gpu->seed(0);
  const std::string negative = fit_data::message_of([&] { cpu->advance(1); });
  EXPECT_NE(negative.find("component 1 has the variance -2 in column 0"), std::string::npos) << negative;
  EXPECT_EQ(fit_data::message_of([&] { gpu->advance(1); }), negative);
}

}  // namespace
