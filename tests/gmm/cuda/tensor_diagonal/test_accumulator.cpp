// The kernels for diagonal and spherical mixtures of many columns against float64, at sizes around their tiles and on
// rows that are hard.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>
#include <shoal/gmm/parameters.hpp>

#include "../../../cuda_devices.hpp"
#include "../../kernel_checks.hpp"
#include "../../reference.hpp"
#include "../mixture.hpp"

namespace {

using shoal::gmm::covariance_type;
using shoal::gmm::model;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

shoal::gmm::accumulator_shape shape_of(const model& mixture, std::size_t rows, bool weighted) {
  return checks::shape_of(statistics_layout(mixture.covariance_type, mixture.components, mixture.columns), rows,
                          weighted);
}

// The statistics of rows without gaps, given to the kernels in pieces of `piece` rows.
statistics on_gpu(const model& mixture, const std::vector<float>& rows, const std::vector<float>& weights = {},
                  std::size_t piece = std::size_t{1} << 30, shoal::precision precision = shoal::precision::float32) {
  const std::size_t count = rows.size() / mixture.columns;
  const shoal::cuda::stream stream;
  const checks::device_mixture<float> device(shoal::gmm::prepare<float>(mixture), stream);
  auto shape = shape_of(mixture, count, !weights.empty());
  shape.precision = precision;
  const auto accumulator = shoal::gmm::tensor_diagonal::make_accumulator(shape);
  shoal::cuda::device_buffer<float> rows_here, weights_here;
  rows_here.upload(rows, stream);
  if (!weights.empty()) weights_here.upload(weights, stream);
  return checks::accumulate_on_device<float>(*accumulator, device.view(), shape.layout, count, rows_here.data(),
                                             weights.empty() ? nullptr : weights_here.data(), piece, stream);
}

// The same in float64 by the CPU's kernels, which are held to the reference by their own tests, about the same centres.
statistics in_double(const model& mixture, const std::vector<float>& rows, const std::vector<float>& weights = {}) {
  const std::vector<double> wide(rows.begin(), rows.end());
  const std::vector<double> wide_weights(weights.begin(), weights.end());
  const auto ready = shoal::gmm::prepare<double>(mixture);
  statistics sums = checks::accumulate<double>(ready, {wide.data(), wide.size() / mixture.columns, mixture.columns},
                                               wide_weights.empty() ? nullptr : wide_weights.data());
  translate(sums, ready.centres, shoal::gmm::prepare<float>(mixture).centres);
  return sums;
}

std::string name(const model& mixture, std::size_t rows) {
  return fmt::format("{}, {} rows, {} columns, {} components", checks::name(mixture.covariance_type), rows,
                     mixture.columns, mixture.components);
}

constexpr double tolerance = 1e-5;
// As docs/tolerances.md has it: a row's log-density, and sums, relative to their weight.
constexpr double coarse_tolerance = 0.1;
constexpr double coarse_sum_tolerance = 1e-3;

void check(const model& mixture, const std::vector<float>& rows, const std::vector<float>& weights = {},
           double allowed = tolerance) {
  const statistics got = checks::comparable(on_gpu(mixture, rows, weights));
  const statistics expected = checks::comparable(in_double(mixture, rows, weights));
  const std::size_t count = rows.size() / mixture.columns;
  checks::expect_close(got, expected, allowed, name(mixture, count));
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-4 * expected.total_weight()) << name(mixture, count);
  EXPECT_EQ(got.values()[3], 0.0);
}

std::vector<float> some_weights(std::size_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<float> uniform(0.0F, 2.0F);
  std::vector<float> weights(count);
  for (float& weight : weights) weight = uniform(engine);
  for (std::size_t r = 0; r < count; r += 5) weights[r] = 0;
  return weights;
}

constexpr covariance_type types[] = {covariance_type::diag, covariance_type::spherical};

