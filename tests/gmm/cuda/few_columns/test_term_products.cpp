// Mixtures of few columns and any number of components by products on tensor cores, against float64: awkward sizes,
// rows that are far, components that are too far from each other, and the same bits however rows are cut.
#include <algorithm>
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
#include "product_checks.hpp"

namespace {

using checks::covariance_type;
using checks::rounded_model;
using shoal::gmm::accumulator;
using shoal::gmm::accumulator_shape;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

constexpr covariance_type types[] = {covariance_type::diag, covariance_type::spherical};

class TermProductAccumulator : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

using checks::maker;

std::unique_ptr<accumulator<float>> by_products_alone(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_term_product_accumulator(shape, std::make_unique<checks::nobody<float>>());
}
std::unique_ptr<accumulator<float>> by_either(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_term_product_accumulator(
      shape, shoal::gmm::few_columns::make_accumulator<float>(shape));
}
constexpr maker for_one = checks::for_one<by_products_alone>;
constexpr maker coarse = checks::coarse<by_products_alone>;
constexpr maker coarse_for_one = checks::coarse_for_one<by_products_alone>;

TEST_F(TermProductAccumulator, EveryNumberOfColumns) {
  for (const covariance_type type : types) {
    for (std::size_t columns = 1; columns <= 16; ++columns) {
      checks::check_sums(type, 5003, columns, 40, 0.8, by_products_alone);
    }
  }
}

TEST_F(TermProductAccumulator, AwkwardNumbersOfRows) {
  for (const covariance_type type : types) {
    for (const std::size_t rows : {1, 15, 17, 31, 33, 63, 65, 511, 512, 513, 4095, 4097, 46800, 300007}) {
      checks::check_sums(type, rows, 8, 33, 0.8, by_products_alone);
    }
    for (const std::size_t rows : {1, 33, 1023, 4097, 9001}) {
      checks::check_sums(type, rows, 16, 100, 0.8, by_products_alone);
      checks::check_sums(type, rows, 7, 190, 0.8, for_one);
      checks::check_sums(type, rows, 13, 33, 0.8, for_one);
      checks::check_sums(type, rows, 3, 700, 0.8, for_one);
    }
  }
}

// One to four tiles of a warp, one part to eight, and one round to several.
TEST_F(TermProductAccumulator, AnyNumberOfComponents) {
  for (const covariance_type type : types) {
    for (const std::size_t components : {1, 16, 17, 33, 48, 49, 64, 65, 100, 128, 129, 255, 256, 257, 512, 513, 1000}) {
      checks::check_sums(type, 4097, 8, components, 0.8, by_products_alone);
      checks::check_sums(type, 2031, 16, components, 0.8, by_products_alone);
    }
    checks::check_sums(type, 3000, 2, 4096, 0.8, by_products_alone);
    checks::check_sums(type, 700, 8, 16384, 0.8, by_products_alone);
  }
}

TEST_F(TermProductAccumulator, KeepsElevenBitsWhenAskedForLess) {
  for (const covariance_type type : types) {
    for (const std::size_t columns : {1, 2, 5, 8, 9, 13, 16}) {
      for (const std::size_t components : {17, 33, 49, 64, 65, 300}) {
        for (const double spread : {0.3, 0.8}) checks::check_coarse(type, 4097, columns, components, spread, coarse);
        checks::check_coarse(type, 4097, columns, components, 1.5, coarse_for_one);
      }
    }
  }
}

// One warp to eight that share rows, and more components than they have registers for.
TEST_F(TermProductAccumulator, AnyNumberOfComponentsInElevenBits) {
  for (const covariance_type type : types) {
    for (const std::size_t components :
         {1, 16, 32, 33, 48, 49, 64, 65, 96, 97, 128, 129, 160, 192, 224, 225, 256, 257, 1000}) {
      for (const std::size_t columns : {8, 16}) checks::check_coarse(type, 1031, columns, components, 0.8, coarse);
      checks::check_coarse(type, 4200, 5, components, 0.8, coarse_for_one);
    }
    // A row alone is off by as much as its log-density.
    for (const std::size_t rows : {15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 511, 513, 1023, 1025}) {
      for (const std::size_t components : {40, 60, 100, 256, 600, 1000}) {
        checks::check_coarse(type, rows, 13, components, 0.8, coarse_for_one);
      }
    }
  }
}

TEST_F(TermProductAccumulator, LeavesComponentsThatLieApartToOthers) {
  for (const covariance_type type : types) {
    checks::check_sums(type, 5003, 8, 40, 20, by_either);
    checks::check_sums(type, 5003, 3, 40, 200, by_either);
    checks::check_sums(type, 5003, 8, 40, 0.8, by_either);
  }
}

TEST_F(TermProductAccumulator, FarRowsAreDoneInDouble) {
  for (const covariance_type type : types) {
    checks::check_far_rows(type, 5000, 8, 40, 97, by_products_alone);
    checks::check_far_rows(type, 700, 3, 200, 31, by_products_alone);
    checks::check_far_rows(type, 300, 16, 60, 1, by_products_alone);
    checks::check_far_rows(type, 300, 5, 1000, 7, for_one);
    for (const std::size_t columns : {3, 16}) {
      const auto model = rounded_model(type, 40, columns, 0.8, 3);
      auto data = reference::random_rows<float>(model, 1000, columns, 4);
      for (std::size_t r = 0; r < 1000; r += 33) data[r * columns] = 1e6F;
      checks::unweighted device(model, data, coarse);
      const statistics got = device.sums();
      EXPECT_EQ(got.far_rows(), 31);
      checks::expect_sums(got, model, data, 1e-3, checks::name(type));
    }
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(TermProductAccumulator, FewRowsByEveryKernel) {
  for (const covariance_type type : types) {
    for (const std::size_t columns : {3, 16}) {
      for (const std::size_t components : {10, 20, 40, 60, 100, 600})
        checks::check_sums(type, 300, columns, components, 0.8, for_one);
      checks::check_coarse(type, 300, columns, 40, 0.8, coarse);
      checks::check_coarse(type, 300, columns, 60, 0.8, coarse_for_one);
      for (const std::size_t components : {100, 300, 1000, 1100}) {
        checks::check_coarse(type, 300, columns, components, 0.8, coarse_for_one);
      }
    }
    checks::check_far_rows(type, 300, 8, 35, 31, by_products_alone);
  }
}

// Rows whose densities are so small, though they are not far, that they are found relative to the greatest.
TEST_F(TermProductAccumulator, RowsOfSmallDensity) {
  for (const covariance_type type : types) {
    const auto model = rounded_model(type, 40, 3, 0.8, 3);
    auto data = reference::random_rows<float>(model, 3000, 3, 4);
    for (std::size_t r = 0; r < 3000; r += 70) {
      const std::size_t k = r % 40;
      const std::size_t at = type == covariance_type::diag ? 3 * k : k;
      data[r * 3] = static_cast<float>(model.means[3 * k] + 15 * std::sqrt(model.covariances[at]));
    }
    checks::unweighted device(model, data, by_products_alone);
    checks::expect_sums(device.sums(), model, data, checks::kernel_tolerance<float>, checks::name(type));
    // In eleven bits a log-density is off by 0.1 at most, and no row is lost.
    checks::unweighted less(model, data, coarse);
    const statistics got = less.sums(), expected = checks::expected_sums<float>(model, data, {});
    EXPECT_EQ(got.far_rows(), 0);
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 0.1 * 43);
    EXPECT_NEAR(got.total_weight(), 3000, 1e-9);
    double weight = 0;
    for (std::size_t k = 0; k < 40; ++k) weight += got.weight(k);
    EXPECT_NEAR(weight, 3000, 3);
  }
}

TEST_F(TermProductAccumulator, RowsBeyondTheRangeOfFloatStayFinite) {
  for (const covariance_type type : types) {
    checks::check_beyond_float({type, 5, 40}, by_products_alone);
    checks::check_beyond_float({type, 5, 40}, coarse);
  }
}

TEST_F(TermProductAccumulator, AnEmptyComponentGetsNothing) {
  for (const covariance_type type : types) checks::check_empty_component({type, 6, 35}, by_products_alone);
}

TEST_F(TermProductAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  for (const covariance_type type : types) checks::check_far_from_origin({type, 8, 40, 1}, by_products_alone);
}

TEST_F(TermProductAccumulator, StoppedKernelsChangeNothing) {
  checks::check_stopped({covariance_type::diag, 4, 35}, by_either);
}

// Through the door, with rows far from the origin: components that overlap and components three deviations apart.
TEST_F(TermProductAccumulator, FitsEndWhereFloat64Ends) {
  for (const covariance_type type : types) {
    for (const std::size_t columns : {8, 13}) {
      for (const double apart : {0.7, 3.0}) {
        SCOPED_TRACE(fmt::format("{}, {} columns, {} apart", checks::name(type), columns, apart));
        constexpr std::size_t count = 1'000'011, components = 100;
        ASSERT_TRUE(shoal::gmm::few_columns::suits_term_products(
            checks::shape_of(statistics_layout(type, components, columns), count, false)));
        checks::expect_fit_as_in_float64(type, components, columns, count, apart);
        checks::expect_fit_as_in_float64(type, components, columns, count, apart, shoal::precision::tf32);
      }
    }
  }
}

TEST(TermProductAccumulatorShape, HasVectorsWithoutWeights) {
  accumulator_shape shape;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  shape.share_rows = 1'000'000;
  for (const covariance_type type : types) {
    for (const std::size_t columns : {1, 8, 16}) {
      for (const std::size_t components : {100, 1000, 16384}) {
        shape.layout = statistics_layout(type, components, columns);
        EXPECT_TRUE(shoal::gmm::few_columns::suits_term_products(shape)) << columns << " columns, " << components;
      }
    }
    // Fewer components are worth it where eleven bits do.
    shape.layout = statistics_layout(type, 64, 8);
    EXPECT_FALSE(shoal::gmm::few_columns::suits_term_products(shape));
    shape.precision = shoal::precision::tf32;
    EXPECT_TRUE(shoal::gmm::few_columns::suits_term_products(shape));
    shape.layout = statistics_layout(type, 32, 8);
    EXPECT_FALSE(shoal::gmm::few_columns::suits_term_products(shape));
    shape.precision = shoal::precision::float32;
    shape.layout = statistics_layout(type, 100, 17);
    EXPECT_FALSE(shoal::gmm::few_columns::suits_term_products(shape));
    shape.layout = statistics_layout(type, 100, 8);
    shape.weighted = true;
    EXPECT_FALSE(shoal::gmm::few_columns::suits_term_products(shape));
    EXPECT_THROW(
        shoal::gmm::few_columns::make_term_product_accumulator(shape, std::make_unique<checks::nobody<float>>()),
        shoal::bad_argument);
    shape.weighted = false;
  }
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    shape.layout = statistics_layout(type, 100, 8);
    EXPECT_FALSE(shoal::gmm::few_columns::suits_term_products(shape));
  }
}

}  // namespace
