// Mixtures of float64 rows of few columns by products on tensor cores, against the plain reference: awkward sizes,
// weights, rows without density, components that are too far from each other, and the same bits however rows are cut.
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>

#include "../../../cuda_devices.hpp"
#include "../../kernel_checks.hpp"
#include "../nobody.hpp"
#include "checks.hpp"

namespace {

using checks::covariance_type;
using checks::random_weights;
using shoal::gmm::accumulator;
using shoal::gmm::accumulator_shape;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

constexpr covariance_type matrices[] = {covariance_type::full, covariance_type::tied};
constexpr covariance_type vectors[] = {covariance_type::diag, covariance_type::spherical};

class Float64Products : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

using maker = checks::make_accumulator<double>;

std::unique_ptr<accumulator<double>> by_products_alone(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_float64_product_accumulator(shape, std::make_unique<checks::nobody<double>>());
}
std::unique_ptr<accumulator<double>> by_either(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_float64_product_accumulator(
      shape, shoal::gmm::few_columns::make_many_accumulator<double>(shape));
}
// As if the GPU had one multiprocessor, so that blocks have several groups.
std::unique_ptr<accumulator<double>> for_one(const accumulator_shape& shape) {
  accumulator_shape small = shape;
  small.multiprocessors = 1;
  return by_products_alone(small);
}

std::unique_ptr<accumulator<double>> by_small(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_small_float64_accumulator(shape);
}

void check(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, double spread,
           bool weighted, maker make = by_products_alone, double offset = 0) {
  const auto seed = static_cast<unsigned>(rows + 17 * columns + 1001 * components);
  auto model = reference::random_model(type, components, columns, spread, seed);
  for (double& mean : model.means) mean += offset;
  const auto data = reference::random_rows<double>(model, rows, columns, seed + 1);
  const auto weights = weighted ? random_weights<double>(rows, seed + 2) : std::vector<double>();
  const std::string what =
      fmt::format("{}, {} rows, {} columns, {} components, spread {}, offset {}{}", checks::name(type), rows, columns,
                  components, spread, offset, weighted ? ", weighted" : "");
  checks::on_device<double> device(model, data, weights, make);
  const statistics got = device.sums();
  checks::expect_close(checks::comparable(got), checks::comparable(checks::expected_sums(model, data, weights)),
                       checks::kernel_tolerance<double>, what);
  EXPECT_EQ(got.far_rows(), 0) << what;
  checks::expect_same_bits(device.sums(), got, what + ", again");
  for (const std::size_t piece : {4096, 12288}) {
    if (rows > piece)
      checks::expect_same_bits(device.sums(piece), got, fmt::format("{}, in pieces of {}", what, piece));
  }
}

TEST_F(Float64Products, EveryNumberOfColumns) {
  for (const covariance_type type : checks::all_types) {
    for (std::size_t columns = 1; columns <= 8; ++columns) {
      for (const std::size_t components : {5, 17, 40, 64})
        check(type, 5003, columns, components, 0.7, columns % 2 == 0);
    }
  }
  for (const covariance_type type : vectors) {
    for (std::size_t columns = 9; columns <= 16; ++columns) {
      for (const std::size_t components : {5, 17, 40, 64})
        check(type, 5003, columns, components, 0.7, columns % 2 == 0);
    }
  }
}

TEST_F(Float64Products, AwkwardNumbersOfRows) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t rows : {1, 7, 8, 9, 31, 33, 511, 512, 513, 4095, 4096, 4097, 46800, 300007}) {
      check(type, rows, 1, 33, 0.7, rows % 2 == 0);
      check(type, rows, 3, 10, 0.7, rows % 2 == 1);
    }
    for (const std::size_t rows : {1, 33, 1023, 4097, 9001}) {
      check(type, rows, 8, 20, 0.7, false, for_one);
      check(type, rows, 2, 100, 0.7, true, for_one);
    }
  }
}

// One to sixteen warps that share rows.
TEST_F(Float64Products, ManyComponents) {
  for (const covariance_type type : matrices) {
    for (const std::size_t components : {1, 2, 15, 16, 32, 63, 65, 100, 128, 129, 250, 256, 257, 512, 1000, 1024}) {
      check(type, 4097, 1, components, 0.7, components % 2 == 1);
      if (components <= 256) check(type, 2031, 2, components, 0.7, components % 2 == 0);
      if (components <= 256) check(type, 2031, 3, components, 0.7, components % 2 == 1);
      if (components <= 128) check(type, 1031, 5, components, 0.7, components % 2 == 0);
      if (components <= 256) check(type, 1031, 8, components, 0.7, false);
    }
  }
  for (const covariance_type type : vectors) {
    for (const std::size_t components : {1, 16, 33, 64, 65, 100, 129, 256}) {
      for (const std::size_t columns : {2, 4, 7, 12, 16})
        check(type, 1031, columns, components, 0.7, components % 2 == 1);
    }
  }
}

// Blocks that share rows: of the fewest components for which there are two, of four, and of eight.
TEST_F(Float64Products, ComponentsOfSeveralBlocks) {
  for (const covariance_type type : matrices) {
    for (const std::size_t components : {257, 300, 512, 513, 1000, 1024})
      check(type, 1031, 8, components, 0.7, components % 2 == 1);
    check(type, 5003, 5, 1000, 0.7, type == covariance_type::tied);
    check(type, 4097, 5, 300, 0.7, true, for_one);
    check(type, 1031, 1, 1025, 0.7, true);
    check(type, 31, 3, 1500, 0.7, false);
  }
  for (const covariance_type type : vectors) {
    for (const std::size_t columns : {2, 8, 13}) check(type, 1031, columns, 1100, 0.7, columns == 8);
  }
}

