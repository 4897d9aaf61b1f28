// Diagonal mixtures whose rows are in shared memory once, against float64: awkward sizes, rows that are far, components
// that lie apart, and the same bits however rows are cut.
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
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>

#include "../../../cuda_devices.hpp"
#include "../../../sharded_rows.hpp"
#include "../../kernel_checks.hpp"
#include "../checks.hpp"
#include "../few_columns/checks.hpp"
#include "../few_columns/product_checks.hpp"
#include "../nobody.hpp"

namespace {

using checks::rounded_model;
using shoal::gmm::accumulator;
using shoal::gmm::accumulator_shape;
using shoal::gmm::covariance_type;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

constexpr covariance_type diag = covariance_type::diag;

class StagedAccumulator : public ::testing::Test {
 protected:
  void SetUp() override {
    SHOAL_NEEDS_DEVICES(1);
    SHOAL_NEEDS_PRODUCTS();
  }
};

using checks::maker;

std::unique_ptr<accumulator<float>> alone(const accumulator_shape& shape) {
  return shoal::gmm::tensor_diagonal::make_staged_accumulator(shape, std::make_unique<checks::nobody<float>>());
}
std::unique_ptr<accumulator<float>> either(const accumulator_shape& shape) {
  return shoal::gmm::tensor_diagonal::make_staged_accumulator(shape,
                                                              shoal::gmm::tensor_diagonal::make_accumulator(shape));
}
constexpr maker for_one = checks::for_one<alone>;
constexpr maker coarse = checks::coarse<alone>;
constexpr maker coarse_for_one = checks::coarse_for_one<alone>;

TEST_F(StagedAccumulator, EveryNumberOfColumns) {
  for (std::size_t columns = 1; columns <= 48; ++columns) checks::check_sums(diag, 2003, columns, 33, 0.3, alone);
}

TEST_F(StagedAccumulator, AwkwardNumbersOfRows) {
  for (const std::size_t rows : {1, 15, 17, 31, 63, 64, 65, 127, 129, 511, 513, 4095, 4096, 4097, 46800, 300007}) {
    checks::check_sums(diag, rows, 32, 33, 0.3, alone);
  }
  for (const std::size_t rows : {1, 63, 4097, 9001, 20011}) {
    checks::check_sums(diag, rows, 17, 40, 0.3, for_one);
    checks::check_sums(diag, rows, 33, 33, 0.3, for_one);
  }
}

TEST_F(StagedAccumulator, AnyNumberOfComponents) {
  for (const std::size_t components : {1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 39, 40}) {
    checks::check_sums(diag, 4097, 24, components, 0.3, alone);
    checks::check_sums(diag, 4097, 32, components, 0.8, alone);
    checks::check_sums(diag, 2031, 48, components, 0.3, alone);
  }
}

TEST_F(StagedAccumulator, KeepsElevenBitsWhenAskedForLess) {
  for (const std::size_t columns : {1, 17, 24, 32, 33, 40, 47, 48}) {
    for (const std::size_t components : {3, 33, 40, 41, 64, 65, 100, 104}) {
      checks::check_coarse(diag, 4097, columns, components, 0.3, coarse);
      checks::check_coarse(diag, 2049, columns, components, 0.8, coarse_for_one);
    }
  }
  for (const std::size_t columns : {49, 63, 64}) {
    for (const std::size_t components : {41, 64, 65, 104}) {
      checks::check_coarse(diag, 4097, columns, components, 0.3, coarse);
      checks::check_coarse(diag, 9001, columns, components, 0.3, coarse_for_one);
    }
  }
  for (const std::size_t columns : {65, 71, 72, 73, 96}) checks::check_coarse(diag, 4097, columns, 40, 0.3, coarse);
  for (const std::size_t columns : {65, 71, 72}) checks::check_coarse(diag, 9001, columns, 64, 0.3, coarse_for_one);
}

TEST_F(StagedAccumulator, LeavesComponentsThatLieApartToOthers) {
  checks::check_sums(diag, 5003, 32, 33, 10, either);
  checks::check_sums(diag, 5003, 20, 40, 200, either);
  checks::check_sums(diag, 5003, 32, 33, 0.3, either);
}

TEST_F(StagedAccumulator, FarRowsAreDoneInDouble) {
  checks::check_far_rows(diag, 5000, 32, 33, 97, alone);
  checks::check_far_rows(diag, 700, 17, 40, 31, alone);
  checks::check_far_rows(diag, 300, 48, 20, 7, for_one);
  const auto model = rounded_model(diag, 100, 64, 0.3, 3);
  auto data = reference::random_rows<float>(model, 1000, 64, 4);
  for (std::size_t r = 0; r < 1000; r += 33) data[r * 64] = 1e6F;
  checks::unweighted device(model, data, coarse);
  const statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), 31);
  checks::expect_sums(got, model, data, 1e-3, "coarse");
}

