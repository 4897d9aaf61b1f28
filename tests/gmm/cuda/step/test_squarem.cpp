// Accelerated fits on GPUs, step by step and whole, against those on the CPU.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/step/squarem_kernels.hpp>
#include <shoal/gmm/first_model.hpp>
#include <shoal/gmm/squarem.hpp>

#include "../../fit_data.hpp"
#include "../checks.hpp"

namespace {

using device_checks::on_devices;
using device_checks::problem;
using fit_data::all_types;
using shoal::gmm::covariance_type;
using shoal::gmm::initialization;

void expect_same(const shoal::gmm::model& got, const shoal::gmm::model& expected) {
  EXPECT_EQ(got.weights, expected.weights);
  EXPECT_EQ(got.means, expected.means);
  EXPECT_EQ(got.covariances, expected.covariances);
}

void set_overlapping(shoal::gmm::options& options, covariance_type type) {
  options.components = 3;
  options.covariance_type = type;
  options.init = initialization::plus_plus;
  options.tolerance = 0;
}

struct shape {
  std::size_t rows, columns, components;
};

// Overlapping clusters of that shape, accelerated.
template <class Scalar>
void set_accelerated(problem<Scalar>& of, const shape& size, covariance_type type) {
  set_overlapping(of.options, type);
  of.options.components = size.components;
  of.options.acceleration = shoal::gmm::acceleration::squarem;
}

std::vector<double> clusters(const shape& size) {
  return fit_data::clusters(size.rows, size.columns, size.components, 2.0);
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  const double scale = tolerance * largest(expected);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], scale) << i;
}

void expect_near(const shoal::gmm::model& got, const shoal::gmm::model& expected, double tolerance) {
  expect_near(got.weights, expected.weights, tolerance);
  expect_near(got.means, expected.means, tolerance);
  expect_near(got.covariances, expected.covariances, tolerance);
}

// Up to the first leap, which magnifies the rounding by which the two differ some fifty times; counts it.
void follow_the_host(const shape& size, covariance_type type, int passes, std::size_t& leaps) {
  problem<double> of(fit_data::clusters(size.rows, size.columns, size.components, 0.7), size.columns);
  set_accelerated(of, size, type);
  on_devices<double> devices(of);
  const auto gpu = devices.stepper();
  shoal::gmm::squarem_fit cpu(of.on_cpu(), of.summary(), of.options, nullptr);
  gpu->seed(0);
  cpu.seed(0);
  for (int pass = 0; pass < passes; ++pass) {
    SCOPED_TRACE(testing::Message() << size.rows << " x " << size.columns << ", " << size.components << ", pass "
                                    << pass);
    const shoal::step_record got = gpu->advance(1).front(), expected = cpu.advance(1).front();
    const bool leapt = pass > 0 && std::isinf(expected.change);
    ASSERT_NEAR(got.objective, expected.objective, (leapt ? 1e-7 : 1e-8) * std::abs(expected.objective));
    ASSERT_EQ(std::isinf(got.change), std::isinf(expected.change));
    expect_near(gpu->current(), cpu.current(), leapt ? 1e-5 : 1e-6);
    if (!leapt) continue;
    ++leaps;
    return;
  }
}

// By one block, by more than one, and by blocks instead of warps.
TEST(DeviceSquarem, FollowsTheHostInFewRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const shape& size : {shape{257, 1, 2}, shape{300, 2, 3}, shape{700, 2, 17}, shape{400, 9, 3}}) {
    std::size_t leaps = 0;
    for (const covariance_type type : all_types()) follow_the_host(size, type, 10, leaps);
    EXPECT_GT(leaps, 0u) << size.columns << " columns";
  }
}

// The last two by matrices that do not fit into shared memory, and by blocks for many columns.
TEST(DeviceSquarem, FollowsTheHostInEveryShape) {
  SHOAL_NEEDS_DEVICES(1);
  std::size_t leaps = 0;
  for (const covariance_type type : all_types()) {
    for (const shape& size : {shape{3001, 8, 5}, shape{2000, 3, 16}, shape{6000, 40, 5}, shape{2000, 180, 2}}) {
      follow_the_host(size, type, 5, leaps);
    }
  }
  follow_the_host({3000, 300, 2}, covariance_type::diag, 5, leaps);
}

