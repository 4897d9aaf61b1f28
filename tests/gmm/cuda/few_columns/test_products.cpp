// Mixtures of few columns by products on tensor cores, against float64: awkward sizes, rows that are far, components
// that are too far from each other, and the same bits however rows are cut.
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
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

constexpr covariance_type types[] = {covariance_type::full, covariance_type::diag, covariance_type::spherical};

class ProductAccumulator : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

// Full covariances of many columns would fill the registers of a warp.
std::size_t most_components(covariance_type type, std::size_t columns) {
  if (type != covariance_type::full || columns <= 6) return 256;
  return columns <= 8 ? 192 : 0;
}

using checks::maker;

std::unique_ptr<accumulator<float>> by_products_alone(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_product_accumulator(shape, std::make_unique<checks::nobody<float>>());
}
std::unique_ptr<accumulator<float>> by_either(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_product_accumulator(shape,
                                                           shoal::gmm::few_columns::make_accumulator<float>(shape));
}
constexpr maker for_one = checks::for_one<by_products_alone>;

void check(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, double spread,
           maker make) {
  if (components > most_components(type, columns)) return;
  checks::check_sums(type, rows, columns, components, spread, make);
}

TEST_F(ProductAccumulator, EveryNumberOfColumns) {
  for (const covariance_type type : types) {
    for (std::size_t columns = 1; columns <= 16; ++columns) check(type, 5003, columns, 20, 0.8, by_products_alone);
  }
}

TEST_F(ProductAccumulator, AwkwardNumbersOfRows) {
  for (const covariance_type type : types) {
    for (const std::size_t rows : {1, 15, 17, 63, 65, 129, 4095, 4097, 46800, 300007}) {
      check(type, rows, 8, 8, 0.8, by_products_alone);
    }
    for (const std::size_t rows : {1, 33, 4097, 9001}) {
      check(type, rows, 16, 100, 0.8, by_products_alone);
      check(type, rows, 16, 50, 0.8, by_products_alone);
      check(type, rows, 7, 190, 0.8, for_one);
      check(type, rows, 13, 33, 0.8, for_one);
    }
  }
}

TEST_F(ProductAccumulator, AnyNumberOfComponents) {
  for (const covariance_type type : types) {
    for (const std::size_t components : {1, 2, 16, 17, 33, 48, 49, 64, 65, 96, 97, 128, 129, 192, 193, 255, 256}) {
      check(type, 4097, 8, components, 0.8, by_products_alone);
      check(type, 2031, 16, components, 0.8, by_products_alone);
    }
  }
}

TEST_F(ProductAccumulator, LeavesComponentsThatLieApartToOthers) {
  for (const covariance_type type : types) {
    check(type, 5003, 8, 10, 20, by_either);
    check(type, 5003, 3, 40, 200, by_either);
    check(type, 5003, 8, 10, 0.8, by_either);
  }
}

void check_far(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, std::size_t every) {
  if (components > most_components(type, columns)) return;
  checks::check_far_rows(type, rows, columns, components, every, by_products_alone);
}

TEST_F(ProductAccumulator, FarRowsAreDoneInDouble) {
  for (const covariance_type type : types) {
    check_far(type, 5000, 8, 10, 97);
    check_far(type, 700, 3, 200, 31);
    check_far(type, 300, 16, 60, 1);
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(ProductAccumulator, FewRowsByEveryKernel) {
  for (const covariance_type type : types) {
    for (const std::size_t columns : {3, 16}) {
      for (const std::size_t components : {10, 20, 40, 60, 100, 200})
        check(type, 300, columns, components, 0.8, for_one);
    }
    check_far(type, 300, 8, 5, 31);
  }
}

TEST_F(ProductAccumulator, RowsBeyondTheRangeOfFloatStayFinite) {
  for (const covariance_type type : types) checks::check_beyond_float({type, 5, 4}, by_products_alone);
}

TEST_F(ProductAccumulator, AnEmptyComponentGetsNothing) {
  for (const covariance_type type : types) checks::check_empty_component({type, 6, 5}, by_products_alone);
}

TEST_F(ProductAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  for (const covariance_type type : types) checks::check_far_from_origin({type, 8, 20, 1}, by_products_alone);
}

TEST_F(ProductAccumulator, StoppedKernelsChangeNothing) {
  checks::check_stopped({covariance_type::diag, 4, 3}, by_either);
}

// Through the door, with rows far from the origin: components that overlap and components three deviations apart.
TEST_F(ProductAccumulator, FitsEndWhereFloat64Ends) {
  for (const covariance_type type : types) {
    for (const std::size_t columns : {8, 13}) {
      if (most_components(type, columns) == 0) continue;
      for (const double apart : {0.7, 3.0}) {
        SCOPED_TRACE(fmt::format("{}, {} columns, {} apart", checks::name(type), columns, apart));
        constexpr std::size_t count = 1'000'011, components = 33;
        ASSERT_TRUE(shoal::gmm::few_columns::suits_products(
            checks::shape_of(statistics_layout(type, components, columns), count, false)));
        checks::expect_fit_as_in_float64(type, components, columns, count, apart);
      }
    }
  }
}

TEST(ProductAccumulatorShape, HasManyRowsWithoutWeights) {
  accumulator_shape shape;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  shape.share_rows = 10'000'000;
  for (const covariance_type type : types) {
    for (const std::size_t columns : {5, 6, 7, 8}) {
      for (const std::size_t components : {48UL, 64UL, most_components(type, columns)}) {
        shape.layout = statistics_layout(type, components, columns);
        EXPECT_TRUE(shoal::gmm::few_columns::suits_products(shape)) << columns << " columns, " << components;
      }
      shape.layout = statistics_layout(type, most_components(type, columns) + 1, columns);
      EXPECT_FALSE(shoal::gmm::few_columns::suits_products(shape)) << columns << " columns";
    }
    shape.layout = statistics_layout(type, 10, 8);
    EXPECT_FALSE(shoal::gmm::few_columns::suits_products(shape));
    shape.layout = statistics_layout(type, 64, 16);
    EXPECT_EQ(shoal::gmm::few_columns::suits_products(shape), type != covariance_type::full);
    shape.layout = statistics_layout(type, 33, 17);
    EXPECT_FALSE(shoal::gmm::few_columns::suits_products(shape));
    shape.layout = statistics_layout(type, 33, 8);
    EXPECT_TRUE(shoal::gmm::few_columns::suits_products(shape));
    shape.weighted = true;
    EXPECT_FALSE(shoal::gmm::few_columns::suits_products(shape));
    EXPECT_THROW(shoal::gmm::few_columns::make_product_accumulator(shape, std::make_unique<checks::nobody<float>>()),
                 shoal::bad_argument);
    shape.weighted = false;
  }
  shape.layout = statistics_layout(covariance_type::tied, 33, 8);
  EXPECT_FALSE(shoal::gmm::few_columns::suits_products(shape));
}

}  // namespace