// Two teams of warps.
TEST_F(StagedAccumulator, TakesManyComponents) {
  for (const std::size_t components : {105, 128, 129, 255, 256}) {
    checks::check_coarse(diag, 4097, 17, components, 0.3, coarse);
    checks::check_coarse(diag, 2049, 24, components, 0.8, coarse_for_one);
  }
  const auto model = rounded_model(diag, 200, 20, 0.3, 3);
  auto data = reference::random_rows<float>(model, 1000, 20, 4);
  for (std::size_t r = 0; r < 1000; r += 33) data[r * 20] = 1e6F;
  checks::unweighted device(model, data, coarse);
  const statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), 31);
  checks::expect_sums(got, model, data, 1e-3, "far rows of 200 components");
}

// A GPU's shards in one launch, or one after another where the components lie apart: the bits of each by itself.
TEST_F(StagedAccumulator, KeepsShardsApart) {
  constexpr std::size_t shard_rows = 8192, rows = 20011, columns = 32, shards = 3;
  for (const double spread : {0.3, 10.0}) {
    const auto model = rounded_model(diag, 33, columns, spread, 3);
    const auto data = reference::random_rows<float>(model, rows, columns, 4);
    const auto of_all = [&](const accumulator_shape& shape) {
      accumulator_shape all = shape;
      all.share_rows = shard_rows;
      all.shards = all.data_shards = shards;
      return either(all);
    };
    const auto of_one = [&](const accumulator_shape& shape) {
      accumulator_shape one = shape;
      one.share_rows = shard_rows;
      one.data_shards = shards;
      return either(one);
    };
    checks::on_device<float> device(model, data, {}, either);
    const shoal::gmm::statistics_layout& layout = device.layout;
    const auto sums_of = [&](accumulator<float>& accumulator, std::size_t first, std::size_t count,
                             std::size_t shard_count) {
      shoal::cuda::device_buffer<double> sums(shard_count * layout.size());
      accumulator.clear(device.mixture.view(), device.stream);
      accumulator.add({device.device_rows.data() + first * columns, nullptr, first, 0, count}, device.mixture.view(),
                      device.stream);
      accumulator.merge(sums.data(), device.mixture.view(), device.stream);
      return sums.download(shard_count * layout.size(), device.stream);
    };
    const accumulator_shape shape = checks::shape_of(layout, rows, false);
    const std::vector<double> together = sums_of(*of_all(shape), 0, rows, shards);
    for (std::size_t shard = 0; shard < shards; ++shard) {
      const std::size_t first = shard * shard_rows;
      const std::vector<double> alone = sums_of(*of_one(shape), first, std::min(shard_rows, rows - first), 1);
      const std::vector<double> own(together.begin() + static_cast<std::ptrdiff_t>(shard * layout.size()),
                                    together.begin() + static_cast<std::ptrdiff_t>((shard + 1) * layout.size()));
      EXPECT_EQ(own, alone) << "shard " << shard << ", spread " << spread;
    }
  }
}