TEST(DeviceSquarem, ManyStepsAskedForTogetherAreThoseAskedForOneByOne) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    for (const shape& size : {shape{5003, 3, 3}, shape{3000, 10, 3}}) {
      problem<float> of(fit_data::as<float>(clusters(size)), size.columns);
      set_accelerated(of, size, type);
      on_devices<float> devices(of);
      const auto together = devices.stepper(), apart = devices.stepper();
      together->seed(0);
      apart->seed(0);
      std::size_t passes = 0;
      for (const std::size_t most : {1, 30, 2, 17}) {
        std::vector<shoal::step_record> done;
        while (done.size() < most) {
          for (const shoal::step_record& step : together->advance(most - done.size())) done.push_back(step);
        }
        for (const shoal::step_record& step : done) {
          const shoal::step_record expected = apart->advance(1).front();
          ASSERT_EQ(step.objective, expected.objective) << passes;
          ASSERT_EQ(step.change, expected.change) << passes;
          ++passes;
        }
        expect_same(together->current(), apart->current());
      }
      EXPECT_EQ(together->score(), apart->score());
    }
  }
}

// What a fit would have saved whose next step is one from an extrapolated model, one more pass of batch's length ahead.
struct before_leap {
  std::vector<double> state;
  std::size_t objective;           // where that of the course is
  std::size_t points, points_end;  // and the points of the cycle
  shoal::gmm::model kept;
};

before_leap save_before_leap(shoal::gmm::mixture_stepper& fit) {
  fit.seed(0);
  for (std::size_t passes = 0; passes < 2;) passes += fit.advance(1).size();
  before_leap saved{fit.save(), 0, 0, 0, fit.current()};
  const shoal::gmm::model& kept = saved.kept;
  const std::size_t course = 1 + kept.weights.size() + kept.means.size() + kept.covariances.size();
  saved.objective = course + 1;
  saved.state[course] = static_cast<double>(shoal::gmm::squarem_phase::leap);
  saved.state[course + 3] = 1;  // trusted
  saved.points = course + shoal::gmm::course_size;
  const std::size_t end = saved.state.size() - 1;
  saved.points_end = end - 2 * (kept.components + (kept.covariance_type == covariance_type::tied ? 1 : 0));
  for (std::size_t norm = saved.points_end; norm < end; norm += 2) {
    saved.state[norm] = 16;  // ‖r‖², so that −α is 4
    saved.state[norm + 1] = 1;
  }
  // r = 0 and α²v is what batch's last pass changed.
  const std::size_t size = (saved.points_end - saved.points) / shoal::gmm::squarem_points;
  for (std::size_t i = saved.points; i < saved.points + size; ++i) {
    const double second = saved.state[i + size], third = saved.state[i + 2 * size];
    saved.state[i] = saved.state[i + size] = third;
    saved.state[i + 2 * size] = third + (third - second) / 16;
  }
  return saved;
}

TEST(DeviceSquarem, DropsAModelThatExplainsLess) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    for (const shape& size : {shape{2500, 3, 3}, shape{2500, 10, 3}}) {
      problem<double> of(clusters(size), size.columns);
      set_accelerated(of, size, type);
      on_devices<double> devices(of);
      const auto fit = devices.stepper();
      before_leap saved = save_before_leap(*fit);
      saved.state[saved.objective] = 1e300;
      fit->restore(saved.state);
      const shoal::step_record dropped = fit->advance(1).front();
      EXPECT_TRUE(std::isinf(dropped.change));
      expect_same(fit->current(), saved.kept);
      saved.state[saved.objective] = -1e300;
      fit->restore(saved.state);
      EXPECT_EQ(fit->advance(1).front().objective, dropped.objective);
      EXPECT_NE(fit->current().means, saved.kept.means);
    }
  }
}

