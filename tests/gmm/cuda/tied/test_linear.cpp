// Tied mixtures of few rows by linear functions of a row, against float64: awkward sizes and the neighbours of each
// limit, rows that are far, components and columns that are left to others, and the same bits
// however rows are cut.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/tied/tied.hpp>
#include <shoal/gmm/cuda/tied/tuning.hpp>
#include <shoal/gmm/fit.hpp>

#include "../../../cuda_devices.hpp"
#include "../checks.hpp"
#include "../few_columns/checks.hpp"
#include "../nobody.hpp"
#include "checks.hpp"

namespace {

using checks::covariance_type;
using shoal::gmm::accumulator;
using shoal::gmm::accumulator_shape;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

class LinearAccumulator : public ::testing::Test {
 protected:
  void SetUp() override {
    SHOAL_NEEDS_DEVICES(1);
    SHOAL_NEEDS_PRODUCTS();
  }
};

template <class Scalar>
struct on_device : checks::learning_device<Scalar> {
  on_device(const shoal::gmm::model& model, const std::vector<Scalar>& rows, bool alone,
            std::size_t piece = std::size_t{1} << 30)
      : checks::learning_device<Scalar>(model, rows, shoal::gmm::tied::make_linear_accumulator, alone, piece) {}
};

// Float32 rows are summed in float64 too, under responsibilities of float32.
template <class Scalar>
constexpr double tolerance = sizeof(Scalar) == 4 ? 1e-6 : checks::kernel_tolerance<double>;

template <class Scalar>
void check(std::size_t rows, std::size_t columns, std::size_t components, double spread, bool alone = true) {
  checks::check_learning<Scalar>(rows, columns, components, spread, tolerance<Scalar>,
                                 shoal::gmm::tied::make_linear_accumulator, alone);
}

void check_both(std::size_t rows, std::size_t columns, std::size_t components, double spread) {
  check<float>(rows, columns, components, spread);
  check<double>(rows, columns, components, spread);
}

TEST_F(LinearAccumulator, AnyNumberOfColumns) {
  for (const std::size_t columns : {1, 7, 8, 9, 17, 23, 24, 25, 33, 39, 40, 41, 63, 64, 65, 72, 80, 81, 96}) {
    check_both(37, columns, 3, 0.3);
  }
  for (const std::size_t columns : {24, 25, 40, 41, 80, 81}) {
    for (const std::size_t components : {20, 40, 60}) check_both(50, columns, components, 0.3);
  }
}

// As many as there is room for.
TEST_F(LinearAccumulator, WidestRows) {
  check<float>(33, 129, 5, 0.2);
  check<double>(33, 192, 64, 0.2);
  check<double>(33, 320, 17, 0.1);
  check<float>(33, 320, 48, 0.1);
  check<float>(33, 512, 2, 0.1);
}

TEST_F(LinearAccumulator, AnyNumberOfComponents) {
  for (const std::size_t components : {2, 3, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 47, 48, 49, 57, 63, 64}) {
    check_both(40, 20, components, 0.4);
  }
  // Warps that divide them.
  for (const std::size_t components : {65, 79, 80, 81, 100, 128, 129, 256, 257, 384, 385, 511, 512}) {
    check_both(40, 24, components, 0.2);
    check<double>(40, 3, components, 0.4);
  }
  for (const std::size_t components : {65, 129, 336}) check_both(40, 40, components, 0.2);
  for (const std::size_t components : {17, 65, 128}) check_both(40, 64, components, 0.2);
  // And those that each have all.
  for (const std::size_t components : {17, 33, 49, 64, 65, 100}) check_both(20'000, 18, components, 0.3);
  for (const std::size_t components : {2, 16, 17, 33, 49, 64}) check<float>(40, 70, components, 0.2);
}

TEST_F(LinearAccumulator, AwkwardNumbersOfRows) {
  for (const std::size_t rows : {1, 2, 15, 16, 17, 31, 33, 511, 512, 513, 2111, 2112, 2113, 4095, 4096, 4097, 40000}) {
    check_both(rows, 18, 5, 0.4);
    if (rows <= 33) check_both(rows, 70, 3, 0.2);
    check_both(rows, 13, 100, 0.3);
  }
  check<float>(100003, 17, 3, 0.5);
}

TEST_F(LinearAccumulator, ComponentsThatLieApart) {
  for (const double spread : {3.0, 20.0, 200.0}) {
    check<float>(1003, 33, 10, spread, false);
    check<float>(301, 100, 10, spread, false);
    if (spread > 20) continue;
    check<double>(1003, 33, 10, spread, false);
  }
}

TEST_F(LinearAccumulator, LeavesCloselyCorrelatedColumnsToOthers) {
  for (const std::size_t columns : {20, 70}) {
    auto model = checks::rounded_model(covariance_type::tied, 5, columns, 0.6, 3);
    for (const double rest : {1e-1, 1e-5, 1e-9}) {
      for (std::size_t i = 0; i < columns; ++i) {
        for (std::size_t j = 0; j < columns; ++j) model.covariances[i * columns + j] = (i == j ? rest : 0) + 1;
      }
      const auto data = reference::random_rows<float>(model, 503, columns, 4);
      on_device<float> device(model, data, false);
      checks::expect_tied_sums(device.sums(), model, data, checks::kernel_tolerance<float>,
                               fmt::format("{} columns, {} apart from each other", columns, rest));
    }
  }
}

TEST_F(LinearAccumulator, FarRows) {
  for (const auto& [columns, components] :
       std::vector<std::pair<std::size_t, std::size_t>>{{33, 10}, {100, 3}, {24, 60}, {8, 100}, {40, 2}}) {
    const auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.3, 7);
    for (const double distance : {60.0, 1e3, 1e5, 3e12}) {
      auto data = reference::random_rows<float>(model, 700, columns, 8);
      data[500 * columns + 3] = static_cast<float>(distance);
      on_device<float> device(model, data, false);
      checks::expect_tied_sums(device.sums(), model, data, checks::kernel_tolerance<float>,
                               fmt::format("{} columns, {} away", columns, distance));
    }
  }
}

TEST_F(LinearAccumulator, AnEmptyComponentGetsNothing) {
  for (const auto& [columns, components] :
       std::vector<std::pair<std::size_t, std::size_t>>{{40, 5}, {90, 5}, {20, 60}, {13, 100}}) {
    auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.3, 11);
    model.weights[2] = 0;
    const auto data = reference::random_rows<float>(model, 500, columns, 12);
    on_device<float> device(model, data, true);
    const statistics got = device.sums();
    EXPECT_EQ(got.weight(2), 0);
    for (std::size_t j = 0; j < columns; ++j) EXPECT_EQ(got.first(2, j), 0);
    checks::expect_tied_sums(got, model, data, tolerance<float>, "an empty component");
  }
}

