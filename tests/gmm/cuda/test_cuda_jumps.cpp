// Means that jump in one step, on CUDA devices: the covariance is that of two passes over the rows.
#include <cmath>
#include <vector>

#include <shoal/gmm/update.hpp>

#include "../../cuda_devices.hpp"
#include "../algorithm_data.hpp"
#include "../jump_data.hpp"

namespace {

using namespace fit_data;
using namespace jump_data;
using algorithm_data::same_bits;
using gmm::algorithm;
using gmm::covariance_type;
using gmm::initialization;

template <class Scalar>
constexpr double tolerance = sizeof(Scalar) == 4 ? 1e-3 : 1e-6;

constexpr std::size_t rows = 9001;

template <class Scalar>
struct far_cluster {
  explicit far_cluster(double offset, std::size_t columns = 2)
      : values(as<Scalar>(clusters(rows, columns, 1, 0, offset))),
        source({values.data(), rows, columns}),
        expected(values, columns) {}
  std::vector<Scalar> values;
  shoal::view_source<Scalar> source;
  moments expected;
};

// Calls check(Scalar, offset).
template <class Check>
void for_offsets(const Check& check) {
  check(0.0F, 1e4);
  check(0.0F, 1e6);
  check(0.0, 1e8);
}

class CudaJump : public testing::TestWithParam<covariance_type> {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }

  static gmm::options one_step(covariance_type type, std::size_t columns, double offset) {
    gmm::options options = one_step_from_the_origin(type, columns, offset);
    options.device = {cuda_devices::first(1), 0};
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Types, CudaJump, testing::ValuesIn(all_types()));

TEST_P(CudaJump, OneIterationHasTheTwoPassCovariance) {
  for (const std::size_t columns : {1, 2, 7, 33, 70}) {
    for_offsets([&]<class Scalar>(Scalar, double offset) {
      const far_cluster<Scalar> data(offset, columns);
      gmm::options options = one_step(GetParam(), columns, offset);
      const auto fitted = gmm::fit(data.source, options);
      EXPECT_LT(data.expected.error_of(fitted.model), tolerance<Scalar>) << offset << ", " << columns << " columns";
      EXPECT_EQ(fitted.history.size(), 1u);
      options.acceleration = gmm::acceleration::squarem;
      EXPECT_LT(data.expected.error_of(gmm::fit(data.source, options).model), tolerance<Scalar>) << offset;
    });
  }
}

TEST_P(CudaJump, EveryAlgorithmSumsAboutTheNewMean) {
  for_offsets([&]<class Scalar>(Scalar, double offset) {
    const far_cluster<Scalar> data(offset);
    gmm::options options = one_step(GetParam(), 2, offset);
    options.step_delay = 1;  // whose first step is a whole one
    for (const auto which : {algorithm::incremental, algorithm::asynchronous, algorithm::stepwise}) {
      options.algorithm = which;
      options.chunks.superchunks = which == algorithm::stepwise ? 1 : 2;
      EXPECT_LT(data.expected.error_of(gmm::fit(data.source, options).model), tolerance<Scalar>) << offset;
    }
    gmm::model moved = options.start;
    gmm::update(moved, data.source, {1, 0, 2, 0, options.device});
    EXPECT_LT(data.expected.error_of(moved), tolerance<Scalar>) << offset;
  });
}

TEST_P(CudaJump, FirstModelsToo) {
  for_offsets([&]<class Scalar>(Scalar, double offset) {
    const far_cluster<Scalar> data(offset);
    gmm::options options = one_step(GetParam(), 2, offset);
    options.max_iterations = 0;
    for (const auto init : {initialization::kmeans, initialization::random_responsibilities}) {
      options.init = init;
      EXPECT_LT(data.expected.error_of(gmm::fit(data.source, options).model), tolerance<Scalar>) << offset;
    }
  });
}

TEST_P(CudaJump, StreamedRowsGiveTheSameBits) {
  const far_cluster<float> data(1e4);
  gmm::options options = one_step(GetParam(), 2, 1e4);
  options.max_iterations = 4;
  options.tolerance = 0;
  const auto resident = gmm::fit(data.source, options);
  options.device.memory = 2 * 4096 * 2 * sizeof(float);
  const auto streamed = gmm::fit(data.source, options);
  EXPECT_TRUE(same_bits(streamed.model, resident.model));
  EXPECT_EQ(streamed.history, resident.history);
}

// Weighted rows, two components of which one jumps far and the other hardly.
TEST_P(CudaJump, FollowsTheHost) {
  std::vector<double> values = clusters(3000, 2, 1, 0, 0), weights;
  const std::vector<double> other = clusters(3000, 2, 1, 0, 1e5, 3);
  values.insert(values.end(), other.begin(), other.end());
  uniform u(5);
  for (std::size_t i = 0; i < 6000; ++i) weights.push_back(0.5 + u());
  gmm::options options = one_step(GetParam(), 2, 1e3);
  options.components = options.start.components = 2;
  options.start.weights = {0.5, 0.5};
  options.start.means = {1, 1, 1.2e5, 1.2e5};
  if (GetParam() != covariance_type::tied) {
    const std::vector<double> one = options.start.covariances;
    options.start.covariances.insert(options.start.covariances.end(), one.begin(), one.end());
  }
  options.max_iterations = 3;
  const auto device = fit<float>(values, 2, options, &weights);
  options.device = {};
  const auto host = fit<float>(values, 2, options, &weights);
  EXPECT_LT(algorithm_data::difference(device.model, host.model), 1e-4);
  EXPECT_NEAR(device.mean_log_likelihood, host.mean_log_likelihood, 1e-4);
}

class CudaJumps : public cuda_devices::on_one_device {};

TEST_F(CudaJumps, OutliersAreRefusedNoMoreOftenThanByScikitLearn) {
  expect_no_more_refusals_than_scikit_learn<float>({cuda_devices::first(1), 0});
  expect_no_more_refusals_than_scikit_learn<double>({cuda_devices::first(1), 0});
}

// 4097 rows are cut into 4096 and one.
TEST_F(CudaJumps, AShortSuperchunkLeavesTheOptimumWhereItIs) {
  for (const covariance_type type : all_types()) {
    const auto values = clusters(4097, 2, 2, 4);
    gmm::options options;
    options.components = 2;
    options.covariance_type = type;
    options.tolerance = 1e-9;
    options.max_iterations = 1000;
    options.device = {cuda_devices::first(1), 0};
    const auto optimum = fit<double>(values, 2, options);
    options.init = initialization::model;
    options.start = optimum.model;
    options.algorithm = algorithm::stepwise;
    options.chunks.rows = 4096;
    options.tolerance = 0;
    options.max_iterations = 10;
    for (options.seed = 0; options.seed < 4; ++options.seed) {
      EXPECT_GT(fit<double>(values, 2, options).mean_log_likelihood, optimum.mean_log_likelihood - 2e-3);
      EXPECT_GT(fit<float>(values, 2, options).mean_log_likelihood, optimum.mean_log_likelihood - 2e-3);
    }
  }
}

}  // namespace
