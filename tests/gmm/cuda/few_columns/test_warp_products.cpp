// Mixtures of few columns and few components by products whose operands warps make in registers, against float64:
// awkward sizes, far rows, rows of small densities, components that lie apart, and the same bits however rows are cut.
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
#include <shoal/gmm/cuda/few_columns/warp_products.hpp>

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

class WarpProductAccumulator : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

using checks::maker;

std::unique_ptr<accumulator<float>> by_warps(const accumulator_shape& shape) {
  return shoal::gmm::few_columns::make_warp_product_accumulator(shape);
}
constexpr maker for_one = checks::for_one<by_warps>;

std::unique_ptr<accumulator<float>> by_one_product(const accumulator_shape& shape) {
  accumulator_shape narrow = shape;
  narrow.precision = shoal::precision::tf32;
  return by_warps(narrow);
}

void check(std::size_t rows, std::size_t columns, std::size_t components, double spread, maker make = by_warps) {
  checks::check_sums(covariance_type::full, rows, columns, components, spread, make);
}

TEST_F(WarpProductAccumulator, EveryNumberOfColumnsAndComponents) {
  for (std::size_t columns = 5; columns <= 16; ++columns) {
    const std::size_t most = shoal::gmm::few_columns::most_warp_product_components(columns);
    for (std::size_t components = 1; components <= most; ++components) check(5003, columns, components, 0.8);
  }
}

TEST_F(WarpProductAccumulator, AwkwardNumbersOfRows) {
  for (const std::size_t rows : {1,   7,   8,   15,  16,  17,  31,   32,   33,   127,   128,   129,
                                 191, 192, 193, 383, 384, 385, 4095, 4096, 4097, 46800, 300007}) {
    check(rows, 8, 10, 0.8);
    check(rows, 7, 3, 0.8, for_one);
    check(rows, 6, 25, 0.8, for_one);
    check(rows, 16, 10, 0.8);
    check(rows, 13, 3, 0.8, for_one);
    check(rows, 11, 16, 0.8, for_one);
  }
}

// Few bits are the same by chance: the teams' sums of the same rows have others.
TEST_F(WarpProductAccumulator, WorksWhileComponentsLieNear) {
  for (const std::size_t columns : {8, 9, 12, 13, 16}) {
    for (const double spread : {0.8, 20.0}) {
      const auto model = rounded_model(covariance_type::full, 10, columns, spread, 41);
      const auto data = reference::random_rows<float>(model, 20000, columns, 42);
      checks::unweighted warps(model, data, by_warps);
      checks::unweighted teams(model, data, shoal::gmm::few_columns::make_team_accumulator);
      const statistics got = warps.sums(), other = teams.sums();
      std::size_t differ = 0;
      for (std::size_t i = 0; i < got.values().size(); ++i) differ += got.values()[i] != other.values()[i] ? 1 : 0;
      EXPECT_EQ(differ > 0, spread < 1) << differ << ", " << columns << " columns";
    }
  }
}

TEST_F(WarpProductAccumulator, LeavesComponentsThatLieApartToOthers) {
  for (std::size_t columns = 5; columns <= 16; ++columns) {
    check(5003, columns, 10, 20);
    check(5003, columns, 4, 200);
    check(5003, columns, 16, 20);
    if (columns <= 12) check(5003, columns, 32, 20);
    check(20011, columns, 9, 2);
    check(20011, columns, 9, 4);
  }
}

void check_far(std::size_t rows, std::size_t columns, std::size_t components, std::size_t every) {
  checks::check_far_rows(covariance_type::full, rows, columns, components, every, by_warps);
}

TEST_F(WarpProductAccumulator, FarRowsAreDoneInDouble) {
  check_far(5000, 8, 10, 97);
  check_far(700, 6, 3, 31);
  check_far(300, 5, 16, 1);
  check_far(5000, 16, 10, 97);
  check_far(700, 9, 3, 31);
  check_far(300, 13, 16, 1);
}

