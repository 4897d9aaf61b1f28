// Incremental, asynchronous and stepwise fits as users call them: what they share with batch, and with each other.
#include <cmath>

#include <gtest/gtest.h>

#include "algorithm_data.hpp"

namespace {

using namespace algorithm_data;
using namespace fit_data;
using gmm::algorithm;
using gmm::covariance_type;

class AlgorithmOfType : public testing::TestWithParam<covariance_type> {};
INSTANTIATE_TEST_SUITE_P(Types, AlgorithmOfType, testing::ValuesIn(all_types()));

TEST_P(AlgorithmOfType, IncrementalWithOneChunkIsBatch) {
  const auto values = clusters(3001, 3, 3, 2);
  auto options = options_for(algorithm::incremental, 3, 8, GetParam());
  options.chunks.superchunks = 1;
  options.chunks.rows = 3001;
  const auto incremental = fit<double>(values, 3, options);
  options.algorithm = algorithm::batch;
  const auto batch = fit<double>(values, 3, options);
  EXPECT_LT(difference(incremental.model, batch.model), 1e-11);
  ASSERT_EQ(incremental.history.size(), batch.history.size());
  for (std::size_t i = 0; i < batch.history.size(); ++i) EXPECT_NEAR(incremental.history[i], batch.history[i], 1e-12);
}

TEST_P(AlgorithmOfType, AsynchronousOnOneThreadWithoutThresholdIsIncremental) {
  const auto rows = as<float>(clusters(7003, 3, 3, 2));
  const shoal::view_source<float> source({rows.data(), 7003, 3});
  auto options = options_for(algorithm::incremental, 3, 6, GetParam());
  options.chunks.rows = 300;
  options.chunks.superchunks = 6;
  const auto incremental = gmm::fit(source, options);
  options.algorithm = algorithm::asynchronous;
  options.threads = 1;
  const auto asynchronous = gmm::fit(source, options);
  EXPECT_TRUE(same_bits(asynchronous.model, incremental.model));
  EXPECT_EQ(asynchronous.history, incremental.history);
}

TEST_P(AlgorithmOfType, SameBitsForAnyThreadsAndAnyMemoryLimit) {
  const auto rows = as<float>(clusters(20011, 3, 4, 3));
  const shoal::view_source<float> resident({rows.data(), 20011, 3});
  const copying_source<float> streamed(rows, 3);
  std::vector<gmm::options> fits;
  for (const auto which : {algorithm::incremental, algorithm::stepwise}) {
    fits.push_back(options_for(which, 4, 4, GetParam()));
    fits.push_back(fits.back());
    fits.back().chunks.rows = 700;
    fits.back().chunks.superchunks = 5;
  }
  fits.push_back(options_for(algorithm::batch, 4, 9, GetParam()));
  fits.back().acceleration = gmm::acceleration::squarem;
  for (gmm::options options : fits) {
    options.threads = 1;
    const auto expected = gmm::fit(resident, options);
    for (const std::size_t threads : {2, 3, 7}) {
      options.threads = threads;
      options.memory_limit = threads * 512 * 3 * sizeof(float);
      const auto got = gmm::fit(streamed, options);
      EXPECT_TRUE(same_bits(got.model, expected.model));
      EXPECT_EQ(got.history, expected.history);
      EXPECT_EQ(got.mean_log_likelihood, expected.mean_log_likelihood);
    }
  }
}

TEST_P(AlgorithmOfType, AllEndNearBatchOnSeparatedData) {
  const auto values = clusters(12000, 2, 3, 9);
  auto options = options_for(algorithm::batch, 3, 40, GetParam());
  options.init = gmm::initialization::kmeans;
  const double batch = fit<float>(values, 2, options).mean_log_likelihood;
  for (const auto which : {algorithm::incremental, algorithm::asynchronous, algorithm::stepwise}) {
    options.algorithm = which;
    EXPECT_NEAR(fit<float>(values, 2, options).mean_log_likelihood, batch, 1e-3);
    EXPECT_NEAR(fit<double>(values, 2, options).mean_log_likelihood, batch, 1e-3);
  }
  options.algorithm = algorithm::asynchronous;
  for (const double threshold : {1e-3, 0.05}) {
    options.chunks.threshold = threshold;
    EXPECT_NEAR(fit<float>(values, 2, options).mean_log_likelihood, batch, 1e-3) << threshold;
  }
  options.algorithm = algorithm::batch;
  options.chunks = {};
  options.acceleration = gmm::acceleration::squarem;
  EXPECT_NEAR(fit<float>(values, 2, options).mean_log_likelihood, batch, 1e-3);
  gmm::set_async_em_2013(options);
  const auto preset = fit<float>(values, 2, options);
  EXPECT_NEAR(preset.mean_log_likelihood, batch, 1e-3);
  EXPECT_TRUE(preset.converged);
  EXPECT_LT(preset.iterations, 100u);
}

TEST_P(AlgorithmOfType, WeightsAndRowsOfNoWeightCountAsInBatch) {
  const auto values = clusters(4000, 2, 2, 8);
  std::vector<double> weights(4000);
  uniform u(5);
  for (double& weight : weights) weight = u() < 0.3 ? 0 : 2 * u();
  auto options = options_for(algorithm::batch, 2, 30, GetParam());
  options.init = gmm::initialization::kmeans;
  const double batch = fit<double>(values, 2, options, &weights).mean_log_likelihood;
  for (const auto which : {algorithm::incremental, algorithm::asynchronous, algorithm::stepwise}) {
    options.algorithm = which;
    EXPECT_NEAR(fit<double>(values, 2, options, &weights).mean_log_likelihood, batch, 1e-3);
  }
}

TEST_P(AlgorithmOfType, AnEmptyComponentIsReseededAndCounted) {
  const auto values = clusters(3000, 2, 2, 40);
  for (const auto which : {algorithm::incremental, algorithm::asynchronous, algorithm::stepwise}) {
    auto options = options_for(which, 2, 60, GetParam());
    options.regularization = 1e-6;
    options.init = gmm::initialization::model;
    options.start.covariance_type = GetParam();
    options.start.components = 2;
    options.start.columns = 2;
    options.start.weights = {0.5, 0.5};
    options.start.means = {0, 0, 1e7, 1e7};
    options.start.covariances.assign(gmm::covariance_size(GetParam(), 2, 2), 0.0);
    const bool matrices = GetParam() == covariance_type::full || GetParam() == covariance_type::tied;
    for (std::size_t i = 0; i < options.start.covariances.size(); ++i) {
      options.start.covariances[i] = matrices && (i % 4 == 1 || i % 4 == 2) ? 0 : 1;
    }
    const auto result = fit<double>(values, 2, options);
    EXPECT_GE(result.reseeded, 1u);
    EXPECT_TRUE(std::isfinite(result.mean_log_likelihood));
    // One covariance for all has grown to span both clusters, and a single row cannot narrow it again.
    if (GetParam() == covariance_type::tied || which == algorithm::stepwise) continue;
    EXPECT_NEAR(std::min(result.model.means[0], result.model.means[2]), 0, 0.5);
    EXPECT_NEAR(std::max(result.model.means[0], result.model.means[2]), 40, 0.5);
  }
}

TEST(Algorithm, ACollapsedComponentIsNamed) {
  std::vector<double> values = clusters(4000, 2, 2, 20);
  for (std::size_t i = 0; i < 4000; i += 2) values[2 * i + 1] = 3;  // constant in the first cluster
  for (const auto which : {algorithm::batch, algorithm::incremental, algorithm::asynchronous}) {
    auto options = options_for(which, 2, 20);
    options.init = gmm::initialization::model;
    options.start.components = 2;
    options.start.columns = 2;
    options.start.weights = {0.5, 0.5};
    options.start.means = {20, 20, 0, 3};
    options.start.covariances = {1, 0, 0, 1, 1, 0, 0, 1};
    const std::string message = message_of([&] { fit<double>(values, 2, options); });
    EXPECT_NE(message.find("ill-defined empirical covariance: component 1"), std::string::npos) << message;
  }
}

TEST(Algorithm, ResumesToTheSameBits) {
  const auto rows = clusters(9001, 2, 3, 2);
  const shoal::view_source<double> source({rows.data(), 9001, 2});
  std::vector<gmm::options> fits{options_for(algorithm::incremental, 3, 9), options_for(algorithm::stepwise, 3, 9),
                                 options_for(algorithm::batch, 3, 20)};
  fits[2].acceleration = gmm::acceleration::squarem;
  for (gmm::options options : fits) {
    options.restarts = 2;
    const auto expected = gmm::fit(source, options);
    for (const std::size_t pass : {1, 3, 4, 5, 12}) {
      const auto resumed = stopped_and_resumed(source, options, pass);
      EXPECT_TRUE(same_bits(resumed.model, expected.model)) << pass;
      EXPECT_EQ(resumed.history, expected.history) << pass;
    }
  }
  auto options = options_for(algorithm::asynchronous, 3, 9);
  options.init = gmm::initialization::kmeans;
  EXPECT_NEAR(stopped_and_resumed(source, options, 4).mean_log_likelihood,
              gmm::fit(source, options).mean_log_likelihood, 1e-3);
}

TEST(Algorithm, ACheckpointOfAnotherAlgorithmIsRefused) {
  const auto rows = clusters(2000, 2, 2, 3);
  const shoal::view_source<double> source({rows.data(), 2000, 2});
  const std::string path = (std::filesystem::temp_directory_path() / "shoal-gmm-other-algorithm.checkpoint").string();
  std::filesystem::remove(path);
  auto options = options_for(algorithm::batch, 2, 3);
  options.checkpoint = path;
  gmm::fit(source, options);
  const auto refusal = [&](auto&& change) {
    gmm::options other = options;
    change(other);
    return message_of([&] { gmm::fit(source, other); });
  };
  EXPECT_NE(refusal([](auto& o) {
              o.algorithm = algorithm::incremental;
            }).find("algorithm is batch there and incremental in chunks"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& o) {
              o.acceleration = gmm::acceleration::squarem;
            }).find("algorithm is batch there and batch with squarem here"),
            std::string::npos);
  std::filesystem::remove(path);
}

