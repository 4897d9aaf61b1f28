// The GPU kernels for few columns against float64, at awkward sizes, with weights and with rows that float32 is too
// coarse for.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>

#include "../../../cuda_devices.hpp"
#include "../../kernel_checks.hpp"
#include "checks.hpp"

namespace {

using checks::covariance_type;
using checks::expected_sums;
using checks::on_device;
using checks::random_weights;
using checks::rounded_model;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

class SmallAccumulator : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

template <class Scalar>
void check(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, bool weighted,
           double spread = 2) {
  const auto seed = static_cast<unsigned>(rows + 17 * columns + 1001 * components);
  const auto model = rounded_model(type, components, columns, spread, seed);
  const auto data = reference::random_rows<Scalar>(model, rows, columns, seed + 1);
  const auto weights = weighted ? random_weights<Scalar>(rows, seed + 2) : std::vector<Scalar>();
  const std::string what = fmt::format("{}, {} rows, {} columns, {} components{}", checks::name(type), rows, columns,
                                       components, weighted ? ", weighted" : "");
  on_device<Scalar> device(model, data, weights);
  const statistics got = device.sums();
  checks::expect_close(got, expected_sums(model, data, weights), checks::kernel_tolerance<Scalar>, what);
  EXPECT_EQ(got.far_rows(), 0) << what;
  checks::expect_same_bits(device.sums(), got, what + ", again");
  if (rows > 4096) checks::expect_same_bits(device.sums(4096), got, what + ", in pieces of 4096");
  if (rows > 12288) checks::expect_same_bits(device.sums(12288), got, what + ", in pieces of 12288");
}

TEST_F(SmallAccumulator, EveryNumberOfColumns) {
  for (const covariance_type type : checks::all_types) {
    for (std::size_t columns = 1; columns <= 16; ++columns) {
      check<float>(type, 4097, columns, 10, columns % 2 == 0);
      check<double>(type, 4097, columns, 3, columns % 2 == 1);
    }
  }
}

TEST_F(SmallAccumulator, AwkwardNumbersOfRows) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t rows : {1, 31, 33, 127, 129, 4095, 4097, 46800}) {
      check<float>(type, rows, 8, 8, rows % 2 == 1);
      check<double>(type, rows, 5, 8, rows % 2 == 0);
    }
  }
}

TEST_F(SmallAccumulator, AnyNumberOfComponents) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t components : {1, 2, 3, 10, 17, 64, 200, 500}) {
      check<float>(type, 4097, 8, components, true);
      check<float>(type, 1031, 16, components, false);
      check<double>(type, 1031, 3, components, true);
    }
  }
}

// Kernels of float64 move rows to one origin where full covariances' components lie near each other.
TEST_F(SmallAccumulator, ComponentsNearEachOtherOrApart) {
  for (const double spread : {0.3, 100.0}) {
    for (std::size_t columns = 5; columns <= 9; ++columns) {
      for (const std::size_t components : {1, 2, 4, 5, 8, 9, 10, 12, 13, 16, 17}) {
        check<double>(covariance_type::full, 4500, columns, components, components % 2 == 0, spread);
      }
    }
    for (const std::size_t rows : {1, 31, 33, 127, 129, 4095, 4097, 46800, 700001}) {
      check<double>(covariance_type::full, rows, 8, 10, rows % 2 == 1, spread);
    }
  }
}

// Rows whose density under every component is zero in float64, among others.
TEST_F(SmallAccumulator, FarRowsAboutOneOrigin) {
  for (const std::size_t columns : {7, 8}) {
    for (const std::size_t components : {1, 3, 8, 10, 12, 16}) {
      const auto model = rounded_model(covariance_type::full, components, columns, 0.3, 7);
      auto data = reference::random_rows<double>(model, 5001, columns, 8);
      for (std::size_t r = 0; r < 5001; r += 97) {
        data[columns * r + r % columns] = r % 3 == 0 ? 60 : (r % 3 == 1 ? -300 : 2e3);
      }
      const std::string what = fmt::format("{} columns, {} components", columns, components);
      on_device<double> device(model, data, {});
      const statistics got = device.sums();
      checks::expect_close(got, expected_sums<double>(model, data, {}), 1e-9, what);
      checks::expect_same_bits(device.sums(4096), got, what + ", in pieces of 4096");
    }
  }
}

// Rows at the distances that float32 cannot square, among others.
void check_far(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, std::size_t every) {
  const auto model = rounded_model(type, components, columns, 2, 7);
  auto data = reference::random_rows<float>(model, rows, columns, 8);
  std::size_t planted = 0;
  for (std::size_t r = 0; r < rows; r += every) {
    const double distance = r / every % 3 == 0 ? 3e2 : (r / every % 3 == 1 ? 1e6 : 3e12);
    data[r * columns + r % columns] = static_cast<float>(distance);
    ++planted;
  }
  const auto weights = random_weights<float>(rows, 9);
  const std::string what = fmt::format("{}, {} rows, {} columns, {} components, every {}th far", checks::name(type),
                                       rows, columns, components, every);
  on_device<float> device(model, data, weights);
  const statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), static_cast<double>(planted)) << what;
  checks::expect_close(got, expected_sums(model, data, weights),
                       every == 1 ? checks::kernel_tolerance<double> : checks::kernel_tolerance<float>, what);
  checks::expect_same_bits(device.sums(), got, what + ", again");
  if (rows > 4096) checks::expect_same_bits(device.sums(4096), got, what + ", in pieces");
}

