// The GPU kernels for few columns and few components against float64: every kernel, awkward sizes, rows that float32 is
// too coarse for, and the same bits however rows are cut.
#include <cmath>
#include <cstddef>
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
using checks::rounded_model;
using checks::with_traces;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

class RegisterAccumulator : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

struct on_device : checks::on_device<float> {
  on_device(const shoal::gmm::model& model, const std::vector<float>& rows)
      : checks::on_device<float>(model, rows, {}, shoal::gmm::few_columns::make_register_accumulator) {}
};

bool suits(covariance_type type, std::size_t columns, std::size_t components) {
  shoal::gmm::accumulator_shape shape;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  shape.share_rows = 1 << 20;
  shape.layout = statistics_layout(type, components, columns);
  return shoal::gmm::few_columns::suits_registers(shape);
}

void expect_sums(const statistics& got, const shoal::gmm::model& model, const std::vector<float>& rows,
                 double tolerance, const std::string& what) {
  checks::expect_close(with_traces(got), with_traces(expected_sums(model, rows, {})), tolerance, what);
}

void check(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, double spread = 2) {
  const auto seed = static_cast<unsigned>(rows + 17 * columns + 1001 * components);
  const auto model = rounded_model(type, components, columns, spread, seed);
  const auto data = reference::random_rows<float>(model, rows, columns, seed + 1);
  const std::string what = fmt::format("{}, {} rows, {} columns, {} components, spread {}", checks::name(type), rows,
                                       columns, components, spread);
  on_device device(model, data);
  const statistics got = device.sums();
  expect_sums(got, model, data, checks::kernel_tolerance<float>, what);
  EXPECT_EQ(got.far_rows(), 0) << what;
  checks::expect_same_bits(device.sums(), got, what + ", again");
  if (rows > 4096) checks::expect_same_bits(device.sums(4096), got, what + ", in pieces of 4096");
  if (rows > 12288) checks::expect_same_bits(device.sums(12288), got, what + ", in pieces of 12288");
}

TEST_F(RegisterAccumulator, EveryKernel) {
  for (const covariance_type type : checks::all_types) {
    for (std::size_t columns = 1; columns <= 8; ++columns) {
      EXPECT_TRUE(suits(type, columns, 1)) << checks::name(type) << ", " << columns << " columns";
      for (std::size_t components = 1; components <= 16; ++components) {
        if (suits(type, columns, components)) check(type, 5003, columns, components);
      }
    }
  }
}

TEST_F(RegisterAccumulator, AwkwardNumbersOfRows) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t rows : {1, 31, 33, 63, 65, 511, 513, 4095, 4097, 46800, 300007, 700001}) {
      check(type, rows, 3, 5);
    }
  }
}

TEST_F(RegisterAccumulator, ComponentsThatLieApart) {
  for (const covariance_type type : checks::all_types) {
    check(type, 20000, 3, 5, 30);
    check(type, 20000, 2, 4, 1000);
  }
}

// Densities that are powers of two of less than float32's exponents, and rows that float32 cannot square.
void check_distant(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components,
                   std::size_t every) {
  const auto model = rounded_model(type, components, columns, 2, 7);
  auto data = reference::random_rows<float>(model, rows, columns, 8);
  std::size_t far = 0;
  for (std::size_t r = 0; r < rows; r += every) {
    const std::size_t turn = r / every % 4;
    data[r * columns + r % columns] = static_cast<float>(turn == 0 ? 3e2 : (turn == 1 ? 1e6 : (turn == 2 ? 3e12 : 20)));
    far += turn != 3 ? 1 : 0;
  }
  const std::string what = fmt::format("{}, {} rows, {} columns, {} components, every {}th distant", checks::name(type),
                                       rows, columns, components, every);
  on_device device(model, data);
  const statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), static_cast<double>(far)) << what;
  expect_sums(got, model, data, checks::kernel_tolerance<float>, what);
  checks::expect_same_bits(device.sums(), got, what + ", again");
  if (rows > 4096) checks::expect_same_bits(device.sums(4096), got, what + ", in pieces");
}