TEST(LargeDiagonalAccumulator, AgreesWithFloat64AtEveryShape) {
  SHOAL_NEEDS_DEVICES(1);
  const std::size_t row_counts[] = {127, 128, 129, 601};
  // Overlapping, nearly apart, apart, and so far apart that the components share no frame.
  const double spreads[] = {0.3, 1.0, 3.0, 30.0};
  std::size_t turn = 0;
  for (const std::size_t columns : {1, 7, 16, 17, 33, 48, 54, 63, 64, 65, 77, 96, 100, 113, 128}) {
    for (const std::size_t components : {1, 2, 127, 128, 129}) {
      for (const covariance_type type : types) {
        ++turn;
        const auto mixture =
            reference::random_model(type, components, columns, spreads[turn / 2 % 4], static_cast<unsigned>(turn));
        check(mixture, reference::random_rows<float>(mixture, row_counts[turn / 3 % 4], columns, 7));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(LargeDiagonalAccumulator, AgreesWithFloat64AtEveryNumberOfRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t rows : {1, 15, 16, 17, 31, 33, 511, 513, 4095, 4096, 4097, 20011}) {
    for (const covariance_type type : types) {
      for (const double spread : {0.3, 10.0}) {
        const auto mixture = reference::random_model(type, 70, 33, spread, static_cast<unsigned>(rows));
        const auto values = reference::random_rows<float>(mixture, rows, 33, 3);
        check(mixture, values);
        check(mixture, values, some_weights(rows, 4));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Small enough for compute-sanitizer's racecheck: in a frame, a wide one and none, two tiles of components, far rows.
TEST(LargeDiagonalAccumulator, AgreesOnFewRowsInEveryFrame) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const double spread : {0.3, 10.0, 100.0}) {
      const auto mixture = reference::random_model(type, 130, 40, spread, 5);
      auto values = reference::random_rows<float>(mixture, 200, 40, 6);
      values[7 * 40] = 30000;
      check(mixture, values, some_weights(200, 4));
      EXPECT_EQ(on_gpu(mixture, values).far_rows(), 1);
    }
  }
}

TEST(LargeDiagonalAccumulator, GivesEachRowItsLogDensity) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const std::size_t columns : {16, 54, 128}) {
      // With 4.5 and 16 columns, 2.3 and 54, and 1.6 and 128 components are as far apart as a frame takes.
      for (const double spread : {0.3, 1.0, 1.6, 2.3, 3.0, 4.5}) {
        const auto mixture = reference::random_model(type, 200, columns, spread, 5);
        const auto values = reference::random_rows<float>(mixture, 20, columns, 6);
        for (std::size_t r = 0; r < 20; ++r) {
          const std::vector<float> one(values.begin() + static_cast<std::ptrdiff_t>(r * columns),
                                       values.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns));
          EXPECT_NEAR(on_gpu(mixture, one).log_likelihood(), in_double(mixture, one).log_likelihood(), 1e-4)
              << checks::name(type) << ", " << columns << " columns, spread " << spread << ", row " << r;
        }
      }
    }
  }
}

// Products of 11 bits, which is what is promised for bf16 too, of data of unit scale.
void check_coarse(covariance_type type, std::size_t columns, std::size_t components, double spread) {
  const std::size_t count = 2000;
  auto mixture = reference::random_model(type, components, columns, spread, 5);
  for (double& mean : mixture.means) mean /= std::max(1.0, spread);
  for (double& variance : mixture.covariances) variance /= std::max(1.0, spread * spread);
  const auto values = reference::random_rows<float>(mixture, count, columns, 6);
  const statistics expected = checks::comparable(in_double(mixture, values));
  for (const shoal::precision precision : {shoal::precision::tf32, shoal::precision::bf16}) {
    const statistics got = checks::comparable(on_gpu(mixture, values, {}, std::size_t{1} << 30, precision));
    checks::expect_close(got, expected, coarse_sum_tolerance, name(mixture, count));
    for (std::size_t r = 0; r < 20; ++r) {
      const std::vector<float> one(values.begin() + static_cast<std::ptrdiff_t>(r * columns),
                                   values.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns));
      EXPECT_NEAR(on_gpu(mixture, one, {}, 1, precision).log_likelihood(), in_double(mixture, one).log_likelihood(),
                  coarse_tolerance)
          << checks::name(type) << ", " << columns << " columns, spread " << spread << ", row " << r;
    }
  }
}