// Densities so small that their plain sum would vanish, but not so far as to need float64.
TEST_F(WarpProductAccumulator, RowsOfSmallDensities) {
  for (std::size_t columns = 5; columns <= 16; ++columns) {
    checks::check_small_densities({covariance_type::full, columns, 9}, by_warps);
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(WarpProductAccumulator, FewRowsByEveryKernel) {
  for (std::size_t columns = 5; columns <= 16; ++columns) {
    check(300, columns, 8, 0.8, for_one);
    check(300, columns, 9, 0.8, for_one);
    if (columns > 12) continue;
    check(300, columns, 17, 0.8, for_one);
    check(300, columns, 25, 0.8, for_one);
  }
  check(300, 8, 10, 20, for_one);
  check_far(300, 8, 5, 31);
  check_far(300, 14, 5, 31);
}

TEST_F(WarpProductAccumulator, RowsBeyondTheRangeOfFloatStayFinite) {
  checks::check_beyond_float({covariance_type::full, 5, 4}, by_warps);
}

TEST_F(WarpProductAccumulator, AnEmptyComponentGetsNothing) {
  checks::check_empty_component({covariance_type::full, 6, 5}, by_warps);
}

TEST_F(WarpProductAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  for (std::size_t columns = 5; columns <= 16; ++columns) {
    checks::check_far_from_origin({covariance_type::full, columns, 10, 1}, by_warps);
  }
}

// Precisions below float32 take high terms alone: docs/tolerances.md allows them a thousandth of the weight.
TEST_F(WarpProductAccumulator, OneProductKeepsElevenBits) {
  for (std::size_t columns = 5; columns <= 16; ++columns) {
    for (const std::size_t components : {1, 7, 8, 9, 16}) {
      for (const double spread : {0.7, 3.0}) {
        const auto model = rounded_model(covariance_type::full, components, columns, spread, 61);
        const auto data = reference::random_rows<float>(model, 20011, columns, 62);
        checks::unweighted device(model, data, by_one_product), exact(model, data, by_warps);
        const statistics got = device.sums(), other = exact.sums();
        const std::string what = fmt::format("{} columns, {} components, {} apart", columns, components, spread);
        checks::expect_sums(got, model, data, 1e-3, what);
        checks::expect_same_bits(device.sums(4096), got, what + ", in pieces");
        if (spread < 1) {
          EXPECT_NE(got.values()[statistics_layout::log_likelihood()],
                    other.values()[statistics_layout::log_likelihood()])
              << what;
        }
      }
    }
  }
}

TEST_F(WarpProductAccumulator, OneProductDoesFarRowsInDouble) {
  const auto model = rounded_model(covariance_type::full, 10, 14, 0.8, 7);
  auto data = reference::random_rows<float>(model, 3000, 14, 8);
  for (std::size_t r = 0; r < 3000; r += 50) data[r * 14 + r % 14] = r % 100 == 0 ? 1e3F : 3e12F;
  checks::unweighted device(model, data, by_one_product);
  const statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), 60);
  for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value));
}

// Columns of very different units, correlated ones among them.
void check_units(std::size_t columns) {
  auto model = rounded_model(covariance_type::full, 10, columns, 0.8, 51);
  auto data = reference::random_rows<float>(model, 20000, columns, 52);
  const auto unit = [](std::size_t j) { return std::ldexp(1.0, 12 * (static_cast<int>(j % 8) - 4)); };
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(static_cast<double>(data[i]) * unit(i % columns));
  for (std::size_t k = 0; k < 10; ++k) {
    for (std::size_t i = 0; i < columns; ++i) {
      model.means[k * columns + i] *= unit(i);
      for (std::size_t j = 0; j < columns; ++j) model.covariances[(k * columns + i) * columns + j] *= unit(i) * unit(j);
    }
  }
  checks::unweighted device(model, data, by_warps);
  const statistics got = device.sums();
  const statistics expected = checks::expected_sums<float>(model, data, {});
  for (std::size_t k = 0; k < 10; ++k) {
    EXPECT_NEAR(got.weight(k), expected.weight(k), 3e-5 * expected.weight(k));
    for (std::size_t j = 0; j < columns; ++j) {
      EXPECT_NEAR(got.first(k, j) / unit(j), expected.first(k, j) / unit(j), 3e-5 * expected.weight(k));
    }
  }
}