TEST_F(RegisterAccumulator, DistantRows) {
  for (const covariance_type type : checks::all_types) {
    check_distant(type, 20000, 3, 5, 97);
    check_distant(type, 700, 5, 3, 31);
    check_distant(type, 4500, 1, 2, 1);
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(RegisterAccumulator, FewRows) {
  for (const covariance_type type : checks::all_types) {
    check(type, 1500, 3, 5);
    check_distant(type, 300, 2, 5, 31);
  }
}

TEST_F(RegisterAccumulator, RowsBeyondTheRangeOfFloatStayFinite) {
  for (const covariance_type type : checks::all_types) {
    const auto model = rounded_model(type, 3, 4, 2, 3);
    auto data = reference::random_rows<float>(model, 1000, 4, 4);
    for (std::size_t j = 0; j < 4; ++j) data[500 * 4 + j] = 3e38F;
    data[777 * 4 + 2] = -2e19F;
    on_device device(model, data);
    const statistics got = device.sums();
    EXPECT_EQ(got.far_rows(), 2);
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value)) << checks::name(type);
  }
}

TEST_F(RegisterAccumulator, AnEmptyComponentGetsNothing) {
  for (const covariance_type type : checks::all_types) {
    auto model = rounded_model(type, 4, 3, 2, 11);
    model.weights[2] = 0;
    const auto data = reference::random_rows<float>(model, 2000, 3, 12);
    on_device device(model, data);
    const statistics got = device.sums();
    EXPECT_EQ(got.weight(2), 0);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(got.first(2, j), 0);
    expect_sums(got, model, data, checks::kernel_tolerance<float>, checks::name(type));
  }
}

TEST_F(RegisterAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  for (const covariance_type type : checks::all_types) {
    auto model = rounded_model(type, 3, 4, 3, 21);
    for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean + 1e6));
    const auto data = reference::random_rows<float>(model, 10000, 4, 22);
    on_device device(model, data);
    expect_sums(device.sums(), model, data, 1e-6, std::string("offset 1e6, ") + checks::name(type));
  }
}

// A chunked fit plans for the rows of a step and is scored by all rows, in pieces as long as a step's or longer.
TEST_F(RegisterAccumulator, AddsMoreRowsThanItWasPlannedFor) {
  for (const covariance_type type : checks::all_types) {
    const auto model = rounded_model(type, 5, 3, 2, 41);
    const auto data = reference::random_rows<float>(model, 20'011, 3, 42);
    on_device device(model, data);
    for (const std::size_t piece : {4096, 8192, 12288}) {
      device.accumulator =
          shoal::gmm::few_columns::make_register_accumulator(checks::shape_of(device.layout, 4096, false));
      expect_sums(device.sums(piece), model, data, checks::kernel_tolerance<float>,
                  fmt::format("{}, pieces of {}", checks::name(type), piece));
    }
  }
}

TEST_F(RegisterAccumulator, StoppedKernelsChangeNothing) {
  const auto model = rounded_model(covariance_type::full, 3, 4, 2, 31);
  const auto data = reference::random_rows<float>(model, 500, 4, 32);
  on_device device(model, data);
  checks::expect_nothing_once_stopped(device);
}

TEST(RegisterAccumulatorShape, HasFewSums) {
  shoal::gmm::accumulator_shape shape;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  shape.share_rows = 1 << 20;
  shape.layout = statistics_layout(covariance_type::full, 5, 3);
  EXPECT_TRUE(shoal::gmm::few_columns::suits_registers(shape));
  shape.weighted = true;
  EXPECT_FALSE(shoal::gmm::few_columns::suits_registers(shape));
  shape.weighted = false;
  for (const std::size_t columns : {8, 9, 17, 4000}) {
    shape.layout = statistics_layout(covariance_type::full, 3, columns);
    EXPECT_FALSE(shoal::gmm::few_columns::suits_registers(shape));
    EXPECT_THROW(shoal::gmm::few_columns::make_register_accumulator(shape), shoal::bad_argument);
  }
}

}  // namespace