TEST(Algorithm, OptionsThatDoNotSuitItAreNamed) {
  const auto values = clusters(5000, 2, 1, 0);
  const auto refused = [&](algorithm which, auto&& change, const char* expected) {
    auto options = options_for(which, 2, 2);
    change(options);
    try {
      fit<double>(values, 2, options);
      ADD_FAILURE() << expected << " was accepted";
    } catch (const shoal::bad_argument& failure) {
      EXPECT_NE(std::string(failure.what()).find(expected), std::string::npos) << failure.what();
    }
  };
  refused(
      algorithm::incremental, [](auto& o) { o.acceleration = gmm::acceleration::squarem; }, "squarem");
  refused(
      algorithm::incremental, [](auto& o) { o.chunks.threshold = 0.1; }, "asynchronous");
  refused(
      algorithm::asynchronous, [](auto& o) { o.chunks.threshold = -1; }, "chunks.threshold");
  refused(
      algorithm::asynchronous, [](auto& o) { o.chunks.rebuild_passes = 0; }, "chunks.rebuild_passes");
  refused(
      algorithm::stepwise, [](auto& o) { o.step_exponent = 0.5; }, "step_exponent");
  refused(
      algorithm::stepwise, [](auto& o) { o.step_delay = 0; }, "step_delay");
  refused(
      algorithm::incremental, [](auto& o) { o.chunks.memory = 10; }, "chunks.memory");
  refused(
      algorithm::incremental,
      [](auto& o) {
        o.chunks.rows = 1;
        o.chunks.memory = 4000;
      },
      "chunks of at least");
  refused(
      algorithm::asynchronous,
      [](auto& o) {
        o.chunks.memberships = true;
        o.chunks.memory = 5000;
      },
      "memberships");
}

TEST(Algorithm, AMemoryLimitMakesChunksLarger) {
  const auto values = clusters(20000, 2, 2, 8);
  auto options = options_for(algorithm::incremental, 2, 10);
  const double usual = fit<double>(values, 2, options).mean_log_likelihood;
  options.chunks.memory = 1000;  // the statistics of seven chunks
  EXPECT_NEAR(fit<double>(values, 2, options).mean_log_likelihood, usual, 1e-3);
}

}  // namespace
