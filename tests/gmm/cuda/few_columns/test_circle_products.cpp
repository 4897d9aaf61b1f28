// Full mixtures of few columns and many components, which the warps of a team divide, against float64: awkward sizes,
// far rows, rows of small densities, components that lie apart, and the same bits however rows are cut.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/precision.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>

#include "../../../cuda_devices.hpp"
#include "../../kernel_checks.hpp"
#include "../nobody.hpp"
#include "checks.hpp"
#include "product_checks.hpp"

namespace {

using checks::covariance_type;
using checks::rounded_model;
using shoal::gmm::accumulator;
using shoal::gmm::accumulator_shape;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

class CircleAccumulator : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

using checks::maker;

std::unique_ptr<accumulator<float>> by_circles(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_circle_accumulator(shape, std::make_unique<checks::nobody<float>>());
}
std::unique_ptr<accumulator<float>> by_either(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_circle_accumulator(shape,
                                                          shoal::gmm::few_columns::make_accumulator<float>(shape));
}
constexpr maker for_one = checks::for_one<by_circles>;
constexpr maker coarse = checks::coarse<by_circles>;
constexpr maker coarse_for_one = checks::coarse_for_one<by_circles>;

void check(std::size_t rows, std::size_t columns, std::size_t components, double spread, maker make = by_circles) {
  checks::check_sums(covariance_type::full, rows, columns, components, spread, make);
}

TEST_F(CircleAccumulator, EveryNumberOfColumns) {
  for (std::size_t columns = 5; columns <= 16; ++columns) {
    for (const std::size_t components : {17, 40}) check(5003, columns, components, 0.8);
  }
}

// Teams of two warps to sixteen, with one sixteen of rows at a time and with two.
TEST_F(CircleAccumulator, AnyNumberOfComponents) {
  for (const std::size_t components : {1, 16, 17, 32, 33, 47, 48, 49, 64, 65, 81, 97, 128, 129, 160, 161, 255, 256}) {
    for (const std::size_t columns : {8, 12, 16}) check(4097, columns, components, 0.8);
  }
  for (const std::size_t components : {257, 320, 511, 512}) check(2031, 8, components, 0.8);
}

TEST_F(CircleAccumulator, AwkwardNumbersOfRows) {
  for (const std::size_t rows : {1, 7, 15, 16, 17, 31, 32, 33, 127, 128, 129, 255, 257, 511, 513, 4095, 4096, 4097}) {
    check(rows, 8, 33, 0.8);
    check(rows, 7, 150, 0.8, for_one);
    check(rows, 11, 40, 0.8, for_one);
    check(rows, 16, 17, 0.8);
    check(rows, 13, 70, 0.8, for_one);
  }
  check(46800, 16, 17, 0.8);
  check(46800, 10, 100, 0.8);
  check(300007, 8, 33, 0.8);
}

TEST_F(CircleAccumulator, KeepsElevenBitsWhenAskedForLess) {
  for (const std::size_t columns : {5, 8, 9, 12, 13, 16}) {
    for (const std::size_t components : {10, 17, 33, 65, 256}) {
      checks::check_coarse(covariance_type::full, 4097, columns, components, 0.3, coarse);
      checks::check_coarse(covariance_type::full, 9001, columns, components, 0.8, coarse_for_one);
    }
  }
}

TEST_F(CircleAccumulator, LeavesComponentsThatLieApartToOthers) {
  for (const std::size_t columns : {6, 12, 16}) {
    check(5003, columns, 40, 20, by_either);
    check(5003, columns, 20, 200, by_either);
    check(5003, columns, 40, 0.8, by_either);
    check(20011, columns, 33, 2, by_either);
    check(20011, columns, 33, 4, by_either);
  }
}

TEST_F(CircleAccumulator, FarRowsAreDoneInDouble) {
  checks::check_far_rows(covariance_type::full, 5000, 8, 40, 97, by_circles);
  checks::check_far_rows(covariance_type::full, 700, 6, 200, 31, by_circles);
  checks::check_far_rows(covariance_type::full, 300, 16, 60, 1, by_circles);
  checks::check_far_rows(covariance_type::full, 300, 11, 17, 7, for_one);
  const auto model = rounded_model(covariance_type::full, 40, 14, 0.8, 3);
  auto data = reference::random_rows<float>(model, 1000, 14, 4);
  for (std::size_t r = 0; r < 1000; r += 33) data[r * 14 + r % 14] = r % 2 == 0 ? 1e3F : 3e12F;
  checks::unweighted device(model, data, coarse);
  const statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), 31);
  checks::expect_sums(got, model, data, 1e-3, "eleven bits");
}