TEST_F(LinearAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  for (const auto& [columns, components] :
       std::vector<std::pair<std::size_t, std::size_t>>{{40, 20}, {100, 5}, {40, 60}, {40, 2}}) {
    auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.5, 21);
    for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean + 1e4));
    const auto data = reference::random_rows<float>(model, 700, columns, 22);
    on_device<float> device(model, data, true);
    checks::expect_tied_sums(device.sums(), model, data, tolerance<float>,
                             fmt::format("offset 1e4, {} columns", columns));
    const auto in_double = reference::random_rows<double>(model, 700, columns, 22);
    on_device<double> wide(model, in_double, true);
    checks::expect_tied_sums(wide.sums(), model, in_double, 1e-10,
                             fmt::format("offset 1e4, {} float64 columns", columns));
  }
}

TEST_F(LinearAccumulator, RowsThatWereNotLearntAreLeftToOthers) {
  for (const std::size_t components : {2, 5}) {
    const auto model = checks::rounded_model(covariance_type::tied, components, 20, 0.5, 23);
    const auto data = reference::random_rows<float>(model, 5000, 20, 24);
    on_device<float> device(model, data, false);
    const statistics learnt = device.sums();
    checks::expect_tied_sums(learnt, model, data, tolerance<float>, "learnt rows");
    checks::expect_tied_sums(device.sums(5000, shoal::gmm::other_rows), model, data, checks::kernel_tolerance<float>,
                             "other rows");
    checks::expect_same_bits(device.sums(), learnt, "learnt rows again");
  }
}