// Fits by any number of GPUs, resident and streamed, of components that lie near each other and apart.
TEST_F(StagedAccumulator, FitsTheSameHoweverRowsArePlaced) {
  constexpr std::size_t rows = 14 * 4096 + 37, columns = 32, components = 33;
  for (const double spread : {0.3, 12.0}) {
    const auto model = rounded_model(diag, components, columns, spread, 3);
    const auto data = reference::random_rows<float>(model, rows, columns, 4);
    const sharded_rows::held_rows<float> held(checks::view(data, columns));
    shoal::gmm::options options;
    options.components = components;
    options.covariance_type = diag;
    options.init = shoal::gmm::initialization::random_rows;
    options.max_iterations = 6;
    options.tolerance = 0;
    options.seed = 5;
    using shoal::gmm::algorithm;
    const std::pair<algorithm, std::size_t> turns[] = {{algorithm::batch, 2},    {algorithm::batch, 3},
                                                       {algorithm::batch, 8},    {algorithm::incremental, 3},
                                                       {algorithm::stepwise, 3}, {algorithm::asynchronous, 3}};
    for (const auto& [one, shards] : turns) {
      options.algorithm = one;
      const auto fit = [&, shards = shards](const sharded_rows::placing& where) {
        return shoal::gmm::fit(*shoal::gmm::make_cuda_backend(held.on(where, shards)), options, {});
      };
      const auto expected = fit({});
      for (const sharded_rows::placing& where : sharded_rows::placings(held.row_bytes())) {
        const auto got = fit(where);
        EXPECT_EQ(got.history, expected.history) << name(where) << ", " << shards << " shards, spread " << spread;
        EXPECT_EQ(got.model.means, expected.model.means) << name(where) << ", " << shards << " shards";
      }
    }
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(StagedAccumulator, FewRowsByEveryKernel) {
  for (const std::size_t columns : {20, 32, 48}) checks::check_sums(diag, 300, columns, 33, 0.3, for_one);
  for (const std::size_t columns : {32, 48}) checks::check_coarse(diag, 300, columns, 33, 0.3, coarse_for_one);
  for (const std::size_t columns : {48, 64, 72}) checks::check_coarse(diag, 300, columns, 64, 0.3, coarse_for_one);
  for (const std::size_t columns : {32, 48, 64}) checks::check_coarse(diag, 300, columns, 104, 0.3, coarse_for_one);
  for (const std::size_t columns : {64, 72, 96}) checks::check_coarse(diag, 300, columns, 40, 0.3, coarse_for_one);
  checks::check_coarse(diag, 300, 32, 64, 0.3, coarse_for_one);
  checks::check_coarse(diag, 300, 20, 200, 0.3, coarse_for_one);
  checks::check_far_rows(diag, 300, 32, 35, 31, alone);
}

TEST_F(StagedAccumulator, RowsBeyondTheRangeOfFloatStayFinite) {
  checks::check_beyond_float({diag, 32, 33, 0.3}, alone);
}

TEST_F(StagedAccumulator, AnEmptyComponentGetsNothing) { checks::check_empty_component({diag, 24, 35, 0.3}, alone); }

TEST_F(StagedAccumulator, KeepsItsDigitsFarFromTheOrigin) { checks::check_far_from_origin({diag, 32, 33, 0.3}, alone); }

TEST_F(StagedAccumulator, StoppedKernelsChangeNothing) { checks::check_stopped({diag, 32, 33, 0.3}, either); }

// Through the door, with rows far from the origin: components that overlap, components three
// deviations apart, and such that the other room takes.
TEST_F(StagedAccumulator, FitsEndWhereFloat64Ends) {
  for (const std::size_t columns : {17, 32}) {
    for (const double apart : {0.7, 3.0, 12.0}) {
      SCOPED_TRACE(fmt::format("{} columns, {} apart", columns, apart));
      constexpr std::size_t count = 200'011, components = 33;
      ASSERT_TRUE(shoal::gmm::tensor_diagonal::suits_staged(
          checks::shape_of(statistics_layout(diag, components, columns), count, false)));
      checks::expect_fit_as_in_float64(diag, components, columns, count, apart);
      checks::expect_fit_as_in_float64(diag, components, columns, count, apart, shoal::precision::tf32);
    }
  }
}

TEST_F(StagedAccumulator, HasDiagonalCovariancesWithoutWeights) {
  using shoal::gmm::tensor_diagonal::suits_staged;
  const auto shape_of = [](std::size_t rows, std::size_t columns, std::size_t components) {
    return checks::shape_of(statistics_layout(diag, components, columns), rows, false);
  };
  const auto in_eleven_bits = [&](std::size_t rows, std::size_t columns, std::size_t components) {
    accumulator_shape shape = shape_of(rows, columns, components);
    shape.precision = shoal::precision::tf32;
    return suits_staged(shape);
  };
  EXPECT_TRUE(suits_staged(shape_of(1'000'000, 32, 33)));
  EXPECT_TRUE(suits_staged(shape_of(1000, 17, 5)));
  EXPECT_FALSE(suits_staged(shape_of(999, 17, 5)));
  EXPECT_FALSE(suits_staged(shape_of(1'000'000, 16, 33)));
  EXPECT_FALSE(suits_staged(shape_of(1'000'000, 32, 4)));
  EXPECT_TRUE(suits_staged(shape_of(1'000'000, 48, 40)));
  EXPECT_FALSE(suits_staged(shape_of(1'000'000, 49, 33)));
  EXPECT_FALSE(suits_staged(shape_of(1'000'000, 48, 41)));
  // Few components of many columns.
  EXPECT_TRUE(suits_staged(shape_of(1'000'000, 32, 16)));
  EXPECT_FALSE(suits_staged(shape_of(1'000'000, 33, 16)));
  EXPECT_TRUE(suits_staged(shape_of(100'000, 33, 16)));
  EXPECT_TRUE(in_eleven_bits(1'000'000, 48, 16));
  EXPECT_FALSE(in_eleven_bits(1'000'000, 64, 16));
  EXPECT_TRUE(in_eleven_bits(1'000'000, 65, 16));
  EXPECT_TRUE(in_eleven_bits(1'000'000, 96, 40));
  EXPECT_FALSE(in_eleven_bits(1'000'000, 97, 40));
  EXPECT_TRUE(in_eleven_bits(1'000'000, 72, 64));
  EXPECT_FALSE(in_eleven_bits(1'000'000, 73, 64));
  EXPECT_TRUE(in_eleven_bits(1'000'000, 64, 104));
  EXPECT_FALSE(in_eleven_bits(1'000'000, 64, 105));
  EXPECT_TRUE(in_eleven_bits(1'000'000, 24, 256));
  EXPECT_FALSE(in_eleven_bits(1'000'000, 24, 257));
  EXPECT_TRUE(in_eleven_bits(10'000, 24, 256));
  EXPECT_FALSE(in_eleven_bits(9'999, 24, 256));
  accumulator_shape shape = shape_of(1'000'000, 32, 33);
  shape.weighted = true;
  EXPECT_FALSE(suits_staged(shape));
  EXPECT_THROW(alone(shape), shoal::bad_argument);
  shape.weighted = false;
  shape.layout = statistics_layout(covariance_type::spherical, 33, 32);
  EXPECT_FALSE(suits_staged(shape));
}

}  // namespace