TEST(LargeDiagonalAccumulator, KeepsElevenBitsWhenAskedForLess) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    // One to six tiles of components, whose products run beside what is done with the tile before.
    for (const auto& [columns, components] : {std::pair<std::size_t, std::size_t>{16, 200},
                                              {32, 129},
                                              {54, 257},
                                              {128, 100},
                                              {128, 384},
                                              {100, 500},
                                              {65, 641}}) {
      check_coarse(type, columns, components, 0.3);
    }
  }
}

// Components as far apart as a frame takes them, and farther.
TEST(LargeDiagonalAccumulator, KeepsElevenBitsFarFromTheFramesCentre) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const double spread : {1.5, 2.5, 3.5, 6.0}) {
      for (const std::size_t columns : {2, 16, 54, 128}) check_coarse(type, columns, 100, spread);
    }
  }
}

TEST(LargeDiagonalAccumulator, GivesTheSameBitsForAnyPieces) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const std::size_t columns : {16, 33, 128}) {
      for (const double spread : {0.3, 20.0}) {
        const auto mixture = reference::random_model(type, 130, columns, spread, 11);
        auto values = reference::random_rows<float>(mixture, 30011, columns, 12);
        for (std::size_t r = 0; r < 30011; r += 1009) values[r * columns] = 4000;
        const auto weights = some_weights(30011, 13);
        const statistics whole = on_gpu(mixture, values, weights);
        EXPECT_GT(whole.far_rows(), 20);
        checks::expect_same_bits(on_gpu(mixture, values, weights), whole, "again");
        checks::expect_same_bits(on_gpu(mixture, values, weights, 4096), whole, "pieces of 4096 rows");
        checks::expect_same_bits(on_gpu(mixture, values, weights, 12288), whole, "pieces of 12288 rows");
        if (HasFatalFailure()) return;
      }
    }
  }
}

// So many components that their terms are kept for 4096 rows at a time.
TEST(LargeDiagonalAccumulator, TakesManyComponents) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    const auto mixture = reference::random_model(type, 8000, 9, 1.0, 14);
    const auto values = reference::random_rows<float>(mixture, 9001, 9, 15);
    check(mixture, values);
    checks::expect_same_bits(on_gpu(mixture, values, {}, 4096), on_gpu(mixture, values), "pieces");
  }
}

TEST(LargeDiagonalAccumulator, DoesFarRowsInDouble) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const double spread : {0.3, 30.0}) {
      const auto mixture = reference::random_model(type, 3, 54, spread, 1);
      auto values = reference::random_rows<float>(mixture, 700, 54, 2);
      for (const std::size_t r : {0, 3, 511, 512, 699}) values[r * 54 + r % 5] = 3000.0F + static_cast<float>(r);
      values[40 * 54] = 1e17F;
      const statistics got = on_gpu(mixture, values);
      const statistics expected = in_double(mixture, values);
      EXPECT_EQ(got.far_rows(), 6);
      EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-9 * std::abs(expected.log_likelihood()));
      checks::expect_close(checks::comparable(got), checks::comparable(expected), 1e-7, name(mixture, 700));
    }
  }
}

TEST(LargeDiagonalAccumulator, GivesNothingToAComponentOfWeightZero) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const double spread : {0.3, 30.0}) {
      auto mixture = reference::random_model(type, 3, 20, spread, 6);
      mixture.weights = {0.25, 0.0, 0.75};
      const auto values = reference::random_rows<float>(mixture, 530, 20, 8);
      check(mixture, values);
      EXPECT_EQ(on_gpu(mixture, values).weight(1), 0.0);
    }
  }
}