TEST_F(SmallAccumulator, FarRowsAreDoneInDouble) {
  for (const covariance_type type : checks::all_types) {
    check_far(type, 5000, 8, 10, 97);
    check_far(type, 700, 3, 200, 31);
    check_far(type, 300, 16, 3, 1);
    check_far(type, 4500, 1, 2, 1);
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(SmallAccumulator, FewRowsByEveryKernel) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t columns : {2, 8, 16}) {
      check<float>(type, 600, columns, 10, true);
      check<double>(type, 300, columns, 3, false);
      check_far(type, 300, columns, 5, 31);
    }
  }
}

TEST_F(SmallAccumulator, FewRowsAboutOneOrigin) {
  for (const std::size_t columns : {7, 8}) {
    for (const std::size_t components : {3, 8, 10, 12, 16})
      check<double>(covariance_type::full, 300, columns, components, false, 0.3);
  }
}

TEST_F(SmallAccumulator, RowsBeyondTheRangeOfFloatStayFinite) {
  for (const covariance_type type : checks::all_types) {
    const auto model = rounded_model(type, 4, 5, 2, 3);
    auto data = reference::random_rows<float>(model, 1000, 5, 4);
    for (std::size_t j = 0; j < 5; ++j) data[500 * 5 + j] = 3e38F;
    data[777 * 5 + 2] = -2e19F;
    on_device<float> device(model, data, {});
    const statistics got = device.sums();
    EXPECT_EQ(got.far_rows(), 2);
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value)) << checks::name(type);
  }
}

TEST_F(SmallAccumulator, RowsOfNoWeightMayHaveNoDensity) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t columns : {2, 8}) {
      SCOPED_TRACE(checks::name(type));
      const checks::weightless_rows of(type, 700, columns, 3);
      on_device<double> device(of.model, of.rows, of.weights);
      of.expect(device.sums());
    }
  }
}

TEST_F(SmallAccumulator, AnEmptyComponentGetsNothing) {
  for (const covariance_type type : checks::all_types) {
    auto model = rounded_model(type, 5, 6, 2, 11);
    model.weights[2] = 0;
    const auto data = reference::random_rows<float>(model, 2000, 6, 12);
    on_device<float> device(model, data, {});
    const statistics got = device.sums();
    EXPECT_EQ(got.weight(2), 0);
    for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(got.first(2, j), 0);
    checks::expect_close(got, expected_sums<float>(model, data, {}), checks::kernel_tolerance<float>,
                         checks::name(type));
  }
}

TEST_F(SmallAccumulator, FloatKeepsItsDigitsFarFromTheOrigin) {
  auto model = rounded_model(covariance_type::full, 6, 8, 3, 21);
  for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean + 1e6));
  const auto data = reference::random_rows<float>(model, 10000, 8, 22);
  on_device<float> device(model, data, {});
  checks::expect_close(device.sums(), expected_sums<float>(model, data, {}), 1e-6, "offset 1e6");
}

TEST_F(SmallAccumulator, StoppedKernelsChangeNothing) {
  const auto model = rounded_model(covariance_type::full, 3, 4, 2, 31);
  const auto data = reference::random_rows<float>(model, 500, 4, 32);
  on_device<float> device(model, data, {});
  checks::expect_nothing_once_stopped(device);
}

TEST_F(SmallAccumulator, NothingAddedIsZero) {
  const auto model = rounded_model(covariance_type::full, 3, 4, 2, 41);
  const auto data = reference::random_rows<float>(model, 500, 4, 42);
  on_device<float> device(model, data, {});
  device.sums();
  device.count = 0;
  const statistics nothing = device.sums();
  for (const double value : nothing.values()) EXPECT_EQ(value, 0.0);
}

TEST(SmallAccumulatorShape, TooManyColumnsAreRefused) {
  shoal::gmm::accumulator_shape shape;
  shape.layout = statistics_layout(covariance_type::full, 3, 17);
  shape.share_rows = 100;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  EXPECT_FALSE(shoal::gmm::few_columns::suits<float>(shape));
  EXPECT_THROW(shoal::gmm::few_columns::make_accumulator<float>(shape), shoal::bad_argument);
  shape.layout = statistics_layout(covariance_type::full, 3, 16);
  EXPECT_TRUE(shoal::gmm::few_columns::suits<float>(shape));
  EXPECT_TRUE(shoal::gmm::few_columns::suits<double>(shape));
  shape.layout = statistics_layout(covariance_type::diag, 100000, 2);
  EXPECT_FALSE(shoal::gmm::few_columns::suits<float>(shape));
}

}  // namespace
