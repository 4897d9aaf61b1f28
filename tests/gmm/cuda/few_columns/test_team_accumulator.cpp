// The GPU kernels for few columns and many rows against float64: awkward sizes, weights, rows that float32 is too
// coarse for, and the same bits however rows are cut.
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
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
using checks::random_weights;
using checks::rounded_model;
using checks::with_traces;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

class TeamAccumulator : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

using make_teams = checks::make_accumulator<float>;

struct on_device : checks::on_device<float> {
  on_device(const shoal::gmm::model& model, const std::vector<float>& rows, const std::vector<float>& weights,
            make_teams make = shoal::gmm::few_columns::make_team_accumulator)
      : checks::on_device<float>(model, rows, weights, make) {}
};

// As if the GPU had one multiprocessor: rows are many for it.
std::unique_ptr<shoal::gmm::accumulator<float>> make_for_one(const shoal::gmm::accumulator_shape& shape) {
  shoal::gmm::accumulator_shape small = shape;
  small.multiprocessors = 1;
  return shoal::gmm::few_columns::make_team_accumulator(small);
}

void expect_sums(const statistics& got, const shoal::gmm::model& model, const std::vector<float>& rows,
                 const std::vector<float>& weights, double tolerance, const std::string& what) {
  checks::expect_close(with_traces(got), with_traces(checks::expected_sums(model, rows, weights)), tolerance, what);
}

void check(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, bool weighted,
           make_teams make = shoal::gmm::few_columns::make_team_accumulator, double spread = 2) {
  const auto seed = static_cast<unsigned>(rows + 17 * columns + 1001 * components);
  const auto model = rounded_model(type, components, columns, spread, seed);
  const auto data = reference::random_rows<float>(model, rows, columns, seed + 1);
  const auto weights = weighted ? random_weights<float>(rows, seed + 2) : std::vector<float>();
  const std::string what = fmt::format("{}, {} rows, {} columns, {} components{}", checks::name(type), rows, columns,
                                       components, weighted ? ", weighted" : "");
  on_device device(model, data, weights, make);
  const statistics got = device.sums();
  expect_sums(got, model, data, weights, checks::kernel_tolerance<float>, what);
  EXPECT_EQ(got.far_rows(), 0) << what;
  checks::expect_same_bits(device.sums(), got, what + ", again");
  if (rows > 4096) checks::expect_same_bits(device.sums(4096), got, what + ", in pieces of 4096");
  if (rows > 12288) checks::expect_same_bits(device.sums(12288), got, what + ", in pieces of 12288");
}

TEST_F(TeamAccumulator, EveryNumberOfColumns) {
  for (const covariance_type type : checks::all_types) {
    for (std::size_t columns = 1; columns <= 16; ++columns) check(type, 9001, columns, 5, columns % 2 == 0);
  }
}

TEST_F(TeamAccumulator, EveryNumberOfColumnsWithManyRowsForAMultiprocessor) {
  for (const covariance_type type : checks::all_types) {
    for (std::size_t columns = 1; columns <= 9; ++columns)
      check(type, 9001, columns, 6, columns % 2 == 1, make_for_one);
  }
}

TEST_F(TeamAccumulator, AwkwardNumbersOfRows) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t rows : {1, 31, 33, 511, 513, 4095, 4097, 46800, 300007, 700001}) {
      check(type, rows, 8, 8, rows % 2 == 1);
    }
  }
}

TEST_F(TeamAccumulator, AnyNumberOfComponents) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t components : {1, 2, 3, 8, 10, 12}) check(type, 4097, 8, components, true);
    for (const std::size_t components : {1, 5, 17, 20}) check(type, 5003, 3, components, false);
  }
}

// Of components about the same place.
void check_near(std::size_t rows, std::size_t columns, std::size_t components, bool weighted) {
  check(covariance_type::full, rows, columns, components, weighted, shoal::gmm::few_columns::make_team_accumulator,
        0.3);
}

TEST_F(TeamAccumulator, ComponentsNearEachOther) {
  for (std::size_t columns = 5; columns <= 9; ++columns) {
    for (const std::size_t components : {1, 2, 4, 5, 8, 9, 12}) check_near(4500, columns, components, true);
  }
  for (const std::size_t rows : {1, 31, 33, 511, 513, 4095, 4097, 46800, 700001}) {
    check_near(rows, 8, 10, rows % 2 == 1);
  }
}

TEST_F(TeamAccumulator, ComponentsNearEachOtherKeepTheirDigitsFarFromZero) {
  for (std::size_t columns = 6; columns <= 8; ++columns) {
    auto model = rounded_model(covariance_type::full, 10, columns, 0.3, 23);
    for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean + 1e6));
    const auto data = reference::random_rows<float>(model, 10000, columns, 24);
    on_device device(model, data, {});
    expect_sums(device.sums(), model, data, {}, 1e-6, fmt::format("offset 1e6, {} columns", columns));
  }
}

