// One component's sums from what was learnt of the rows, against float64: awkward sizes, centres that are not the mean,
// rows far from the origin, closely correlated columns, and the same bits however rows are cut and wherever they lie.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/backend_fit.hpp>
#include <shoal/gmm/cuda/backend.hpp>
#include <shoal/gmm/cuda/one_component/one_component.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/gmm.hpp>

#include "../../../cuda_devices.hpp"
#include "../../../sharded_rows.hpp"
#include "../checks.hpp"
#include "../few_columns/checks.hpp"

namespace {

namespace gmm = shoal::gmm;
using checks::covariance_type;
using gmm::statistics;
using gmm::statistics_layout;
using sharded_rows::held_rows;
using sharded_rows::placing;

template <class Scalar>
struct on_device {
  on_device(const gmm::model& model, const std::vector<Scalar>& rows, std::size_t piece = std::size_t{1} << 30)
      : layout(model.covariance_type, 1, model.columns),
        count(rows.size() / model.columns),
        mixture(gmm::prepare<Scalar>(model), stream) {
    const gmm::accumulator_shape shape = checks::shape_of(layout, count, false);
    learning = gmm::one_component::make_accumulator<Scalar>(shape, 1, gmm::plain::make_accumulator<Scalar>(shape));
    device_rows.upload(rows, stream);
    for (std::size_t first = 0; first < count; first += piece) {
      learning->learn(
          0, {device_rows.data() + first * model.columns, nullptr, first, first, std::min(piece, count - first)},
          stream);
    }
    stream.synchronize();
  }

  statistics sums(std::size_t shard = 0) {
    learning->expect_shard(shard);
    return checks::accumulate_on_device<Scalar>(*learning, mixture.view(), layout, count, device_rows.data(), nullptr,
                                                std::size_t{1} << 30, stream);
  }

  shoal::cuda::stream stream;
  statistics_layout layout;
  std::size_t count;
  checks::device_mixture<Scalar> mixture;
  std::unique_ptr<gmm::learning_accumulator<Scalar>> learning;
  shoal::cuda::device_buffer<Scalar> device_rows;
};

template <class Scalar>
class OneComponent : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }

  // Sums are float64 whatever the rows are.
  static void check(const gmm::model& model, const std::vector<Scalar>& rows, double tolerance,
                    const std::string& what) {
    const statistics expected = checks::expected_sums<Scalar>(model, rows, {});
    on_device<Scalar> device(model, rows);
    const statistics got = device.sums();
    checks::expect_close(got, expected, tolerance, what);
    EXPECT_EQ(got.far_rows(), 0) << what;
    EXPECT_EQ(got.values()[3], 0.0) << what;
    checks::expect_same_bits(device.sums(), got, what + ", again");
    on_device<Scalar> in_pieces(model, rows, 4096);
    checks::expect_same_bits(in_pieces.sums(), got, what + ", learnt in pieces of 4096");
  }
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(OneComponent, scalars);

TYPED_TEST(OneComponent, AgreesWithFloat64AtEveryShape) {
  const std::size_t row_counts[] = {1, 127, 511, 512, 513, 5003};
  std::size_t turn = 0;
  for (const std::size_t columns : {1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 65, 128, 129, 200}) {
    for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
      const auto seed = static_cast<unsigned>(++turn);
      const std::size_t count = row_counts[turn % 6];
      const gmm::model model = checks::rounded_model(type, 1, columns, 0.7, seed);
      this->check(model, reference::random_rows<TypeParam>(model, count, columns, seed + 1), 1e-11,
                  fmt::format("{}, {} rows, {} columns", checks::name(type), count, columns));
      if (this->HasFatalFailure()) return;
    }
  }
}

// The first rows, whose mean what is learnt is about, lie twenty deviations from the others, all far from the origin.
TYPED_TEST(OneComponent, KeepsItsDigitsWhereTheFirstRowsAreElsewhere) {
  constexpr std::size_t columns = 20, count = 20'011;
  gmm::model model = checks::rounded_model(covariance_type::full, 1, columns, 0.7, 3);
  for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean + 1e4));
  std::vector<TypeParam> rows = reference::random_rows<TypeParam>(model, count, columns, 4);
  for (std::size_t i = 0; i < 600 * columns; ++i) rows[i] += 20;
  this->check(model, rows, 1e-10, "first rows elsewhere");
}

