// Fits on GPUs whose models move within a pass: against the host's with the same cut, against batch, and resumed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/choose_fit.hpp>
#include <shoal/gmm/cuda/choose_fit.hpp>
#include <shoal/gmm/cuda/chunked/asynchronous.hpp>
#include <shoal/gmm/cuda/chunked/block_model_kernels.hpp>
#include <shoal/gmm/cuda/chunked/chunk_plan.hpp>
#include <shoal/gmm/cuda/chunked/kept_statistics.hpp>
#include <shoal/gmm/first_model.hpp>

#include "../../algorithm_data.hpp"
#include "../checks.hpp"

namespace {

using algorithm_data::difference;
using algorithm_data::same_bits;
using device_checks::on_devices;
using device_checks::problem;
using fit_data::all_types;
using shoal::gmm::algorithm;
using shoal::gmm::covariance_type;
using shoal::gmm::mixture_stepper;
using shoal::gmm::statistics;

template <class Scalar>
std::unique_ptr<mixture_stepper> on_gpu(const problem<Scalar>& of, on_devices<Scalar>& devices) {
  return shoal::gmm::make_device_fit<Scalar>({devices.rows(), of.context(), of.data(), of.summary(), of.options, {}});
}

template <class Scalar>
std::unique_ptr<mixture_stepper> on_host(const problem<Scalar>& of) {
  return shoal::gmm::make_host_fit<Scalar>({of.context(), of.data(), of.summary(), of.options});
}

// Exactly `count` passes.
std::vector<double> run(mixture_stepper& fit, std::size_t count) {
  std::vector<double> objectives;
  while (objectives.size() < count) {
    for (const shoal::step_record& step : fit.advance(count - objectives.size())) objectives.push_back(step.objective);
  }
  return objectives;
}

// Seven chunks of one unit, the last a short one, in superchunks of two.
constexpr std::size_t rows = 6 * shoal::cuda::piece_unit + 77;

shoal::gmm::options options_for(algorithm which, std::size_t components, covariance_type type) {
  shoal::gmm::options options = algorithm_data::options_for(which, components, 100, type);
  options.regularization = 1e-3;
  options.chunks.rows = shoal::cuda::piece_unit;
  options.chunks.superchunks = 4;
  return options;
}

template <class Scalar>
void compare_passes(algorithm which, covariance_type type, std::size_t columns, std::size_t components, bool weighted) {
  const std::string what = fmt::format("{} {} {} columns, {} components{}", device_checks::name<Scalar>(),
                                       checks::name(type), columns, components, weighted ? " weighted" : "");
  problem<Scalar> of(fit_data::as<Scalar>(fit_data::clusters(rows, columns, components, 4.0)), columns,
                     weighted ? device_checks::some_weights<Scalar>(rows) : std::vector<Scalar>());
  of.options = options_for(which, components, type);
  on_devices<Scalar> devices(of);
  const auto host = on_host(of);
  const auto gpu = on_gpu(of, devices);
  host->seed(0);
  gpu->seed(0);
  constexpr std::size_t passes = 4;
  constexpr double tolerance = sizeof(Scalar) == 4 ? 2e-4 : 1e-8;
  const auto expected = run(*host, passes), got = run(*gpu, passes);
  for (std::size_t i = 0; i < passes; ++i) {
    ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << ", pass " << i;
  }
  EXPECT_LT(difference(gpu->current(), host->current()), 10 * tolerance) << what;
  EXPECT_EQ(gpu->reseeded(), host->reseeded()) << what;
  EXPECT_NEAR(gpu->score(), host->score(), tolerance * (1 + std::abs(expected.back()))) << what;
}

class DeviceAlgorithm : public testing::TestWithParam<algorithm> {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};
INSTANTIATE_TEST_SUITE_P(Algorithms, DeviceAlgorithm,
                         testing::Values(algorithm::incremental, algorithm::stepwise, algorithm::asynchronous));

// Those that take superchunk after superchunk, as the host does, and save all that they go on from. An asynchronous fit
// reads other models than any thread of the host, and saves its model alone.
class DeviceOrderedAlgorithm : public DeviceAlgorithm {};
INSTANTIATE_TEST_SUITE_P(Algorithms, DeviceOrderedAlgorithm,
                         testing::Values(algorithm::incremental, algorithm::stepwise));

// Those whose model is made of what all rows give. Decaying steps leave every component some weight and spread.
class DeviceWholeAlgorithm : public DeviceAlgorithm {};
INSTANTIATE_TEST_SUITE_P(Algorithms, DeviceWholeAlgorithm,
                         testing::Values(algorithm::incremental, algorithm::asynchronous));

TEST_P(DeviceOrderedAlgorithm, FollowsTheHostWithTheSameCut) {
  for (const covariance_type type : all_types()) {
    for (const auto& [columns, components] : {std::pair{1, 2}, std::pair{2, 3}, std::pair{8, 5}, std::pair{19, 3}}) {
      for (const bool weighted : {false, true}) {
        compare_passes<float>(GetParam(), type, columns, components, weighted);
        compare_passes<double>(GetParam(), type, columns, components, weighted);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(DeviceAlgorithm, SameBitsRunAfterRunAndStreamed) {
  for (const covariance_type type : all_types()) {
    problem<float> of(fit_data::as<float>(fit_data::clusters(rows, 5, 3, 2.0)), 5);
    of.options = options_for(GetParam(), 3, type);
    on_devices<float> resident(of), again(of), streamed(of, 2 * shoal::cuda::piece_unit * 5 * sizeof(float));
    ASSERT_FALSE(streamed.rows().resident());
    const auto first = on_gpu(of, resident), second = on_gpu(of, again), third = on_gpu(of, streamed);
    first->seed(0);
    second->seed(0);
    third->seed(0);
    const auto expected = run(*first, 5);
    EXPECT_EQ(run(*second, 5), expected) << checks::name(type);
    EXPECT_EQ(run(*third, 5), expected) << checks::name(type);
    EXPECT_TRUE(same_bits(second->current(), first->current())) << checks::name(type);
    EXPECT_TRUE(same_bits(third->current(), first->current())) << checks::name(type);
  }
}

TEST_P(DeviceOrderedAlgorithm, GoesOnFromWhatItSaved) {
  for (const std::size_t memory : {std::size_t{0}, 2 * shoal::cuda::piece_unit * 4 * sizeof(double)}) {
    problem<double> of(fit_data::clusters(rows, 4, 3, 2.0), 4);
    of.options = options_for(GetParam(), 3, covariance_type::full);
    on_devices<double> devices(of, memory);
    const auto whole = on_gpu(of, devices), first = on_gpu(of, devices), second = on_gpu(of, devices);
    whole->seed(1);
    run(*whole, 7);
    first->seed(1);
    run(*first, 3);
    second->restore(first->save());
    EXPECT_TRUE(same_bits(second->current(), first->current()));
    EXPECT_EQ(second->score(), first->score());
    run(*second, 4);
    EXPECT_TRUE(same_bits(second->current(), whole->current()));
    EXPECT_THROW(second->restore(std::vector<double>(3)), shoal::bad_data);
  }
}

// Rows that ask the fit to stop when they have been read so many times.
class stopping_rows final : public shoal::row_source<double> {
 public:
  stopping_rows(const std::vector<double>& values, std::size_t columns) : from_(values, columns) {}
  std::size_t rows() const override { return from_.rows(); }
  std::size_t columns() const override { return from_.columns(); }
  shoal::matrix_view<const double> read(std::size_t first, std::size_t count,
                                        shoal::aligned_buffer<double>& buffer) const override {
    if (left != 0 && --left == 0) stop.request_stop();
    return from_.read(first, count, buffer);
  }
  bool resident() const override { return false; }

  mutable std::size_t left = 0;
  mutable std::stop_source stop;

 private:
  algorithm_data::copying_source<double> from_;
};

TEST_P(DeviceAlgorithm, CanBeStoppedWithinAPassAndResumed) {
  const bool saves_all = GetParam() != algorithm::asynchronous;
  const auto values = fit_data::clusters(rows, 4, 3, 2.0);
  shoal::gmm::options options = options_for(GetParam(), 3, covariance_type::full);
  const shoal::view_source<double> plain({values.data(), rows, 4});
  const auto workers = shoal::make_sequential();
  const shoal::data_summary summary = shoal::check_data<double>({workers.get(), 0, {}}, plain, nullptr);
  shoal::cuda::device_group group(cuda_devices::first(1));
  const std::size_t memory = 2 * shoal::cuda::piece_unit * 4 * sizeof(double);
  const auto fit_of = [&](shoal::cuda::device_rows<double>& on, const shoal::fold_context& context) {
    return shoal::gmm::make_device_fit<double>({on, context, on.data(), summary, options, {}});
  };
  const shoal::fold_context free{workers.get(), 0, {}};
  shoal::cuda::device_rows<double> undisturbed(group, free, {&plain, nullptr, 1}, memory);
  const auto whole = fit_of(undisturbed, free);
  whole->seed(0);
  run(*whole, 5);
  for (const std::size_t reads : {1, 3, 6}) {
    stopping_rows source(values, 4);
    const shoal::fold_context context{workers.get(), 0, source.stop.get_token()};
    shoal::cuda::device_rows<double> stopped(group, context, {&source, nullptr, 1}, memory);
    const auto first = fit_of(stopped, context);
    first->seed(0);
    run(*first, 2);
    source.left = reads;
    EXPECT_THROW(run(*first, 3), shoal::interrupted);
    const auto state = first->save();
    const auto second = fit_of(undisturbed, free);
    second->restore(state);
    run(*second, 3);
    EXPECT_TRUE(!saves_all || same_bits(second->current(), whole->current())) << reads;
    EXPECT_NEAR(second->score(), whole->score(), 0.1) << reads;
  }
}

// Through the door, by the file that a killed fit leaves.
TEST_P(DeviceAlgorithm, GoesOnFromItsCheckpoint) {
  const auto values = fit_data::clusters(rows, 3, 3, 2.0);
  const shoal::view_source<double> source({values.data(), rows, 3});
  auto options = options_for(GetParam(), 3, covariance_type::full);
  options.max_iterations = 9;
  options.device = shoal::choose_device("cuda");
  const auto whole = shoal::gmm::fit(source, options);
  EXPECT_EQ(whole.iterations, 9u);
  // Passes are reported as the GPU does them, so that a fit is stopped where it can be.
  options.device.memory = 2 * shoal::cuda::piece_unit * 3 * sizeof(double);
  const auto resumed = algorithm_data::stopped_and_resumed(source, options, 4);
  EXPECT_EQ(resumed.iterations, 9u);
  EXPECT_EQ(resumed.history.front(), whole.history.front());
  if (GetParam() == algorithm::asynchronous) return;  // it saves its model alone
  EXPECT_EQ(resumed.history, whole.history);
  EXPECT_TRUE(same_bits(resumed.model, whole.model));
}

TEST_P(DeviceAlgorithm, EndsNearBatchOnSeparatedData) {
  for (const covariance_type type : all_types()) {
    problem<float> of(fit_data::as<float>(fit_data::clusters(40000, 2, 3, 9.0)), 2);
    of.options = options_for(GetParam(), 3, type);
    of.options.chunks = {};
    of.options.init = shoal::gmm::initialization::plus_plus;
    on_devices<float> devices(of);
    const std::unique_ptr<mixture_stepper> batch = devices.stepper(), gpu = on_gpu(of, devices);
    batch->seed(0);
    gpu->seed(0);
    run(*batch, 30);
    run(*gpu, 30);
    EXPECT_NEAR(gpu->score(), batch->score(), 1e-3) << checks::name(type);
  }
}

TEST_P(DeviceWholeAlgorithm, FillsAnEmptyComponent) {
  for (const covariance_type type : all_types()) {
    auto values = fit_data::clusters(rows, 2, 2, 10.0);
    values[2 * 1234] = 60;
    problem<double> of(values, 2);
    of.options = options_for(GetParam(), 3, type);
    of.options.init = shoal::gmm::initialization::model;
    of.options.start = shoal::gmm::pooled_model(type, {0, 0, 10, 10, -1e8, 1e8}, of.summary(), 1e-6);
    on_devices<double> devices(of);
    const auto gpu = on_gpu(of, devices);
    gpu->seed(0);
    run(*gpu, 12);
    EXPECT_GE(gpu->reseeded(), 1u) << checks::name(type);
    const shoal::gmm::model& found = gpu->current();
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_GT(found.weights[k], 0) << checks::name(type);
      EXPECT_LT(std::abs(found.means[2 * k]), 61) << checks::name(type);
    }
  }
}

TEST_P(DeviceWholeAlgorithm, NamesACollapsedComponent) {
  std::vector<double> values;
  for (const double value : fit_data::clusters(rows, 1, 1, 0.0)) {
    values.push_back(value);
    values.push_back(value);
  }
  problem<double> of(values, 2);
  of.options = options_for(GetParam(), 1, covariance_type::full);
  of.options.init = shoal::gmm::initialization::model;
  of.options.regularization = 0;
  of.options.start = shoal::gmm::pooled_model(covariance_type::full, {0, 0}, of.summary(), 1.0);
  on_devices<double> devices(of);
  const auto gpu = on_gpu(of, devices);
  gpu->seed(0);
  const std::string message = fit_data::message_of([&] { run(*gpu, 10); });
  EXPECT_NE(message.find("ill-defined empirical covariance"), std::string::npos) << message;
  EXPECT_EQ(fit_data::message_of([&] { gpu->score(); }), message);
}

TEST_P(DeviceAlgorithm, TwoGpusEndWhereOneDoes) {
  SHOAL_NEEDS_DEVICES(2);
  problem<float> of(fit_data::as<float>(fit_data::clusters(60000, 3, 3, 5.0)), 3);
  of.options = options_for(GetParam(), 3, covariance_type::full);
  of.options.init = shoal::gmm::initialization::plus_plus;
  on_devices<float> one(of), two(of, 0, 2);
  const auto first = on_gpu(of, one), second = on_gpu(of, two), again = on_gpu(of, two);
  for (auto* fit : {first.get(), second.get(), again.get()}) {
    fit->seed(0);
    run(*fit, GetParam() == algorithm::stepwise ? 150 : 30);  // whose steps decay slowly
  }
  EXPECT_NEAR(second->score(), first->score(), GetParam() == algorithm::stepwise ? 1e-3 : 1e-5);
  EXPECT_TRUE(same_bits(again->current(), second->current()));
}

class DeviceIncremental : public cuda_devices::on_one_device {};

TEST_F(DeviceIncremental, WithOneSuperchunkIsBatch) {
  for (const covariance_type type : all_types()) {
    problem<float> of(fit_data::as<float>(fit_data::clusters(rows, 3, 3, 2.0)), 3);
    of.options = options_for(algorithm::incremental, 3, type);
    of.options.chunks.rows = 0;
    of.options.chunks.superchunks = 1;
    on_devices<float> devices(of);
    const std::unique_ptr<mixture_stepper> batch = devices.stepper(), gpu = on_gpu(of, devices);
    batch->seed(0);
    gpu->seed(0);
    EXPECT_EQ(run(*gpu, 8), run(*batch, 8)) << checks::name(type);
    EXPECT_TRUE(same_bits(gpu->current(), batch->current())) << checks::name(type);
  }
}

TEST_F(DeviceIncremental, IsAsynchronousByOneWorkerWithoutThreshold) {
  for (const covariance_type type : all_types()) {
    for (const std::size_t memory : {std::size_t{0}, 2 * shoal::cuda::piece_unit * 3 * sizeof(float)}) {
      problem<float> of(fit_data::as<float>(fit_data::clusters(rows, 3, 3, 2.0)), 3);
      of.options = options_for(algorithm::incremental, 3, type);
      on_devices<float> devices(of, memory);
      const auto incremental = on_gpu(of, devices);
      of.options.algorithm = algorithm::asynchronous;
      const auto asynchronous = shoal::gmm::make_asynchronous<float>(
          {devices.rows(), of.context(), of.data(), of.summary(), of.options, {}}, 1);
      incremental->seed(0);
      asynchronous->seed(0);
      EXPECT_EQ(run(*asynchronous, 8), run(*incremental, 8)) << checks::name(type);
      EXPECT_TRUE(same_bits(asynchronous->current(), incremental->current())) << checks::name(type);
    }
  }
}

// Rows that stay where they are move no responsibility, so the fit settles: after a pass that folded nothing in and one
// that renewed everything.
TEST_F(DeviceIncremental, SettlesAsynchronouslyBelowItsThreshold) {
  for (const std::size_t memory : {std::size_t{0}, 2 * shoal::cuda::piece_unit * 2 * sizeof(float)}) {
    problem<float> of(fit_data::as<float>(fit_data::clusters(rows, 2, 3, 9.0)), 2);
    of.options = options_for(algorithm::asynchronous, 3, covariance_type::full);
    of.options.init = shoal::gmm::initialization::plus_plus;
    of.options.chunks.threshold = 1e-3;
    on_devices<float> devices(of, memory);
    const std::unique_ptr<mixture_stepper> gpu = on_gpu(of, devices), batch = devices.stepper();
    gpu->seed(0);
    batch->seed(0);
    run(*batch, 40);
    bool settled = false;
    std::size_t passes = 0;
    for (; passes < 60 && !settled; ++passes) settled = gpu->advance(1).back().settled;
    EXPECT_TRUE(settled);
    EXPECT_GT(passes, 3u);
    EXPECT_NEAR(gpu->score(), batch->score(), 1e-3);
  }
}

class DeviceBlockModels : public cuda_devices::on_one_device {
 protected:
  static shoal::gmm::options preset(std::size_t components, covariance_type type) {
    shoal::gmm::options options = options_for(algorithm::asynchronous, components, type);
    shoal::gmm::set_async_em_2013(options);
    options.init = shoal::gmm::initialization::plus_plus;
    return options;
  }
};

// With one superchunk there is one model, wherever it is.
shoal::gmm::options options_of_one_thread(covariance_type type, std::size_t components) {
  shoal::gmm::options options = options_for(algorithm::asynchronous, components, type);
  options.chunks = {};
  options.chunks.rows = 300;
  options.chunks.superchunks = 1;
  options.chunks.threshold = 0.01;
  options.chunks.memberships = true;
  options.chunks.local_models = true;
  return options;
}

template <class Scalar>
void compare_with_one_thread(covariance_type type, std::size_t columns, std::size_t components, bool weighted,
                             std::size_t some_rows = 2345) {
  problem<Scalar> of(fit_data::as<Scalar>(fit_data::clusters(some_rows, columns, components, 3.0)), columns,
                     weighted ? device_checks::some_weights<Scalar>(some_rows) : std::vector<Scalar>());
  of.options = options_of_one_thread(type, components);
  on_devices<Scalar> devices(of);
  const auto host = on_host(of);
  const auto gpu = on_gpu(of, devices);
  host->seed(0);
  gpu->seed(0);
  const std::string what = fmt::format("{} {} {} columns, {} components", device_checks::name<Scalar>(),
                                       checks::name(type), columns, components);
  constexpr double tolerance = sizeof(Scalar) == 4 ? 1e-3 : 1e-7;
  const auto expected = run(*host, 5), got = run(*gpu, 5);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << ", pass " << i;
  }
  EXPECT_LT(difference(gpu->current(), host->current()), 10 * tolerance) << what;
}

TEST_F(DeviceBlockModels, OfOneBlockAreThoseOfOneThread) {
  for (const covariance_type type : {covariance_type::full, covariance_type::diag}) {
    for (const auto& [columns, components] :
         {std::pair{1, 1}, std::pair{2, 3}, std::pair{8, 5}, std::pair{16, 2}, std::pair{17, 3}, std::pair{70, 2}}) {
      compare_with_one_thread<double>(type, columns, components, false);
      compare_with_one_thread<float>(type, columns, components, false);
    }
  }
}

TEST_F(DeviceBlockModels, TakeWeights) {
  compare_with_one_thread<double>(covariance_type::full, 3, 2, true);
  compare_with_one_thread<float>(covariance_type::diag, 2, 3, true);
  compare_with_one_thread<float>(covariance_type::full, 17, 2, true, 700);
  compare_with_one_thread<double>(covariance_type::diag, 2, 300, true, 700);
}

// Thin components, and rows that weigh nothing where float64 has no density left.
TEST_F(DeviceBlockModels, RowsOfNoWeightMayHaveNoDensity) {
  constexpr std::size_t some_rows = 700, columns = 3;
  std::vector<double> values = fit_data::clusters(some_rows, columns, 2, 3.0), weights(some_rows, 1.0);
  for (double& value : values) value = std::ldexp(value, -100);
  for (std::size_t r = 3; r < some_rows; r += 7) {
    weights[r] = 0;
    values[r * columns] = 1e140;
  }
  for (const covariance_type type : {covariance_type::full, covariance_type::diag}) {
    problem<double> of(values, columns, weights);
    of.options = options_of_one_thread(type, 2);
    of.options.regularization = 0;
    on_devices<double> devices(of);
    const auto host = on_host(of);
    const auto gpu = on_gpu(of, devices);
    host->seed(0);
    gpu->seed(0);
    const auto expected = run(*host, 5), got = run(*gpu, 5);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(std::isfinite(expected[i])) << checks::name(type) << ", pass " << i;
      EXPECT_NEAR(got[i], expected[i], 1e-7 * (1 + std::abs(expected[i]))) << checks::name(type) << ", pass " << i;
    }
  }
}

TEST_F(DeviceBlockModels, EndNearBatchAndSettle) {
  for (const covariance_type type : {covariance_type::full, covariance_type::diag}) {
    problem<float> of(fit_data::as<float>(fit_data::clusters(60001, 3, 3, 9.0)), 3);
    of.options = preset(3, type);
    on_devices<float> devices(of);
    const std::unique_ptr<mixture_stepper> gpu = on_gpu(of, devices), again = on_gpu(of, devices),
                                           batch = devices.stepper();
    for (auto* fit : {gpu.get(), again.get(), batch.get()}) fit->seed(0);
    run(*batch, 60);
    bool settled = false;
    std::size_t passes = 0;
    for (; passes < 100 && !settled; ++passes) settled = gpu->advance(1).back().settled;
    EXPECT_TRUE(settled);
    EXPECT_NEAR(gpu->score(), batch->score(), 1e-3) << checks::name(type);
    for (std::size_t pass = 0; pass < passes; ++pass) again->advance(1);
    EXPECT_TRUE(same_bits(again->current(), gpu->current())) << checks::name(type);
  }
}

TEST_F(DeviceBlockModels, AreThePapersPreset) {
  const auto values = fit_data::as<float>(fit_data::clusters(46800, 8, 4, 6.0));
  const shoal::view_source<float> source({values.data(), 46800, 8});
  shoal::gmm::options options;
  options.components = 4;
  options.covariance_type = covariance_type::diag;
  const auto batch = shoal::gmm::fit(source, options);
  shoal::gmm::set_async_em_2013(options);
  options.device = shoal::choose_device("cuda");
  const auto fitted = shoal::gmm::fit(source, options);
  EXPECT_NEAR(fitted.mean_log_likelihood, batch.mean_log_likelihood, 1e-2);
  EXPECT_TRUE(fitted.converged);
}

// The tile of 64 components has fewer rows; 300 pass through it in parts.
TEST_F(DeviceBlockModels, TakeManyComponents) {
  ASSERT_LT(shoal::gmm::choose_block_models_tile(
                shoal::gmm::kernel_layout(shoal::gmm::statistics_layout(covariance_type::diag, 300, 3)), sizeof(double),
                std::size_t{227} << 10)
                .part,
            300u);
  compare_with_one_thread<double>(covariance_type::full, 3, 64, false, 9000);
  compare_with_one_thread<double>(covariance_type::diag, 3, 300, true, 9000);
}

// Under one model and without a threshold a pass is one of batch, however the rows are cut and wherever they are.
void compare_with_batch(std::size_t gpus, covariance_type type, std::size_t columns, std::size_t components) {
  problem<double> of(fit_data::clusters(rows, columns, components, 2.0), columns,
                     device_checks::some_weights<double>(rows));
  of.options = options_for(algorithm::asynchronous, components, type);
  of.options.chunks = {};
  of.options.chunks.rows = 500;
  of.options.chunks.superchunks = 9;
  of.options.chunks.memberships = true;
  on_devices<double> one(of), devices(of, 0, gpus);
  const std::unique_ptr<mixture_stepper> gpu = on_gpu(of, devices), batch = one.stepper();
  gpu->seed(0);
  batch->seed(0);
  const auto expected = run(*batch, 6), got = run(*gpu, 6);
  const std::string what = fmt::format("{} {} columns, {} GPUs", checks::name(type), columns, gpus);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-9) << what << ", pass " << i;
  EXPECT_LT(difference(gpu->current(), batch->current()), 1e-8) << what;
}

TEST_F(DeviceBlockModels, OfOneModelAreBatch) {
  for (const covariance_type type : {covariance_type::full, covariance_type::diag}) {
    compare_with_batch(1, type, 3, 4);
    compare_with_batch(1, type, 20, 2);
  }
}

TEST_F(DeviceBlockModels, OfTwoGpusAreConsolidatedEveryPass) {
  SHOAL_NEEDS_DEVICES(2);
  for (const covariance_type type : {covariance_type::full, covariance_type::diag}) {
    compare_with_batch(2, type, 3, 4);
    problem<float> of(fit_data::as<float>(fit_data::clusters(60001, 3, 3, 9.0)), 3);
    of.options = preset(3, type);
    on_devices<float> one(of), two(of, 0, 2);
    const std::unique_ptr<mixture_stepper> gpus = on_gpu(of, two), again = on_gpu(of, two), batch = one.stepper();
    for (auto* fit : {gpus.get(), again.get(), batch.get()}) fit->seed(0);
    run(*batch, 60);
    EXPECT_EQ(run(*gpus, 30), run(*again, 30)) << checks::name(type);
    EXPECT_TRUE(same_bits(again->current(), gpus->current())) << checks::name(type);
    EXPECT_NEAR(gpus->score(), batch->score(), 1e-3) << checks::name(type);
  }
}

TEST_F(DeviceBlockModels, RefuseWhatTheyDoNot) {
  problem<float> of(fit_data::as<float>(fit_data::clusters(3000, 5, 3, 9.0)), 5);
  on_devices<float> devices(of);
  const auto message = [&] { return fit_data::message_of([&] { on_gpu(of, devices); }); };
  of.options = preset(3, covariance_type::tied);
  EXPECT_NE(message().find("these are others"), std::string::npos) << message();
  of.options.chunks.memberships = false;
  EXPECT_NE(message().find("without memberships"), std::string::npos) << message();
  of.options = preset(3, covariance_type::full);
  problem<float> longer(fit_data::as<float>(fit_data::clusters(30000, 3, 3, 9.0)), 3);
  longer.options = of.options;
  on_devices<float> pieces(longer, 2 * shoal::cuda::piece_unit * 3 * sizeof(float));
  EXPECT_NE(fit_data::message_of([&] { on_gpu(longer, pieces); }).find("rows are streamed"), std::string::npos);
}

// The GPU ends its passes where the loop's rule would, however many it was asked for.
TEST_F(DeviceIncremental, StopsWhereTheHostWould) {
  for (const double tolerance : {1e-2, 1e-4, 1e-6}) {
    problem<double> of(fit_data::clusters(rows, 3, 4, 2.5), 3);
    of.options = options_for(algorithm::incremental, 4, covariance_type::full);
    of.options.tolerance = tolerance;
    on_devices<double> devices(of);
    const auto gpu = on_gpu(of, devices), host = on_host(of);
    gpu->seed(0);
    host->seed(0);
    std::vector<double> done;
    const auto ended = [&] { return done.size() > 1 && std::abs(done.back() - done[done.size() - 2]) < tolerance; };
    while (!ended()) {
      for (const auto& step : gpu->advance(400)) done.push_back(step.objective);
    }
    const std::size_t passes = done.size();
    done.clear();
    while (!ended()) {
      for (const auto& step : host->advance(400)) done.push_back(step.objective);
    }
    EXPECT_EQ(passes, done.size()) << tolerance;
  }
}

// What is kept, moved to the present centres, against the same sums on the host.
TEST_F(DeviceIncremental, KeepsSumsThatAddUpAboutAnyCentres) {
  for (const covariance_type type : all_types()) {
    for (const auto& [columns, components] : {std::pair{1, 1}, std::pair{3, 2}, std::pair{33, 5}}) {
      const shoal::gmm::statistics_layout layout(type, components, columns);
      shoal::cuda::device_group group(cuda_devices::first(1));
      const cudaStream_t stream = group[0].compute;
      constexpr std::size_t superchunks = 5;
      shoal::gmm::device_kept_statistics kept(group, layout, superchunks);
      fit_data::uniform u(7);
      const auto some = [&](std::size_t count) {
        std::vector<double> values(count);
        for (double& value : values) value = u() - 0.3;
        return values;
      };
      std::vector<statistics> host(superchunks, statistics(layout));
      std::vector<std::vector<double>> centres(superchunks);
      shoal::cuda::device_buffer<double> fresh(layout.size()), about(centres.size() * columns * components);
      shoal::cuda::device_buffer<int> stopped(1);
      stopped.fill_with_zeros(stream);
      for (const std::size_t visited : {0, 1, 2, 3, 4, 2, 0}) {
        const auto values = some(layout.size());
        std::copy(values.begin(), values.end(), host[visited].values().begin());
        centres[visited] = some(static_cast<std::size_t>(columns * components));
        fresh.upload(values, stream);
        about.upload(centres[visited], stream);
        kept.replace(visited, {fresh.data(), about.data()}, about.data(), stopped.data(), stream);
        group.synchronize();
        statistics expected(layout);
        for (std::size_t s = 0; s < superchunks; ++s) {
          if (centres[s].empty()) continue;
          statistics moved = host[s];
          shoal::gmm::translate(moved, centres[s], centres[visited]);
          shoal::gmm::statistics_group(layout).combine_into(expected, moved);
        }
        std::vector<double> total(layout.size());
        ASSERT_EQ(cudaMemcpy(total.data(), kept.total(), total.size() * sizeof(double), cudaMemcpyDeviceToHost),
                  cudaSuccess);
        for (std::size_t i = 0; i < total.size(); ++i) {
          ASSERT_NEAR(total[i], expected.values()[i], 1e-11 * (1 + std::abs(expected.values()[i])))
              << checks::name(type) << " " << columns << " " << components << " element " << i;
        }
      }
    }
  }
}

TEST_F(DeviceIncremental, RefusesCutsThatGpusCannotMake) {
  const shoal::gmm::statistics_layout layout(covariance_type::full, 3, 4);
  auto options = options_for(algorithm::incremental, 3, covariance_type::full);
  const auto message = [&] {
    return fit_data::message_of([&] { shoal::gmm::make_device_chunk_plan(rows, 1, layout, options); });
  };
  options.chunks.rows = 5000;
  EXPECT_NE(message().find("multiple of 4096"), std::string::npos) << message();
  options.chunks.rows = 4096;
  options.chunks.superchunks = 513;
  EXPECT_NE(message().find("at most 512"), std::string::npos) << message();
  options.chunks.superchunks = 4;
  options.chunks.memory = 1000;
  EXPECT_NE(message().find("1000 bytes are too few"), std::string::npos) << message();
}

}  // namespace