TEST_F(WarpProductAccumulator, ColumnsOfAnyUnits) {
  for (const std::size_t columns : {8, 11, 16}) check_units(columns);
}

TEST_F(WarpProductAccumulator, StoppedKernelsChangeNothing) {
  checks::check_stopped({covariance_type::full, 6, 3}, by_warps);
}

// Through the door, with rows far from the origin: components that overlap and components three deviations apart.
TEST_F(WarpProductAccumulator, FitsEndWhereFloat64Ends) {
  for (const std::size_t columns : {5, 8, 12, 16}) {
    for (const std::size_t components : {columns == 5 ? 16UL : 8UL, columns == 5 ? 15UL : 10UL}) {
      for (const double apart : {0.7, 3.0}) {
        SCOPED_TRACE(fmt::format("{} columns, {} components, {} apart", columns, components, apart));
        constexpr std::size_t count = 500'011;
        ASSERT_TRUE(shoal::gmm::few_columns::suits_warp_products(
            checks::shape_of(statistics_layout(covariance_type::full, components, columns), count, false)));
        checks::expect_fit_as_in_float64(covariance_type::full, components, columns, count, apart);
        checks::expect_fit_as_in_float64(covariance_type::full, components, columns, count, apart,
                                         shoal::precision::bf16);
      }
    }
  }
}

// Each of a row's products of columns has one place among the operands, and 1 another.
TEST(WarpProductShape, HasAPlaceForEveryFeature) {
  for (const unsigned columns : {8U, 12U, 16U}) {
    const auto circle = shoal::gmm::few_columns::warp_circle_of(columns);
    std::vector<unsigned> uses(circle.features());
    ++uses.at(circle.one_place());
    for (unsigned i = 0; i < columns; ++i) {
      ++uses.at(circle.line_place(i));
      for (unsigned j = i; j < columns; ++j) ++uses.at(circle.pair_place(i, j));
    }
    unsigned used = 0;
    for (const unsigned count : uses) {
      EXPECT_LE(count, 1U);
      used += count;
    }
    EXPECT_EQ(used, (columns + 1) * (columns + 2) / 2);
  }
}

TEST(WarpProductShape, HasManyRowsWithoutWeights) {
  accumulator_shape shape;
  shape.multiprocessors = 132;
  shape.shared_bytes = 227 << 10;
  shape.share_rows = 1'000'000;
  const auto suits = [&](covariance_type type, std::size_t components, std::size_t columns) {
    shape.layout = statistics_layout(type, components, columns);
    return shoal::gmm::few_columns::suits_warp_products(shape);
  };
  for (std::size_t columns = 1; columns <= 16; ++columns) {
    EXPECT_EQ(suits(covariance_type::full, 16, columns), columns >= 5) << columns << " columns";
  }
  EXPECT_TRUE(suits(covariance_type::full, 32, 8));
  EXPECT_FALSE(suits(covariance_type::full, 33, 8));
  EXPECT_TRUE(suits(covariance_type::full, 32, 12));
  EXPECT_FALSE(suits(covariance_type::full, 33, 12));
  EXPECT_FALSE(suits(covariance_type::full, 17, 13));
  EXPECT_FALSE(suits(covariance_type::full, 1, 16));
  EXPECT_FALSE(suits(covariance_type::full, 2, 8));
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical, covariance_type::tied}) {
    EXPECT_FALSE(suits(type, 10, 8)) << checks::name(type);
    EXPECT_THROW(shoal::gmm::few_columns::make_warp_product_accumulator(shape), shoal::bad_argument);
  }
  shape.precision = shoal::precision::tf32;
  EXPECT_TRUE(suits(covariance_type::full, 1, 16));
  shape.weighted = true;
  EXPECT_FALSE(suits(covariance_type::full, 10, 8));
}

}  // namespace