TEST(DeviceSquarem, DropsAModelThatIsNone) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    for (const shape& size : {shape{2500, 3, 3}, shape{2500, 10, 3}}) {
      problem<double> of(clusters(size), size.columns);
      set_accelerated(of, size, type);
      on_devices<double> devices(of);
      const auto fit = devices.stepper();
      before_leap saved = save_before_leap(*fit);
      for (std::size_t i = saved.points; i < saved.points_end; ++i) saved.state[i] *= static_cast<double>(i % 7) * 1e3;
      fit->restore(saved.state);
      const shoal::step_record after = fit->advance(1).front();
      of.options.acceleration = shoal::gmm::acceleration::none;
      const auto batch = devices.stepper();
      batch->seed(0);
      double expected = 0;
      for (int pass = 0; pass < 3; ++pass) expected = batch->advance(1).front().objective;
      EXPECT_NEAR(after.objective, expected, 1e-11 * std::abs(expected));
      expect_near(fit->current(), batch->current(), 1e-9);
    }
  }
}

TEST(DeviceSquarem, GoesOnFromWhatItSaved) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    for (const shape& size : {shape{5003, 3, 3}, shape{3000, 10, 3}}) {
      problem<float> of(fit_data::as<float>(clusters(size)), size.columns);
      set_accelerated(of, size, type);
      on_devices<float> devices(of);
      const auto whole = devices.stepper();
      whole->seed(0);
      for (int pass = 0; pass < 12; ++pass) {
        const auto resumed = devices.stepper();
        resumed->restore(whole->save());
        const shoal::step_record expected = whole->advance(1).front(), got = resumed->advance(1).front();
        ASSERT_EQ(got.objective, expected.objective) << pass;
        ASSERT_EQ(got.change, expected.change) << pass;
        expect_same(resumed->current(), whole->current());
        ASSERT_EQ(resumed->save(), whole->save()) << pass;
      }
    }
  }
}

TEST(DeviceSquarem, FillsAnEmptyComponent) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    problem<double> of(fit_data::clusters(3000, 2, 2, 10.0), 2);
    of.options.components = 3;
    of.options.covariance_type = type;
    of.options.init = initialization::model;
    of.options.acceleration = shoal::gmm::acceleration::squarem;
    of.options.start = shoal::gmm::pooled_model(type, {0, 0, 10, 10, -1e8, 1e8}, of.summary(), 1e-6);
    on_devices<double> devices(of);
    const auto gpu = devices.stepper();
    shoal::gmm::squarem_fit cpu(of.on_cpu(), of.summary(), of.options, nullptr);
    cpu.seed(0);
    gpu->seed(0);
    const auto expected = cpu.advance(1), got = gpu->advance(5);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_NEAR(got.front().objective, expected.front().objective, 1e-9 * std::abs(expected.front().objective));
    EXPECT_EQ(gpu->reseeded(), 1u);
    EXPECT_EQ(cpu.reseeded(), 1u);
    for (int pass = 0; pass < 3; ++pass) {
      const double objective = cpu.advance(1).front().objective;
      EXPECT_NEAR(gpu->advance(1).front().objective, objective, 1e-9 * std::abs(objective));
    }
  }
}