TEST(LargeDiagonalAccumulator, SurvivesColumnsOfVeryDifferentScale) {
  SHOAL_NEEDS_DEVICES(1);
  auto mixture = reference::random_model(covariance_type::diag, 40, 20, 0.5, 31);
  auto values = reference::random_rows<float>(mixture, 600, 20, 32);
  const auto scale = [](std::size_t j) { return std::ldexp(1.0, static_cast<int>(j % 7) * 10 - 30); };
  for (std::size_t k = 0; k < 40; ++k) {
    for (std::size_t j = 0; j < 20; ++j) {
      mixture.means[k * 20 + j] *= scale(j);
      mixture.covariances[k * 20 + j] *= scale(j) * scale(j);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(scale(i % 20));
  const statistics got = on_gpu(mixture, values);
  const statistics expected = in_double(mixture, values);
  EXPECT_EQ(got.far_rows(), 0.0);
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 600 * 1e-4);
  for (std::size_t k = 0; k < 40; ++k) {
    for (std::size_t j = 0; j < 20; ++j) {
      EXPECT_NEAR(got.second(k, j, j), expected.second(k, j, j), 1e-5 * 600 * scale(j) * scale(j)) << k << ", " << j;
    }
  }
}

// Deviations of one component are a thousandth of another's.
TEST(LargeDiagonalAccumulator, TakesComponentsOfVeryDifferentScale) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    auto mixture = reference::random_model(type, 30, 40, 0.3, 35);
    const std::size_t each = mixture.covariances.size() / 30;
    for (std::size_t i = 0; i < each; ++i) mixture.covariances[3 * each + i] *= 1e-6;
    check(mixture, reference::random_rows<float>(mixture, 3000, 40, 36));
  }
}

// A frame leaves out one of 16 components, and there is none where more would have to be.
TEST(LargeDiagonalAccumulator, LeavesNarrowComponentsOutOfAFrame) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const std::size_t components : {16, 70, 130}) {
      for (const double spread : {0.3, 3.0, 10.0}) {
        for (const std::size_t narrow : {std::size_t{1}, components / 16, components / 16 + 1}) {
          auto mixture = reference::random_model(type, components, 24, spread, 37);
          const std::size_t each = mixture.covariances.size() / components;
          for (std::size_t k = 0; k < narrow; ++k) {
            for (std::size_t i = 0; i < each; ++i) mixture.covariances[(3 * k + 1) * each + i] *= 1e-7;
          }
          auto values = reference::random_rows<float>(mixture, 5003, 24, 36);
          values[7 * 24] = 30000;
          const auto weights = some_weights(5003, 4);
          check(mixture, values);
          check(mixture, values, weights);
          checks::expect_same_bits(on_gpu(mixture, values, weights, 4096), on_gpu(mixture, values, weights), "pieces");
        }
      }
    }
  }
}

// Components overlap, and one is so narrow that they share no frame: all rows are held by many. From 16 components on
// such rows are summed together.
TEST(LargeDiagonalAccumulator, SumsRowsThatManyComponentsHold) {
  SHOAL_NEEDS_DEVICES(1);
  std::size_t turn = 0;
  for (const std::size_t columns : {16, 32, 33, 64, 65, 128}) {
    for (const std::size_t components : {15, 16, 33, 130}) {
      for (const double narrow : {1e-3, 1e-6}) {
        const covariance_type type = types[turn++ % 2];
        auto mixture = reference::random_model(type, components, columns, 0.3, static_cast<unsigned>(turn));
        const std::size_t each = mixture.covariances.size() / components;
        for (std::size_t i = 0; i < each; ++i) mixture.covariances[each + i] *= narrow;
        const std::size_t rows = turn % 3 == 0 ? 511 : 5'003;
        auto values = reference::random_rows<float>(mixture, rows, columns, 36);
        values[7 * columns] = 3000;
        const auto weights = some_weights(rows, 4);
        check(mixture, values, weights);
        checks::expect_same_bits(on_gpu(mixture, values, weights, 4096), on_gpu(mixture, values, weights), "pieces");
      }
    }
  }
}