TEST_F(LinearAccumulator, StoppedKernelsChangeNothing) {
  for (const std::size_t components : {2, 3, 60}) {
    const auto model = checks::rounded_model(covariance_type::tied, components, 20, 0.8, 31);
    const auto data = reference::random_rows<float>(model, 500, 20, 32);
    on_device<float> device(model, data, false);
    device.mixture.set_stopped(1, device.stream);
    shoal::cuda::device_buffer<double> sums(device.layout.size());
    sums.upload(std::vector<double>(device.layout.size(), 42.0), device.stream);
    device.learning->expect_shard(0);
    device.learning->clear(device.mixture.view(), device.stream);
    device.learning->add({device.device_rows.data(), nullptr, 0, 0, 500}, device.mixture.view(), device.stream);
    device.learning->merge(sums.data(), device.mixture.view(), device.stream);
    for (const double value : sums.download(device.layout.size(), device.stream)) EXPECT_EQ(value, 42.0);
  }
}

// Steps that are recorded pass over the others' kernels, or over nothing: columns that follow one direction, whose
// variance is so many times that of the rest, are left to plain kernels and to others.
TEST_F(LinearAccumulator, FitsFollowTheHostWhoeverTakesThem) {
  for (const auto& [columns, count] : std::vector<std::pair<std::size_t, std::size_t>>{{20, 503}, {150, 20'011}}) {
    for (const double variance : {30.0, 1e6}) {
      SCOPED_TRACE(fmt::format("{} columns, variance {}", columns, variance));
      const std::size_t components = columns == 20 ? 5 : 6;
      std::mt19937_64 engine(7);
      std::normal_distribution<double> normal;
      std::vector<double> rows(count * columns);
      for (std::size_t r = 0; r < count; ++r) {
        const double along = normal(engine) * std::sqrt(variance);
        for (std::size_t j = 0; j < columns; ++j) {
          rows[r * columns + j] = along + normal(engine) + static_cast<double>((r % components) * (j % 3)) / 2;
        }
      }
      ASSERT_TRUE(shoal::gmm::tied::suits_linear<double>(
          checks::shape_of(statistics_layout(covariance_type::tied, components, columns), count, false)));
      shoal::gmm::options options;
      options.components = components;
      options.covariance_type = covariance_type::tied;
      options.init = shoal::gmm::initialization::random_rows;
      options.max_iterations = 6;
      options.tolerance = 0;
      options.seed = 5;
      const shoal::view_source<double> source({rows.data(), count, columns});
      const auto host = shoal::gmm::fit(source, options);
      options.device = {cuda_devices::first(1)};
      const auto device = shoal::gmm::fit(source, options);
      ASSERT_EQ(device.history.size(), host.history.size());
      for (std::size_t i = 0; i < host.history.size(); ++i) {
        EXPECT_NEAR(device.history[i], host.history[i], 1e-9 * std::abs(host.history[i]));
      }
    }
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(LinearAccumulator, FewRowsByEveryKernel) {
  for (const std::size_t components : {2, 3, 20, 40, 60, 150, 300, 400}) {
    check_both(70, 20, components, 0.6);
    if (components > 100) continue;
    check_both(70, 70, components, 0.2);
  }
}

TEST(LinearAccumulatorShape, HasFewRowsOrOneComponent) {
  const auto is_faster = [](std::size_t bytes, std::size_t rows, std::size_t columns, std::size_t components) {
    return shoal::gmm::tied::is_faster_linear(bytes, rows, columns, components);
  };
  EXPECT_TRUE(is_faster(4, 1000, 17, 2));
  EXPECT_TRUE(is_faster(4, 1000, 16, 2));
  EXPECT_FALSE(is_faster(4, 1000, 13, 2));
  EXPECT_FALSE(is_faster(4, 1000, 12, 100));
  EXPECT_TRUE(is_faster(4, 10'000, 16, 256));
  EXPECT_FALSE(is_faster(4, 10'000, 16, 257));
  EXPECT_FALSE(is_faster(4, 20'001, 16, 5));
  EXPECT_TRUE(is_faster(4, 10'000, 24, 100));
  EXPECT_FALSE(is_faster(4, 20'001, 24, 65));
  EXPECT_TRUE(is_faster(8, 1000, 8, 10));
  EXPECT_FALSE(is_faster(8, 1000, 8, 9));
  EXPECT_FALSE(is_faster(8, 1000, 7, 100));
  EXPECT_TRUE(is_faster(8, 10'000, 13, 100));
  EXPECT_FALSE(is_faster(8, 10'000, 13, 101));
  EXPECT_FALSE(is_faster(8, 100'000, 20, 65));
  EXPECT_TRUE(is_faster(4, 200'000, 256, 2));
  EXPECT_FALSE(is_faster(4, 200'001, 17, 2));
  EXPECT_FALSE(is_faster(4, 20'001, 257, 2));
  EXPECT_TRUE(is_faster(4, 20'000, 257, 2));
  EXPECT_FALSE(is_faster(4, 200'000, 100, 11));
  EXPECT_TRUE(is_faster(8, 1'000'000, 50, 10));
  EXPECT_FALSE(is_faster(8, 1'000'000, 50, 11));
}

TEST(LinearAccumulatorShape, HasNoWeightsAndSoManyNumbers) {
  const auto make = [](covariance_type type, std::size_t components, std::size_t columns, bool weighted) {
    const accumulator_shape shape = checks::shape_of(statistics_layout(type, components, columns), 4096, weighted);
    return shoal::gmm::tied::make_linear_accumulator<float>(shape, 1, std::make_unique<checks::nobody<float>>());
  };
  SHOAL_NEEDS_DEVICES(1);
  SHOAL_NEEDS_PRODUCTS();
  EXPECT_NO_THROW(make(covariance_type::tied, 16, 512, false));
  EXPECT_THROW(make(covariance_type::tied, 16, 513, false), shoal::bad_argument);
  EXPECT_NO_THROW(make(covariance_type::tied, 48, 320, false));
  EXPECT_THROW(make(covariance_type::tied, 48, 321, false), shoal::bad_argument);
  EXPECT_NO_THROW(make(covariance_type::tied, 64, 192, false));
  EXPECT_THROW(make(covariance_type::tied, 64, 193, false), shoal::bad_argument);
  EXPECT_THROW(make(covariance_type::tied, 65, 65, false), shoal::bad_argument);
  EXPECT_NO_THROW(make(covariance_type::tied, 128, 64, false));
  EXPECT_THROW(make(covariance_type::tied, 129, 64, false), shoal::bad_argument);
  EXPECT_NO_THROW(make(covariance_type::tied, 336, 40, false));
  EXPECT_THROW(make(covariance_type::tied, 385, 40, false), shoal::bad_argument);
  EXPECT_NO_THROW(make(covariance_type::tied, 512, 24, false));
  EXPECT_THROW(make(covariance_type::tied, 513, 24, false), shoal::bad_argument);
  EXPECT_THROW(make(covariance_type::tied, 1, 20, false), shoal::bad_argument);
  EXPECT_THROW(make(covariance_type::full, 2, 20, false), shoal::bad_argument);
  EXPECT_THROW(make(covariance_type::tied, 5, 20, true), shoal::bad_argument);
}

}  // namespace