TEST_F(Float64Products, AnyOffsetAndSpread) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t columns : {1, 2, 5, 8}) {
      for (const double spread : {0.0, 0.7, 3.0}) {
        check(type, 4097, columns, 30, spread, false, by_either);
        check(type, 4097, columns, 90, spread, true, by_either, 1e4);
      }
    }
  }
}

// Each block packs the mixture by itself.
TEST_F(Float64Products, FewRowsWithFewerLaunches) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t components : {1, 5, 16, 17, 32}) {
      for (std::size_t columns = 1; columns <= 8; ++columns)
        check(type, 300, columns, components, 0.7, false, by_small);
      check(type, 9001, 3, components, 0.7, true, by_small);
      check(type, 300, 2, components, 40, false, by_small);
      check(type, 9001, 5, components, 60, true, by_small);
    }
  }
  for (const covariance_type type : vectors) check(type, 9001, 16, 10, 0.7, true, by_small);
}

// Some components are in a place of their own: the others' kernels take all rows.
TEST_F(Float64Products, LeavesComponentsThatLieApartToOthers) {
  for (const covariance_type type : checks::all_types) {
    for (const double spread : {30.0, 300.0, 1e6}) check(type, 4097, 2, 12, spread, false, by_either);
    check(type, 9001, 8, 20, 50, true, by_either);
  }
}

// Rows whose density under every component is zero in float64, of single batches; the last components are several
// blocks'.
TEST_F(Float64Products, FarRowsHaveTheirShares) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t components : {3, 40, 100, 500}) {
      const std::size_t columns = components == 500 ? 8 : 2;
      const auto model = reference::random_model(type, components, columns, 0.7, 7);
      auto data = reference::random_rows<double>(model, 3001, columns, 8);
      for (std::size_t r = 0; r < 3001; r += 97) {
        data[columns * r + r % columns] = r % 3 == 0 ? 60 : (r % 3 == 1 ? -300 : 2e3);
      }
      checks::on_device<double> device(model, data, {}, by_products_alone);
      const statistics got = device.sums();
      checks::expect_close(checks::comparable(got), checks::comparable(checks::expected_sums<double>(model, data, {})),
                           1e-9, fmt::format("{}, {} components", checks::name(type), components));
      checks::expect_same_bits(device.sums(), got, "again");
    }
  }
}

TEST_F(Float64Products, RowsOfNoWeightMayHaveNoDensity) {
  for (const covariance_type type : checks::all_types) {
    for (const std::size_t columns : {2, 8}) {
      SCOPED_TRACE(checks::name(type));
      const checks::weightless_rows of(type, 700, columns, 3);
      checks::on_device<double> device(of.model, of.rows, of.weights, by_products_alone);
      of.expect(device.sums());
    }
  }
}

TEST_F(Float64Products, AnEmptyComponentGetsNothing) {
  for (const covariance_type type : checks::all_types) {
    auto model = reference::random_model(type, 20, 3, 0.7, 11);
    model.weights[2] = 0;
    const auto data = reference::random_rows<double>(model, 2000, 3, 12);
    checks::on_device<double> device(model, data, {}, by_products_alone);
    const statistics got = device.sums();
    EXPECT_EQ(got.weight(2), 0);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(got.first(2, j), 0);
    checks::expect_close(checks::comparable(got), checks::comparable(checks::expected_sums<double>(model, data, {})),
                         checks::kernel_tolerance<double>, checks::name(type));
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(Float64Products, FewRowsOfSeveralBlocks) {
  check(covariance_type::full, 70, 8, 300, 0.7, false);
  check(covariance_type::tied, 70, 8, 300, 0.7, false);
}
TEST_F(Float64Products, FewRowsByEveryKernel) {
  for (const std::size_t components : {10, 64}) {
    for (std::size_t columns = 1; columns <= 8; ++columns)
      check(covariance_type::full, 70, columns, components, 0.7, false);
    for (const std::size_t columns : {2, 4, 8, 12, 16})
      check(covariance_type::diag, 70, columns, components, 0.7, false);
  }
}

TEST_F(Float64Products, StoppedKernelsChangeNothing) {
  const auto model = reference::random_model(covariance_type::full, 30, 4, 0.7, 31);
  const auto data = reference::random_rows<double>(model, 500, 4, 32);
  for (const maker make : {by_products_alone, by_either, by_small}) {
    checks::on_device<double> device(model, data, {}, make);
    checks::expect_nothing_once_stopped(device);
  }
}

TEST_F(Float64Products, NothingAddedIsZero) {
  const auto model = reference::random_model(covariance_type::full, 3, 4, 0.7, 41);
  const auto data = reference::random_rows<double>(model, 500, 4, 42);
  for (const maker make : {by_either, by_small}) {
    checks::on_device<double> device(model, data, {}, make);
    device.sums();
    device.count = 0;
    const statistics nothing = device.sums();
    for (const double value : nothing.values()) EXPECT_EQ(value, 0.0);
  }
}

// A GPU says whether it has clusters of blocks.
TEST_F(Float64Products, WhatDoesNotSuitIsRefused) {
  accumulator_shape shape;
  shape.share_rows = 1000;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  for (const statistics_layout& layout :
       {statistics_layout(covariance_type::full, 10, 9), statistics_layout(covariance_type::diag, 10, 17),
        statistics_layout(covariance_type::full, 10'000, 1)}) {
    shape.layout = layout;
    EXPECT_FALSE(shoal::gmm::few_columns::suits_float64_products(shape));
    EXPECT_THROW(by_products_alone(shape), shoal::bad_argument);
  }
  shape.layout = statistics_layout(covariance_type::full, 1024, 1);
  EXPECT_TRUE(shoal::gmm::few_columns::suits_float64_products(shape));
}

}  // namespace