// Steps behind the one that finds it have been asked for by then.
TEST(DeviceSquarem, FillsAnEmptyComponentOnTwoDevices) {
  SHOAL_NEEDS_DEVICES(2);
  problem<double> of(fit_data::clusters(30'000, 2, 2, 10.0), 2);
  of.options.components = 3;
  of.options.init = initialization::model;
  of.options.acceleration = shoal::gmm::acceleration::squarem;
  of.options.tolerance = 0;
  of.options.start = shoal::gmm::pooled_model(covariance_type::full, {0, 0, 10, 10, -1e8, 1e8}, of.summary(), 1e-6);
  on_devices<double> one(of), two(of, 0, 2);
  const auto first = one.stepper(), second = two.stepper();
  first->seed(0);
  second->seed(0);
  EXPECT_EQ(first->advance(2).size(), 1u);
  EXPECT_EQ(second->advance(2).size(), 1u);
  EXPECT_EQ(second->reseeded(), 1u);
  for (std::size_t i = 0; i < first->current().means.size(); ++i) {
    EXPECT_NEAR(second->current().means[i], first->current().means[i], 1e-9);
  }
  for (std::size_t i = 0; i < first->current().covariances.size(); ++i) {
    EXPECT_NEAR(second->current().covariances[i], first->current().covariances[i], 1e-9);
  }
}

TEST(DeviceSquarem, EndsWhereTheHostEnds) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    const auto values = fit_data::clusters(6000, 2, 3, 1.5);
    shoal::gmm::options options;
    set_overlapping(options, type);
    options.acceleration = shoal::gmm::acceleration::squarem;
    options.tolerance = 1e-9;
    options.max_iterations = 5000;
    const auto host = fit_data::fit<double>(values, 2, options);
    options.device.cuda = cuda_devices::first(1);
    const auto device = fit_data::fit<double>(values, 2, options);
    ASSERT_TRUE(device.converged);
    ASSERT_GE(device.history.size(), 6u);
    // Later leaps magnify the rounding by which the two differ.
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(device.history[i], host.history[i], 1e-9) << i;
    EXPECT_NEAR(device.mean_log_likelihood, host.mean_log_likelihood, 1e-5);
    EXPECT_LT(device.iterations, 2 * host.iterations);
  }
}

TEST(DeviceSquarem, GivesTheSameBitsStreamedResumedAndAgain) {
  SHOAL_NEEDS_DEVICES(1);
  const auto values = fit_data::as<float>(fit_data::clusters(5 * 4096 + 77, 5, 3, 3.0));
  const shoal::view_source<float> rows({values.data(), values.size() / 5, 5});
  for (const covariance_type type : all_types()) {
    shoal::gmm::options options;
    set_overlapping(options, type);
    options.acceleration = shoal::gmm::acceleration::squarem;
    options.max_iterations = 30;
    options.device.cuda = cuda_devices::first(1);
    const auto once = shoal::gmm::fit(rows, options);
    EXPECT_EQ(once.iterations, 30u);
    expect_same(shoal::gmm::fit(rows, options).model, once.model);
    shoal::gmm::options streaming = options;
    streaming.device.memory = 2 * 4096 * 5 * sizeof(float);
    const auto streamed = shoal::gmm::fit(rows, streaming);
    expect_same(streamed.model, once.model);
    EXPECT_EQ(streamed.history, once.history);
    for (const std::size_t pass : {3, 8}) {
      const std::string file = testing::TempDir() + "shoal_device_squarem.checkpoint";
      std::filesystem::remove(file);
      options.checkpoint = file;
      options.checkpoint_seconds = 0;
      std::stop_source stop;
      const shoal::control interrupting{[&](const shoal::progress& now) {
                                          if (now.step >= pass) stop.request_stop();
                                        },
                                        stop.get_token()};
      EXPECT_THROW(shoal::gmm::fit(rows, options, nullptr, interrupting), shoal::interrupted);
      const auto resumed = shoal::gmm::fit(rows, options);
      std::filesystem::remove(file);
      options.checkpoint.clear();
      expect_same(resumed.model, once.model);
      EXPECT_EQ(resumed.history, once.history);
    }
  }
}

TEST(DeviceSquarem, AgreesOnTwoDevices) {
  SHOAL_NEEDS_DEVICES(2);
  const auto values = fit_data::as<float>(fit_data::clusters(50'001, 4, 3, 2.0));
  shoal::gmm::options options;
  set_overlapping(options, covariance_type::full);
  options.acceleration = shoal::gmm::acceleration::squarem;
  options.tolerance = 1e-7;
  options.max_iterations = 2000;
  options.device.cuda = cuda_devices::first(1);
  const shoal::view_source<float> rows({values.data(), 50'001, 4});
  const auto one = shoal::gmm::fit(rows, options);
  options.device.cuda = cuda_devices::first(2);
  const auto two = shoal::gmm::fit(rows, options);
  EXPECT_TRUE(two.converged);
  EXPECT_NEAR(two.mean_log_likelihood, one.mean_log_likelihood, 1e-5);
}

}  // namespace
