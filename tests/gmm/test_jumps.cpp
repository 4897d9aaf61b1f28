// Means that jump in one step: the covariance is that of two passes over the rows, whoever sums them.
#include <atomic>
#include <cmath>

#include <gtest/gtest.h>

#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/update.hpp>

#include "algorithm_data.hpp"
#include "jump_data.hpp"

namespace {

using namespace fit_data;
using namespace jump_data;
using algorithm_data::same_bits;
using copied_rows::copying_source;
using gmm::algorithm;
using gmm::covariance_type;
using gmm::initialization;

template <class Scalar>
constexpr double tolerance = sizeof(Scalar) == 4 ? 1e-3 : 1e-6;

// Calls check(Scalar, offset) with offsets of which the squares hide a variance of one.
template <class Check>
void for_offsets(const Check& check) {
  for (const double offset : {100.0, 1e4, 1e6}) check(0.0F, offset);
  for (const double offset : {1e6, 1e8, 1e12}) check(0.0, offset);
}

template <class Scalar>
std::vector<Scalar> far_cluster(double offset, std::size_t rows = 2000) {
  return as<Scalar>(clusters(rows, 2, 1, 0, offset));
}

class Jump : public testing::TestWithParam<covariance_type> {};
INSTANTIATE_TEST_SUITE_P(Types, Jump, testing::ValuesIn(all_types()));

TEST_P(Jump, OneIterationHasTheTwoPassCovariance) {
  for_offsets([&]<class Scalar>(Scalar, double offset) {
    const auto rows = far_cluster<Scalar>(offset);
    const moments expected(rows, 2);
    gmm::options options = one_step_from_the_origin(GetParam(), 2, offset);
    const auto fitted = gmm::fit(shoal::view_source<Scalar>({rows.data(), 2000, 2}), options);
    EXPECT_LT(expected.error_of(fitted.model), tolerance<Scalar>) << offset;
    for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(fitted.model.means[j], expected.mean[j], 1e-6 * offset);
    options.acceleration = gmm::acceleration::squarem;
    EXPECT_TRUE(same_bits(gmm::fit(shoal::view_source<Scalar>({rows.data(), 2000, 2}), options).model, fitted.model));
  });
}

TEST_P(Jump, WeightsCount) {
  for_offsets([&]<class Scalar>(Scalar, double offset) {
    const auto values = clusters(2000, 2, 1, 0, offset);
    std::vector<double> weights(2000);
    uniform u(5);
    for (double& weight : weights) weight = u() < 0.3 ? 0 : 2 * u();
    const moments expected(as<Scalar>(values), 2, &weights);
    const auto options = one_step_from_the_origin(GetParam(), 2, offset);
    EXPECT_LT(expected.error_of(fit<Scalar>(values, 2, options, &weights).model), tolerance<Scalar>) << offset;
  });
}

TEST_P(Jump, SameBitsForAnyThreadsAndAnyMemoryLimit) {
  const auto rows = far_cluster<float>(1e4, 20011);
  auto options = one_step_from_the_origin(GetParam(), 2, 1e4);
  options.max_iterations = 2;
  options.threads = 1;
  for (const auto which : {algorithm::batch, algorithm::incremental, algorithm::stepwise}) {
    options.algorithm = which;
    options.memory_limit = 0;
    const auto one = gmm::fit(shoal::view_source<float>({rows.data(), 20011, 2}), options);
    auto streamed = options;
    streamed.threads = 3;
    streamed.memory_limit = 3 * 512 * 2 * sizeof(float);
    EXPECT_TRUE(same_bits(gmm::fit(copying_source<float>(rows, 2), streamed).model, one.model));
  }
}

TEST_P(Jump, EveryAlgorithmSumsAboutTheNewMean) {
  for_offsets([&]<class Scalar>(Scalar, double offset) {
    const auto rows = far_cluster<Scalar>(offset);
    const moments expected(rows, 2);
    const shoal::view_source<Scalar> source({rows.data(), 2000, 2});
    auto options = one_step_from_the_origin(GetParam(), 2, offset);
    options.step_delay = 1;  // whose first step is a whole one
    for (const auto which : {algorithm::incremental, algorithm::asynchronous, algorithm::stepwise}) {
      options.algorithm = which;
      options.chunks.superchunks = which == algorithm::stepwise ? 1 : 4;
      for (const bool memberships : {false, true}) {
        options.chunks.memberships = memberships && which == algorithm::asynchronous;
        EXPECT_LT(expected.error_of(gmm::fit(source, options).model), tolerance<Scalar>) << offset;
      }
    }
    gmm::model moved = options.start;
    gmm::update(moved, source, {1, 0, 2, 0, {}});
    EXPECT_LT(expected.error_of(moved), tolerance<Scalar>) << offset;
  });
}

TEST_P(Jump, FirstModelsToo) {
  for_offsets([&]<class Scalar>(Scalar, double offset) {
    const auto rows = far_cluster<Scalar>(offset);
    const moments expected(rows, 2);
    auto options = one_step_from_the_origin(GetParam(), 2, offset);
    options.max_iterations = 0;
    for (const auto init : {initialization::kmeans, initialization::random_responsibilities}) {
      options.init = init;
      const auto first = gmm::fit(shoal::view_source<Scalar>({rows.data(), 2000, 2}), options).model;
      EXPECT_LT(expected.error_of(first), tolerance<Scalar>) << offset;
    }
  });
}

// Two components that go to two clusters 4e5 deviations apart.
TEST(Jumps, OfComponentsThatShareACovariance) {
  std::vector<double> values = clusters(1000, 2, 1, 0, 2e5);
  const std::vector<double> other = clusters(1000, 2, 1, 0, -2e5, 3);
  const moments right(as<float>(values), 2), left(as<float>(other), 2);
  values.insert(values.end(), other.begin(), other.end());
  auto options = one_step_from_the_origin(covariance_type::tied, 2, 1e4);
  options.components = options.start.components = 2;
  options.start.weights = {0.5, 0.5};
  options.start.means = {6e5, 6e5, -6e5, -6e5};
  const gmm::model made = fit<float>(values, 2, options).model;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(made.covariances[i], (right.covariance[i] + left.covariance[i]) / 2, 1e-3 * right.trace());
  }
}