// Rows of the mixture itself, whose narrow components have some.
std::vector<float> rows_of(const model& mixture, std::size_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<float> rows;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t k = engine() % mixture.components;
    for (std::size_t j = 0; j < mixture.columns; ++j) {
      const std::size_t at = k * mixture.columns + j;
      const double variance = mixture.covariances[mixture.covariance_type == covariance_type::diag ? at : k];
      rows.push_back(static_cast<float>(mixture.means[at] + std::sqrt(variance) * normal(engine)));
    }
  }
  return rows;
}

// A fit to rows without clusters makes many components narrow: a common frame leaves them out, one of them, some and
// nearly all, of few rows or many. Columns on both sides of those that are looked at first.
TEST(LargeDiagonalAccumulator, AddsComponentsThatACommonFrameLeavesOut) {
  SHOAL_NEEDS_DEVICES(1);
  std::size_t turn = 0;
  for (const std::size_t columns : {1, 3, 4, 5, 13, 32, 33, 77, 128}) {
    for (const std::size_t components : {3, 40, 130, 300}) {
      for (const double narrow : {1e-4, 1e-6}) {
        const std::size_t left_out[] = {1, components / 2, components - 1};
        const covariance_type type = types[turn % 2];
        auto mixture = reference::random_model(type, components, columns, 0.3, static_cast<unsigned>(turn));
        const std::size_t each = mixture.covariances.size() / components;
        const double weight = turn / 6 % 2 == 0 ? 1 : 1e-3;
        double sum = 0;
        for (std::size_t k = 0; k < components; ++k) {
          if (k < left_out[turn / 2 % 3]) {
            for (std::size_t i = 0; i < each; ++i) mixture.covariances[k * each + i] *= narrow;
            mixture.weights[k] *= weight;
          }
          sum += mixture.weights[k];
        }
        for (double& of_component : mixture.weights) of_component /= sum;
        ++turn;
        const auto values = rows_of(mixture, 5'003, 36);
        const auto weights = some_weights(values.size() / columns, 4);
        check(mixture, values);
        check(mixture, values, weights);
        checks::expect_same_bits(on_gpu(mixture, values, weights, 4096), on_gpu(mixture, values, weights), "pieces");
        const statistics expected = checks::comparable(in_double(mixture, values));
        const statistics got =
            checks::comparable(on_gpu(mixture, values, {}, std::size_t{1} << 30, shoal::precision::bf16));
        checks::expect_close(got, expected, coarse_sum_tolerance, name(mixture, 5'003));
        EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), coarse_tolerance * expected.total_weight())
            << name(mixture, 5'003);
      }
    }
  }
}

// Rows that are far for all components of the frame are near those far away.
TEST(LargeDiagonalAccumulator, AddsComponentsFarFromACommonFrame) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const std::size_t columns : {2, 20, 128}) {
      for (const double distance : {30.0, 300.0, 100'000.0}) {
        auto mixture = reference::random_model(type, 40, columns, 0.3, 5);
        for (std::size_t j = 0; j < columns; ++j) {
          mixture.means[3 * columns + j] = distance;
          mixture.means[17 * columns + j] = -distance;
        }
        auto values = rows_of(mixture, 4'500, 6);
        values[5 * columns] = 3e6F;
        check(mixture, values);
        check(mixture, values, some_weights(4'500, 4));
        EXPECT_EQ(on_gpu(mixture, values).far_rows(), 1) << name(mixture, 4'500) << ", " << distance;
      }
    }
  }
}

TEST(LargeDiagonalAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    auto mixture = reference::random_model(type, 100, 40, 0.5, 61);
    for (double& mean : mixture.means) mean += 1e6;
    check(mixture, reference::random_rows<float>(mixture, 3000, 40, 62));
  }
}

// Rounded to fewer digits they are the power of two.
TEST(LargeDiagonalAccumulator, TakesWeightsNextToAPowerOfTwo) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    const auto mixture = reference::random_model(type, 1, 20, 0.5, 71);
    const auto values = reference::random_rows<float>(mixture, 600, 20, 72);
    const std::vector<float> weights(600, std::nextafter(2.0F, 0.0F));
    check(mixture, values, weights);
    checks::expect_close(
        checks::comparable(on_gpu(mixture, values, weights, std::size_t{1} << 30, shoal::precision::tf32)),
        checks::comparable(in_double(mixture, values, weights)), coarse_sum_tolerance, "tf32");
  }
}

// With one product responsibilities are scaled beside the greatest weight of many rows.
TEST(LargeDiagonalAccumulator, TakesWeightsOfManySizes) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    const auto mixture = reference::random_model(type, 150, 70, 0.5, 71);
    const std::size_t count = 9000;
    const auto values = reference::random_rows<float>(mixture, count, 70, 72);
    for (const float least : {1.0F, 1e-3F, 1e-25F}) {
      std::vector<float> weights(count);
      for (std::size_t row = 0; row < count; ++row) {
        const bool none = row / 128 % 5 == 2;  // of a whole tile of rows
        weights[row] = none ? 0.0F : least * static_cast<float>(1 + row / 128 % 7 * 100);
      }
      check(mixture, values, weights);
      checks::expect_close(
          checks::comparable(on_gpu(mixture, values, weights, std::size_t{1} << 30, shoal::precision::tf32)),
          checks::comparable(in_double(mixture, values, weights)), coarse_sum_tolerance, "tf32");
    }
  }
}