// Components of unit spread, near their middle and far from it.
TEST_F(TeamAccumulator, ComponentsAtAnyDistanceFromTheirMiddle) {
  for (const double distance : {8.0, 16.0, 24.0, 30.0, 36.0, 100.0}) {
    for (const std::size_t components : {4, 8, 10, 11}) {
      auto model = rounded_model(covariance_type::full, components, 8, 0, 51);
      for (std::size_t k = 0; k < components; ++k) {
        for (std::size_t i = 0; i < 8; ++i) {
          model.means[k * 8 + i] = (k % 2 == 0 ? distance : -distance) * (i == k % 8 ? 1 : 0.03125);
        }
      }
      const auto data = reference::random_rows<float>(model, 20000, 8, 52);
      on_device device(model, data, {});
      const statistics got = device.sums();
      const std::string what = fmt::format("{} components at {}", components, distance);
      expect_sums(got, model, data, {}, checks::kernel_tolerance<float>, what);
      checks::expect_same_bits(device.sums(4096), got, what + ", in pieces");
    }
  }
}

// The log-density of single rows (docs/tolerances.md).
TEST_F(TeamAccumulator, EachRowHasItsLogDensity) {
  for (std::size_t columns = 6; columns <= 8; ++columns) {
    for (const double spread : {0.3, 3.0, 8.0}) {
      const auto model = rounded_model(covariance_type::full, 10, columns, spread, 53);
      const auto data = reference::random_rows<float>(model, 100, columns, 54);
      for (std::size_t r = 0; r < 100; ++r) {
        const auto begin = data.begin() + static_cast<std::ptrdiff_t>(columns * r);
        const std::vector<float> row(begin, begin + static_cast<std::ptrdiff_t>(columns));
        on_device device(model, row, {});
        EXPECT_NEAR(device.sums().log_likelihood(), checks::expected_sums(model, row, {}).log_likelihood(), 1e-4)
            << columns << " columns, spread " << spread << ", row " << r;
      }
    }
  }
}

// Densities of less than 2⁻⁶⁰ and large weights, among others.
TEST_F(TeamAccumulator, RowsOfSmallDensitiesAndLargeWeights) {
  const auto model = rounded_model(covariance_type::full, 10, 8, 0.3, 55);
  auto data = reference::random_rows<float>(model, 3000, 8, 56);
  auto weights = random_weights<float>(3000, 57);
  for (std::size_t r = 0; r < 3000; r += 7) data[r * 8 + r % 8] += static_cast<float>(4 + r % 20);
  for (std::size_t r = 0; r < 3000; ++r) weights[r] *= 1e25F;
  for (std::size_t r = 5; r < 3000; r += 11) weights[r] *= 1e6F;
  on_device device(model, data, weights);
  const statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), 0);
  expect_sums(got, model, data, weights, checks::kernel_tolerance<float>, "small densities");
  checks::expect_same_bits(device.sums(), got, "small densities, again");
}

// Components wide and narrow at one place, in small units and in large ones.
TEST_F(TeamAccumulator, ComponentsOfOtherWidths) {
  for (const double ratio : {30.0, 1000.0, 30000.0}) {
    for (const double scale : {1e-12, 1.0, 1e12}) {
      auto model = rounded_model(covariance_type::full, 10, 8, 0, 58);
      std::vector<double> widths;
      for (std::size_t k = 0; k < 10; ++k) {
        widths.push_back(scale * (k % 3 == 0 ? 1 : (k % 3 == 1 ? 1 / ratio : 1 / std::sqrt(ratio))));
        for (std::size_t i = 0; i < 64; ++i) model.covariances[k * 64 + i] *= widths[k] * widths[k];
        for (std::size_t i = 0; i < 8; ++i) {
          model.means[k * 8 + i] = static_cast<double>(static_cast<float>(widths[k] * (i == k % 8 ? 2 : 0)));
        }
      }
      std::mt19937_64 engine(59);
      std::normal_distribution<double> normal;
      std::vector<float> data;
      for (std::size_t r = 0; r < 5000; ++r) {
        const std::size_t k = r % 10;
        for (std::size_t i = 0; i < 8; ++i) {
          data.push_back(static_cast<float>(model.means[k * 8 + i] + widths[k] * normal(engine)));
        }
      }
      on_device device(model, data, {});
      expect_sums(device.sums(), model, data, {}, checks::kernel_tolerance<float>,
                  fmt::format("ratio {}, scale {}", ratio, scale));
    }
  }
}