// Rows that were read in all, by copying.
class counting_source final : public shoal::row_source<double> {
 public:
  explicit counting_source(const std::vector<double>& values) : held_(values, 2) {}
  std::size_t rows() const override { return held_.rows(); }
  std::size_t columns() const override { return held_.columns(); }
  bool resident() const override { return false; }
  shoal::matrix_view<const double> read(std::size_t first, std::size_t count,
                                        shoal::aligned_buffer<double>& buffer) const override {
    read_rows += count;
    return held_.read(first, count, buffer);
  }
  mutable std::atomic<std::size_t> read_rows{0};

 private:
  copying_source<double> held_;
};

TEST(Jumps, CostsAPassWhereThereIsOneAndElseNothing) {
  std::vector<std::size_t> read;
  for (const double offset : {1.0, 100.0, 1e3, 1e6}) {
    const auto values = clusters(2000, 2, 1, 0, offset);
    const counting_source source(values);
    auto options = one_step_from_the_origin(covariance_type::full, 2, offset);
    options.max_iterations = 3;
    gmm::fit(source, options);
    read.push_back(source.read_rows);
  }
  EXPECT_EQ(read[1], read[0]);
  EXPECT_EQ(read[2], read[0]);
  EXPECT_EQ(read[3], read[0] + 2000);
}

// The mean jumps in the middle of a pass, from sums of several models.
TEST(Jumps, WithinAPassEndsItWithOneOfBatch) {
  std::size_t refused = 0;
  for (const double distance : {1e5, 1e6, 1e7}) {
    const auto values = two_clusters_and_an_outlier(distance);
    const shoal::view_source<double> source({values.data(), values.size() / 2, 2});
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      auto options = from_random_rows(values, 3, seed);
      options.chunks.rows = 64;
      options.chunks.superchunks = 4;
      options.max_iterations = 10;
      options.algorithm = algorithm::incremental;
      gmm::fit_result incremental;
      const std::string said = message_of([&] { incremental = gmm::fit(source, options); });
      options.algorithm = algorithm::asynchronous;
      gmm::fit_result asynchronous;
      EXPECT_EQ(message_of([&] { asynchronous = gmm::fit(source, options); }), said);
      EXPECT_TRUE(same_bits(asynchronous.model, incremental.model));
      EXPECT_EQ(asynchronous.history, incremental.history);
      if (said != "nothing was thrown") ++refused;
    }
  }
  EXPECT_EQ(refused, 0u);
}

TEST(Jumps, OutliersAreRefusedNoMoreOftenThanByScikitLearn) {
  expect_no_more_refusals_than_scikit_learn<float>({});
  expect_no_more_refusals_than_scikit_learn<double>({});
}

// Whoever has the sums alone cannot make them again.
TEST(Jumps, PublicStatisticsSayWhatTheyCannotTell) {
  const auto rows = far_cluster<float>(1e4);
  for (const covariance_type type : all_types()) {
    const gmm::model start = one_step_from_the_origin(type, 2, 1e4).start;
    const auto sums = gmm::accumulate(start, shoal::matrix_view<const float>(rows.data(), 2000, 2));
    const std::string said = message_of([&] { gmm::maximise(sums, start); });
    EXPECT_NE(said.find("the mean of component 0 moved by 1e+04 in column"), std::string::npos) << said;
    EXPECT_NE(said.find("accumulate float64 rows"), std::string::npos) << said;
  }
}

}  // namespace