TEST(LargeDiagonalAccumulator, TakesTinyAndHugeWeights) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : types) {
    for (const double spread : {0.5, 30.0}) {
      const auto mixture = reference::random_model(type, 3, 20, spread, 71);
      const auto values = reference::random_rows<float>(mixture, 600, 20, 72);
      for (const float factor : {1e-20F, 1e20F}) {
        auto weights = some_weights(600, 73);
        for (float& weight : weights) weight *= factor;
        const statistics got = checks::comparable(on_gpu(mixture, values, weights));
        const statistics expected = checks::comparable(in_double(mixture, values, weights));
        for (std::size_t k = 0; k < 3; ++k) {
          EXPECT_NEAR(got.weight(k), expected.weight(k), 1e-5 * expected.total_weight());
          EXPECT_NEAR(got.second(k, 2, 2), expected.second(k, 2, 2), 1e-5 * expected.total_weight());
        }
      }
    }
  }
}

TEST(LargeDiagonalAccumulator, ChangesNothingWhenStopped) {
  SHOAL_NEEDS_DEVICES(1);
  const auto mixture = reference::random_model(covariance_type::diag, 2, 12, 1.0, 81);
  const auto values = reference::random_rows<float>(mixture, 100, 12, 82);
  const shoal::cuda::stream stream;
  checks::device_mixture<float> device(shoal::gmm::prepare<float>(mixture), stream);
  device.set_stopped(1, stream);
  const auto shape = shape_of(mixture, 100, false);
  const auto accumulator = shoal::gmm::tensor_diagonal::make_accumulator(shape);
  shoal::cuda::device_buffer<float> rows;
  rows.upload(values, stream);
  const std::vector<double> before(shape.layout.size(), 7.0);
  shoal::cuda::device_buffer<double> sums;
  sums.upload(before, stream);
  accumulator->clear(device.view(), stream);
  accumulator->add({rows.data(), nullptr, 0, 0, 100}, device.view(), stream);
  accumulator->merge(sums.data(), device.view(), stream);
  EXPECT_EQ(sums.download(before.size(), stream), before);
}

TEST(LargeDiagonalAccumulator, RefusesOtherShapes) {
  SHOAL_NEEDS_DEVICES(1);
  const auto wide = reference::random_model(covariance_type::diag, 2, 129, 1.0, 91);
  const auto matrices = reference::random_model(covariance_type::full, 2, 20, 1.0, 91);
  for (const model& mixture : {wide, matrices}) {
    EXPECT_THROW(shoal::gmm::tensor_diagonal::make_accumulator(shape_of(mixture, 10, false)), shoal::bad_argument);
  }
}

}  // namespace