TYPED_TEST(OneComponent, KeepsItsDigitsWithCloselyCorrelatedColumns) {
  constexpr std::size_t columns = 24, count = 3000;
  gmm::model model = checks::rounded_model(covariance_type::full, 1, columns, 0.0, 41);
  std::vector<TypeParam> rows = reference::random_rows<TypeParam>(model, count, columns, 42);
  const double rest = 1e-6;
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t j = 0; j < columns; ++j) model.covariances[i * columns + j] = 1.0 + (i == j ? rest : 0.0);
  }
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t j = 1; j < columns; ++j) {
      rows[r * columns + j] = static_cast<TypeParam>(static_cast<double>(rows[r * columns]) +
                                                     std::sqrt(rest) * static_cast<double>(rows[r * columns + j]));
    }
  }
  on_device<TypeParam> device(model, rows);
  const double expected = checks::expected_sums<TypeParam>(model, rows, {}).log_likelihood();
  EXPECT_NEAR(device.sums().log_likelihood(), expected, 1e-8 * count);
}

TYPED_TEST(OneComponent, LeavesOtherRowsToOthers) {
  const gmm::model model = checks::rounded_model(covariance_type::full, 1, 5, 0.7, 3);
  const auto rows = reference::random_rows<TypeParam>(model, 700, 5, 4);
  on_device<TypeParam> device(model, rows);
  const statistics expected = checks::expected_sums<TypeParam>(model, rows, {});
  checks::expect_close(device.sums(gmm::other_rows), expected, 1e-5, "other rows");
  checks::expect_close(device.sums(), expected, 1e-11, "learnt rows");
}

TYPED_TEST(OneComponent, ChangesNothingWhenStopped) {
  const gmm::model model = checks::rounded_model(covariance_type::full, 1, 5, 0.7, 3);
  on_device<TypeParam> device(model, reference::random_rows<TypeParam>(model, 700, 5, 4));
  device.mixture.set_stopped(1, device.stream);
  const std::vector<double> before(device.layout.size(), 7.0);
  shoal::cuda::device_buffer<double> sums;
  sums.upload(before, device.stream);
  device.learning->expect_shard(0);
  device.learning->clear(device.mixture.view(), device.stream);
  device.learning->merge(sums.data(), device.mixture.view(), device.stream);
  EXPECT_EQ(sums.download(before.size(), device.stream), before);
}

TYPED_TEST(OneComponent, RefusesOtherShapes) {
  for (const auto& [type, components] :
       {std::pair{covariance_type::full, std::size_t{2}}, std::pair{covariance_type::diag, std::size_t{1}}}) {
    const auto shape = checks::shape_of(statistics_layout(type, components, 20), 1'000'000, false);
    EXPECT_FALSE(gmm::one_component::suits(shape));
    EXPECT_THROW(gmm::one_component::make_accumulator<TypeParam>(shape, 1, nullptr), shoal::bad_argument);
  }
  const statistics_layout one(covariance_type::full, 1, 20);
  EXPECT_TRUE(gmm::one_component::suits(checks::shape_of(one, 1'000'000, false)));
  EXPECT_FALSE(gmm::one_component::suits(checks::shape_of(one, 1'000'000, true)));
  EXPECT_FALSE(gmm::one_component::suits(checks::shape_of(one, 100, false)));
}

template <class Scalar>
class OneComponentFits : public cuda_devices::on_one_device {
 protected:
  static constexpr std::size_t shards = 2, columns = 20, count = 20'011;
};
TYPED_TEST_SUITE(OneComponentFits, scalars);

TYPED_TEST(OneComponentFits, AreTheSameOnAnyNumberOfGpusAndFindTheMoments) {
  constexpr std::size_t columns = TestFixture::columns, count = TestFixture::count;
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    const gmm::model model = checks::rounded_model(type, 1, columns, 3, 5);
    const auto values = reference::random_rows<TypeParam>(model, count, columns, 6);
    const held_rows<TypeParam> held({values.data(), count, columns});
    gmm::options options;
    options.components = 1;
    options.covariance_type = type;
    options.init = gmm::initialization::random_rows;
    options.max_iterations = 3;
    options.tolerance = 0;
    options.regularization = 0;
    const auto fit = [&](const placing& where) {
      return gmm::fit(*gmm::make_cuda_backend(held.on(where, TestFixture::shards)), options, {});
    };
    const gmm::fit_result expected = fit({});
    for (std::size_t j = 0; j < columns; ++j) {
      double mean = 0, variance = 0;
      for (std::size_t r = 0; r < count; ++r) mean += static_cast<double>(values[r * columns + j]);
      mean /= count;
      for (std::size_t r = 0; r < count; ++r)
        variance += std::pow(static_cast<double>(values[r * columns + j]) - mean, 2);
      EXPECT_NEAR(expected.model.means[j], mean, 1e-10);
      EXPECT_NEAR(expected.model.covariances[j * columns + j], variance / count, 1e-9);
    }
    for (const placing& where : sharded_rows::placings(held.row_bytes())) {
      const gmm::fit_result got = fit(where);
      EXPECT_EQ(got.history, expected.history) << name(where);
      EXPECT_EQ(got.model.means, expected.model.means) << name(where);
      EXPECT_EQ(got.model.covariances, expected.model.covariances) << name(where);
    }
  }
}

}  // namespace
