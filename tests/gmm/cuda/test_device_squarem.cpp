// Accelerated fits on GPUs: the iterations that they ask for together, and whole fits against those on the CPU.
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/initialize.hpp>
#include <shoal/gmm/squarem.hpp>

#include "../fit_data.hpp"
#include "device_checks.hpp"

namespace {

using device_checks::on_devices;
using device_checks::problem;
using fit_data::all_types;
using shoal::gmm::batch_iteration;
using shoal::gmm::batch_limits;
using shoal::gmm::covariance_type;
using shoal::gmm::initialization;

batch_limits limits_of(std::size_t most) {
  batch_limits limits;
  limits.most = most;
  return limits;
}

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

TEST(DeviceSquarem, TwoIterationsTogetherAreTwoIterations) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    problem<float> of(fit_data::as<float>(fit_data::clusters(5003, 3, 3, 2.0)), 3);
    set_overlapping(of.options, type);
    on_devices<float> devices(of);
    const auto together = devices.stepper(), apart = devices.stepper();
    together->seed(0);
    apart->seed(0);
    for (int time = 0; time < 3; ++time) {
      const std::vector<batch_iteration> done = together->iterate(limits_of(2));
      ASSERT_EQ(done.size(), 2u);
      for (const batch_iteration& iteration : done) {
        EXPECT_EQ(apart->advance(1).front().objective, iteration.objective);
        expect_same(iteration.model, apart->current());
      }
      expect_same(together->current(), apart->current());
    }
    EXPECT_EQ(together->score(), apart->score());
  }
}

TEST(DeviceSquarem, IterationsEndWhereTheirLimitsSay) {
  SHOAL_NEEDS_DEVICES(1);
  problem<double> of(fit_data::clusters(4001, 2, 3, 2.0), 2);
  set_overlapping(of.options, covariance_type::full);
  on_devices<double> devices(of);
  const auto fit = devices.stepper();
  fit->seed(0);
  batch_limits limits = limits_of(2);
  limits.least = std::numeric_limits<double>::max();
  const std::vector<batch_iteration> worse = fit->iterate(limits);
  ASSERT_EQ(worse.size(), 1u);
  expect_same(fit->current(), worse.front().model);
  limits = limits_of(2);
  limits.tolerance = 1e9;
  limits.previous = worse.front().objective;
  EXPECT_EQ(fit->iterate(limits).size(), 1u);
  limits.previous = std::nan("");
  EXPECT_EQ(fit->iterate(limits).size(), 2u);
  EXPECT_EQ(fit->iterate(limits_of(1)).size(), 1u);
  EXPECT_EQ(fit->iterate(limits_of(2)).size(), 2u);  // whatever stopped the iterations before
}

TEST(DeviceSquarem, GoesOnFromAModelThatIsPlaced) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types()) {
    problem<double> of(fit_data::clusters(4001, 2, 3, 2.0), 2);
    set_overlapping(of.options, type);
    on_devices<double> devices(of);
    const auto fit = devices.stepper();
    fit->seed(0);
    const shoal::gmm::model first = fit->current();
    const std::vector<batch_iteration> done = fit->iterate(limits_of(2));
    shoal::gmm::model broken = first;
    for (double& covariance : broken.covariances) covariance = -covariance;
    fit->place(broken);
    const std::string message = fit_data::message_of([&] { fit->iterate(limits_of(2)); });
    EXPECT_NE(message.find("ill-defined empirical covariance"), std::string::npos) << message;
    const auto cpu = of.on_cpu();
    cpu->seed(0);
    cpu->place(broken);
    EXPECT_EQ(fit_data::message_of([&] { cpu->iterate(limits_of(2)); }), message);
    fit->place(first);
    expect_same(fit->current(), first);
    const std::vector<batch_iteration> again = fit->iterate(limits_of(2));
    ASSERT_EQ(again.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(again[i].objective, done[i].objective);
      expect_same(again[i].model, done[i].model);
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
    shoal::gmm::squarem_fit gpu(devices.stepper(), of.summary(), of.options);
    shoal::gmm::squarem_fit cpu(of.on_cpu(), of.summary(), of.options);
    cpu.seed(0);
    gpu.seed(0);
    const auto expected = cpu.advance(1), got = gpu.advance(5);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_NEAR(got.front().objective, expected.front().objective, 1e-9 * std::abs(expected.front().objective));
    EXPECT_EQ(gpu.reseeded(), 1u);
    EXPECT_EQ(cpu.reseeded(), 1u);
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