// Densities so small that their plain sum would vanish, but not so far as to need float64.
TEST_F(CircleAccumulator, RowsOfSmallDensities) {
  for (const std::size_t columns : {5, 8, 11, 16})
    checks::check_small_densities({covariance_type::full, columns, 34}, by_circles);
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(CircleAccumulator, FewRowsByEveryKernel) {
  for (const std::size_t columns : {7, 12, 15}) {
    for (const std::size_t components : {20, 40, 130}) {
      check(300, columns, components, 0.8, for_one);
      checks::check_coarse(covariance_type::full, 300, columns, components, 0.5, coarse_for_one);
    }
  }
  checks::check_far_rows(covariance_type::full, 300, 8, 35, 31, by_circles);
  checks::check_far_rows(covariance_type::full, 300, 14, 100, 31, by_circles);
}

TEST_F(CircleAccumulator, RowsBeyondTheRangeOfFloatStayFinite) {
  checks::check_beyond_float({covariance_type::full, 5, 40}, by_circles);
}

TEST_F(CircleAccumulator, AnEmptyComponentGetsNothing) {
  checks::check_empty_component({covariance_type::full, 6, 35}, by_circles);
}

TEST_F(CircleAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  for (const std::size_t columns : {5, 8, 12, 16})
    checks::check_far_from_origin({covariance_type::full, columns, 35, 1}, by_circles);
}

TEST_F(CircleAccumulator, StoppedKernelsChangeNothing) {
  checks::check_stopped({covariance_type::full, 6, 35}, by_either);
}

// Through the door, with rows far from the origin: components that overlap and components three deviations apart.
TEST_F(CircleAccumulator, FitsEndWhereFloat64Ends) {
  for (const std::size_t columns : {8, 12, 16}) {
    for (const double apart : {0.7, 3.0}) {
      SCOPED_TRACE(fmt::format("{} columns, {} apart", columns, apart));
      constexpr std::size_t count = 200'011, components = 33;
      ASSERT_TRUE(shoal::gmm::few_columns::suits_circles(
          checks::shape_of(statistics_layout(covariance_type::full, components, columns), count, false)));
      checks::expect_fit_as_in_float64(covariance_type::full, components, columns, count, apart);
      checks::expect_fit_as_in_float64(covariance_type::full, components, columns, count, apart,
                                       shoal::precision::tf32);
    }
  }
}

TEST(CircleAccumulatorShape, HasFullCovariancesWithoutWeights) {
  accumulator_shape shape;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  shape.share_rows = 1'000'000;
  const auto suits = [&](covariance_type type, std::size_t components, std::size_t columns) {
    shape.layout = statistics_layout(type, components, columns);
    return shoal::gmm::few_columns::suits_circles(shape);
  };
  for (const auto precision : {shoal::precision::float32, shoal::precision::tf32}) {
    const bool fine = precision == shoal::precision::float32;
    shape.precision = precision;
    for (const std::size_t columns : {5, 6, 7, 8, 9, 12, 13, 16}) {
      EXPECT_EQ(suits(covariance_type::full, 33, columns), !fine || columns > 6) << columns;
      EXPECT_TRUE(suits(covariance_type::full, 64, columns) || columns == 5) << columns;
      EXPECT_EQ(suits(covariance_type::full, 256, columns), !fine || columns <= 12) << columns;
      EXPECT_EQ(suits(covariance_type::full, 512, columns), columns <= 8) << columns;
      EXPECT_FALSE(suits(covariance_type::full, 513, columns)) << columns;
      EXPECT_EQ(suits(covariance_type::full, 17, columns), columns > (fine ? 14U : 12U)) << columns;
    }
  }
  shape.share_rows = 30'000;
  EXPECT_TRUE(suits(covariance_type::full, 40, 8));
  shape.precision = shoal::precision::float32;
  EXPECT_FALSE(suits(covariance_type::full, 40, 8));
  shape.share_rows = 1'000'000;
  EXPECT_FALSE(suits(covariance_type::full, 33, 4));
  EXPECT_FALSE(suits(covariance_type::full, 33, 17));
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical, covariance_type::tied}) {
    EXPECT_FALSE(suits(type, 40, 8)) << checks::name(type);
    EXPECT_THROW(shoal::gmm::few_columns::make_circle_accumulator(shape, std::make_unique<checks::nobody<float>>()),
                 shoal::bad_argument);
  }
  shape.weighted = true;
  EXPECT_FALSE(suits(covariance_type::full, 40, 8));
}

}  // namespace