// Rows at the distances that float32 cannot square, among others.
void check_far(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, std::size_t every,
               double spread = 2) {
  const auto model = rounded_model(type, components, columns, spread, 7);
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
  on_device device(model, data, weights);
  const statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), static_cast<double>(planted)) << what;
  expect_sums(got, model, data, weights,
              every == 1 ? checks::kernel_tolerance<double> : checks::kernel_tolerance<float>, what);
  checks::expect_same_bits(device.sums(), got, what + ", again");
  if (rows > 4096) checks::expect_same_bits(device.sums(4096), got, what + ", in pieces");
}

TEST_F(TeamAccumulator, FarRowsAreDoneInDouble) {
  for (const covariance_type type : checks::all_types) {
    check_far(type, 20000, 8, 10, 97);
    check_far(type, 20000, 7, 10, 89, 0.3);
    check_far(type, 700, 3, 20, 31);
    check_far(type, 300, 16, 3, 1);
    check_far(type, 4500, 1, 2, 1);
  }
}

// Small enough for compute-sanitizer's racecheck: both teams, with several stages of rows and far ones.
TEST_F(TeamAccumulator, FewRowsByEveryKernel) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t columns : {3, 8, 12, 16}) {
      check(type, 1500, columns, 5, true);
      check_far(type, 300, columns, 5, 31);
      check_far(type, 1300, columns, 5, 31, 0.3);
    }
  }
}

TEST_F(TeamAccumulator, RowsBeyondTheRangeOfFloatStayFinite) {
  for (const covariance_type type : checks::all_types) {
    const auto model = rounded_model(type, 4, 5, 2, 3);
    auto data = reference::random_rows<float>(model, 1000, 5, 4);
    for (std::size_t j = 0; j < 5; ++j) data[500 * 5 + j] = 3e38F;
    data[777 * 5 + 2] = -2e19F;
    on_device device(model, data, {});
    const statistics got = device.sums();
    EXPECT_EQ(got.far_rows(), 2);
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value)) << checks::name(type);
  }
}

TEST_F(TeamAccumulator, AnEmptyComponentGetsNothing) {
  for (const covariance_type type : checks::all_types) {
    auto model = rounded_model(type, 5, 6, 2, 11);
    model.weights[2] = 0;
    const auto data = reference::random_rows<float>(model, 2000, 6, 12);
    on_device device(model, data, {});
    const statistics got = device.sums();
    EXPECT_EQ(got.weight(2), 0);
    for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(got.first(2, j), 0);
    expect_sums(got, model, data, {}, checks::kernel_tolerance<float>, checks::name(type));
  }
}

TEST_F(TeamAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  for (const covariance_type type : checks::all_types) {
    auto model = rounded_model(type, 6, 8, 3, 21);
    for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean + 1e6));
    const auto data = reference::random_rows<float>(model, 10000, 8, 22);
    on_device device(model, data, {});
    expect_sums(device.sums(), model, data, {}, 1e-6, std::string("offset 1e6, ") + checks::name(type));
  }
}

TEST_F(TeamAccumulator, StoppedKernelsChangeNothing) {
  const auto model = rounded_model(covariance_type::full, 3, 4, 2, 31);
  const auto data = reference::random_rows<float>(model, 500, 4, 32);
  on_device device(model, data, {});
  checks::expect_nothing_once_stopped(device);
}

TEST_F(TeamAccumulator, NothingAddedIsZero) {
  const auto model = rounded_model(covariance_type::full, 3, 4, 2, 41);
  const auto data = reference::random_rows<float>(model, 500, 4, 42);
  on_device device(model, data, {});
  device.sums();
  device.count = 0;
  const statistics nothing = device.sums();
  for (const double value : nothing.values()) EXPECT_EQ(value, 0.0);
}

TEST(TeamAccumulatorShape, HasFewColumnsAndComponents) {
  shoal::gmm::accumulator_shape shape;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  for (const std::size_t rows : {1000, 1 << 20}) {
    shape.share_rows = rows;
    for (const covariance_type type : checks::all_types) {
      shape.layout = statistics_layout(type, 10, 8);
      EXPECT_TRUE(shoal::gmm::few_columns::suits_teams(shape)) << checks::name(type);
    }
  }
  shape.layout = statistics_layout(covariance_type::full, 3, 17);
  EXPECT_FALSE(shoal::gmm::few_columns::suits_teams(shape));
  EXPECT_THROW(shoal::gmm::few_columns::make_team_accumulator(shape), shoal::bad_argument);
  shape.layout = statistics_layout(covariance_type::diag, 500, 2);
  EXPECT_FALSE(shoal::gmm::few_columns::suits_teams(shape));
}

}  // namespace
