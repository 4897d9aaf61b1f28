// The kernels for many columns against float64, at sizes around their tiles and on rows that are hard.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tensor_matrix.hpp>
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
  cudaDeviceProp properties{};
  shoal::cuda::check(cudaGetDeviceProperties(&properties, 0), "describe the device");
  shoal::gmm::accumulator_shape shape;
  shape.layout = statistics_layout(mixture.covariance_type, mixture.components, mixture.columns);
  shape.share_rows = rows;
  shape.multiprocessors = static_cast<std::size_t>(properties.multiProcessorCount);
  shape.shared_bytes = properties.sharedMemPerBlockOptin;
  shape.weighted = weighted;
  return shape;
}

// The statistics of rows without gaps, given to the kernels in pieces of `piece` rows.
statistics on_gpu(const model& mixture, const std::vector<float>& rows, const std::vector<float>& weights = {},
                  std::size_t piece = std::size_t{1} << 30, shoal::precision precision = shoal::precision::float32) {
  const std::size_t count = rows.size() / mixture.columns;
  const shoal::cuda::stream stream;
  const auto ready = shoal::gmm::prepare<float>(mixture);
  const checks::device_mixture<float> device(ready, stream);
  auto shape = shape_of(mixture, count, !weights.empty());
  shape.precision = precision;
  const auto accumulator = shoal::gmm::tensor_matrix::make_accumulator(shape);
  shoal::cuda::device_buffer<double> sums(shape.layout.size());
  cudaMemsetAsync(sums.data(), 0xff, sums.bytes(), stream);
  accumulator->clear(device.view(), stream);
  for (std::size_t first = 0; first < count; first += piece) {
    const std::size_t some = std::min(piece, count - first);
    shoal::cuda::device_buffer<float> rows_here, weights_here;
    rows_here.upload({rows.data() + first * mixture.columns, some * mixture.columns}, stream);
    if (!weights.empty()) weights_here.upload({weights.data() + first, some}, stream);
    accumulator->add({rows_here.data(), weights.empty() ? nullptr : weights_here.data(), first, first, some},
                     device.view(), stream);
    stream.synchronize();
  }
  accumulator->merge(sums.data(), device.view(), stream);
  statistics result(shape.layout);
  const std::vector<double> values = sums.download(shape.layout.size(), stream);
  std::copy(values.begin(), values.end(), result.values().begin());
  return result;
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
  const statistics got = on_gpu(mixture, rows, weights);
  const statistics expected = in_double(mixture, rows, weights);
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

TEST(LargeAccumulator, AgreesWithFloat64AtEveryShape) {
  SHOAL_NEEDS_DEVICES(1);
  const std::size_t row_counts[] = {127, 128, 129, 601};
  std::size_t turn = 0;
  for (const std::size_t columns : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 54, 63, 64, 65, 77, 96, 100, 128}) {
    for (const std::size_t components : {1, 2, 7, 64, 65}) {
      for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
        ++turn;
        // Overlapping, apart, and so far apart that the components share no frame.
        const double spreads[] = {0.3, 3.0, 30.0};
        const auto mixture =
            reference::random_model(type, components, columns, spreads[turn % 3], static_cast<unsigned>(turn));
        check(mixture, reference::random_rows<float>(mixture, row_counts[turn % 4], columns, 7));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(LargeAccumulator, AgreesWithFloat64AtEveryNumberOfRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t rows : {1, 15, 16, 17, 31, 33, 511, 513, 4095, 4096, 4097, 20011}) {
    for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
      const auto mixture = reference::random_model(type, 7, 33, 0.5, static_cast<unsigned>(rows));
      const auto values = reference::random_rows<float>(mixture, rows, 33, 3);
      check(mixture, values);
      check(mixture, values, some_weights(rows, 4));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LargeAccumulator, GivesEachRowItsLogDensity) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {16, 54, 128}) {
    const auto mixture = reference::random_model(covariance_type::full, 7, columns, 0.3, 5);
    const auto values = reference::random_rows<float>(mixture, 40, columns, 6);
    for (std::size_t r = 0; r < 40; ++r) {
      const std::vector<float> one(values.begin() + static_cast<std::ptrdiff_t>(r * columns),
                                   values.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns));
      EXPECT_NEAR(on_gpu(mixture, one).log_likelihood(), in_double(mixture, one).log_likelihood(), 1e-4)
          << columns << " columns, row " << r;
    }
  }
}

// Products of 11 bits, which is what is promised for bf16 too.
TEST(LargeAccumulator, KeepsElevenBitsWhenAskedForLess) {
  SHOAL_NEEDS_DEVICES(1);
  const std::size_t count = 2000;
  for (const shoal::precision precision : {shoal::precision::tf32, shoal::precision::bf16}) {
    for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
      for (const std::size_t columns : {16, 32, 54, 128}) {
        const auto mixture = reference::random_model(type, 7, columns, 0.3, 5);
        const auto values = reference::random_rows<float>(mixture, count, columns, 6);
        const statistics got = on_gpu(mixture, values, {}, std::size_t{1} << 30, precision);
        const statistics expected = in_double(mixture, values);
        checks::expect_close(got, expected, coarse_sum_tolerance, name(mixture, count));
        for (std::size_t r = 0; r < 20; ++r) {
          const std::vector<float> one(values.begin() + static_cast<std::ptrdiff_t>(r * columns),
                                       values.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns));
          EXPECT_NEAR(on_gpu(mixture, one, {}, 1, precision).log_likelihood(), in_double(mixture, one).log_likelihood(),
                      coarse_tolerance)
              << checks::name(type) << ", " << columns << " columns, row " << r;
        }
      }
    }
  }
}

// One product of rows enough is one pass over them. A part of these rows weighs nothing.
void check_one_pass(const model& mixture, std::size_t count, std::size_t zero_rows = 0) {
  const auto values = reference::random_rows<float>(mixture, count, mixture.columns, 12);
  std::vector<float> weights;
  if (zero_rows > 0) {
    weights = some_weights(count, 13);
    std::fill(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(zero_rows), 0.0F);
  }
  const statistics got = on_gpu(mixture, values, weights, std::size_t{1} << 30, shoal::precision::bf16);
  const statistics expected = in_double(mixture, values, weights);
  checks::expect_close(got, expected, coarse_sum_tolerance, name(mixture, count));
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 0.02 * expected.total_weight()) << name(mixture, count);
}

// Around groups of columns, and components for one and for several of each warp, near each other, within reach, and
// apart.
TEST(LargeAccumulator, KeepsElevenBitsInOnePass) {
  SHOAL_NEEDS_DEVICES(1);
  std::size_t turn = 0;
  for (const std::size_t columns : {17, 20, 24, 25, 32, 33, 36, 41, 48, 49, 56, 57, 64}) {
    for (const std::size_t components : {1, 2, 3, 7, 16, 33}) {
      ++turn;
      if (turn % 2 == 0 && components > 7) continue;
      const covariance_type type = turn % 3 == 0 ? covariance_type::tied : covariance_type::full;
      const double spreads[] = {0.3, 2.0, 1.0, 30.0, 0.5};
      const auto mixture = reference::random_model(type, components, columns, spreads[turn % 5], 5);
      check_one_pass(mixture, 30000 + turn % 33, turn % 4 == 1 ? 700 : 0);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LargeAccumulator, GivesTheSameBitsForAnyPiecesInOnePass) {
  SHOAL_NEEDS_DEVICES(1);
  const std::size_t count = 60011;
  for (const std::size_t columns : {17, 32, 48, 64}) {
    auto mixture = reference::random_model(covariance_type::full, 5, columns, 0.5, 11);
    for (double& mean : mixture.means) mean += 1e4;
    auto values = reference::random_rows<float>(mixture, count, columns, 12);
    for (std::size_t r = 0; r < count; r += 1009) values[r * columns] = 4e5;
    const auto weights = some_weights(count, 13);
    const auto got = [&](std::size_t piece) { return on_gpu(mixture, values, weights, piece, shoal::precision::tf32); };
    const statistics whole = got(std::size_t{1} << 30);
    EXPECT_GT(whole.far_rows(), 40);
    checks::expect_close(whole, in_double(mixture, values, weights), coarse_sum_tolerance, name(mixture, count));
    checks::expect_same_bits(got(std::size_t{1} << 30), whole, "again");
    checks::expect_same_bits(got(4096), whole, "pieces of 4096 rows");
    checks::expect_same_bits(got(12288), whole, "pieces of 12288 rows");
    if (HasFatalFailure()) return;
  }
}

// All but one row weigh nothing, so that the sum is that row's log-density.
TEST(LargeAccumulator, GivesEachRowItsLogDensityInOnePass) {
  SHOAL_NEEDS_DEVICES(1);
  const std::size_t count = 30000;
  for (const std::size_t columns : {17, 32, 54, 64}) {
    for (const double spread : {0.3, 3.0}) {
      const auto mixture = reference::random_model(covariance_type::full, 7, columns, spread, 5);
      const auto values = reference::random_rows<float>(mixture, count, columns, 6);
      for (std::size_t r = 3; r < count; r += 2503) {
        std::vector<float> weights(count);
        weights[r] = 1;
        const std::vector<float> one(values.begin() + static_cast<std::ptrdiff_t>(r * columns),
                                     values.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns));
        EXPECT_NEAR(on_gpu(mixture, values, weights, std::size_t{1} << 30, shoal::precision::bf16).log_likelihood(),
                    in_double(mixture, one).log_likelihood(), coarse_tolerance)
            << columns << " columns, spread " << spread << ", row " << r;
      }
    }
  }
}

TEST(LargeAccumulator, TakesTinyAndHugeWeightsAndEmptyComponentsInOnePass) {
  SHOAL_NEEDS_DEVICES(1);
  auto mixture = reference::random_model(covariance_type::full, 3, 20, 0.5, 71);
  mixture.weights = {0.25, 0.0, 0.75};
  const std::size_t count = 30011;
  const auto values = reference::random_rows<float>(mixture, count, 20, 72);
  for (const float factor : {1e-20F, 1.0F, 1e20F}) {
    auto weights = some_weights(count, 73);
    for (float& weight : weights) weight *= factor;
    const statistics got = on_gpu(mixture, values, weights, std::size_t{1} << 30, shoal::precision::bf16);
    const statistics expected = in_double(mixture, values, weights);
    EXPECT_EQ(got.weight(1), 0.0);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(got.weight(k), expected.weight(k), coarse_sum_tolerance * expected.total_weight());
      EXPECT_NEAR(got.second(k, 2, 2), expected.second(k, 2, 2), coarse_sum_tolerance * expected.total_weight());
    }
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST(LargeAccumulator, AgreesOnFewRowsInOnePass) {
  SHOAL_NEEDS_DEVICES(1);
  check_one_pass(reference::random_model(covariance_type::full, 3, 20, 0.3, 5), 30000, 100);
  check_one_pass(reference::random_model(covariance_type::full, 1, 33, 0.3, 5), 30000);
}

// From 24 components on moments are taken about the centre of a frame: of all columns, tiles of 32 and 64 components,
// and some left over.
TEST(LargeAccumulator, AgreesWithFloat64AboutOneCentre) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    for (const std::size_t columns : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 33, 47, 63, 64, 65, 96, 127, 128}) {
      for (const std::size_t components : {24, 32, 33, 65}) {
        const auto mixture = reference::random_model(type, components, columns, 0.3, 5);
        check(mixture, reference::random_rows<float>(mixture, 1037, columns, 3), some_weights(1037, 4));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(LargeAccumulator, AgreesAboutOneCentreForEveryNumberOfRowsAndAnyPieces) {
  SHOAL_NEEDS_DEVICES(1);
  const auto mixture = reference::random_model(covariance_type::full, 30, 20, 0.5, 7);
  for (const std::size_t rows : {1, 15, 17, 63, 65, 127, 129, 511, 513, 4095, 4097, 20011}) {
    auto values = reference::random_rows<float>(mixture, rows, 20, 3);
    check(mixture, values);
    values[rows / 2 * 20] = 4000;
    const auto weights = some_weights(rows, 4);
    checks::expect_same_bits(on_gpu(mixture, values, weights, 4096), on_gpu(mixture, values, weights), "pieces");
    if (HasFatalFailure()) return;
  }
}

TEST(LargeAccumulator, TakesTinyAndHugeWeightsAboutOneCentre) {
  SHOAL_NEEDS_DEVICES(1);
  const auto mixture = reference::random_model(covariance_type::full, 30, 20, 0.5, 7);
  const std::size_t rows = 3000;
  const auto values = reference::random_rows<float>(mixture, rows, 20, 3);
  for (const float scale : {1e-30F, 1e30F}) {
    auto weights = some_weights(rows, 4);
    for (float& weight : weights) weight *= scale;
    const statistics got = on_gpu(mixture, values, weights);
    const statistics expected = in_double(mixture, values, weights);
    for (std::size_t k = 0; k < mixture.components; ++k) {
      EXPECT_NEAR(got.weight(k), expected.weight(k), tolerance * expected.total_weight());
      for (std::size_t i = 0; i < mixture.columns; ++i) {
        EXPECT_NEAR(got.second(k, i, i), expected.second(k, i, i), tolerance * expected.total_weight());
      }
    }
  }
}

// An empty component, and one among others of a thirtieth of its deviation.
TEST(LargeAccumulator, TakesComponentsOfDifferentScaleAboutOneCentre) {
  SHOAL_NEEDS_DEVICES(1);
  auto mixture = reference::random_model(covariance_type::full, 30, 12, 0.0, 7);
  for (std::size_t i = 0; i < 144; ++i) mixture.covariances[i] /= 400;
  mixture.weights[3] = 0;
  const auto values = reference::random_rows<float>(mixture, 2000, 12, 3);
  check(mixture, values);
  EXPECT_EQ(on_gpu(mixture, values).weight(3), 0.0);
}

// Small enough for compute-sanitizer's racecheck: a warp and a team a component, the last team without one, and all
// components at once, in a frame and apart, with far rows.
TEST(LargeAccumulator, AgreesOnFewRowsByEveryKernel) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {20, 66}) {
    for (const double spread : {0.3, 30.0}) {
      for (const std::size_t components : {3, 25}) {
        const auto mixture = reference::random_model(covariance_type::full, components, columns, spread, 5);
        auto values = reference::random_rows<float>(mixture, 130, columns, 6);
        values[7 * columns] = 3000;
        const statistics got = on_gpu(mixture, values);
        checks::expect_close(got, in_double(mixture, values), tolerance, name(mixture, 130));
        EXPECT_EQ(got.values()[3], 0.0);
      }
    }
  }
}

TEST(LargeAccumulator, GivesTheSameBitsForAnyPieces) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {16, 33, 54, 100, 128}) {
    const auto mixture = reference::random_model(covariance_type::full, 5, columns, 0.5, 11);
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

// So many components that their terms are kept for 4096 rows at a time.
TEST(LargeAccumulator, TakesManyComponents) {
  SHOAL_NEEDS_DEVICES(1);
  const auto mixture = reference::random_model(covariance_type::full, 8192, 9, 3.0, 14);
  const auto values = reference::random_rows<float>(mixture, 9001, 9, 15);
  check(mixture, values);
  checks::expect_same_bits(on_gpu(mixture, values, {}, 4096), on_gpu(mixture, values), "pieces");
}

TEST(LargeAccumulator, DoesFarRowsInDouble) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    for (const std::size_t columns : {17, 54, 128}) {
      const auto mixture = reference::random_model(type, 3, columns, 0.3, 1);
      auto values = reference::random_rows<float>(mixture, 700, columns, 2);
      for (const std::size_t r : {0, 3, 511, 512, 699}) values[r * columns + r % 5] = 3000.0F + static_cast<float>(r);
      values[40 * columns] = 1e17F;
      const statistics got = on_gpu(mixture, values);
      const statistics expected = in_double(mixture, values);
      EXPECT_EQ(got.far_rows(), 6);
      EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-9 * std::abs(expected.log_likelihood()));
      checks::expect_close(got, expected, 1e-7, name(mixture, 700));
    }
  }
}

TEST(LargeAccumulator, DoesAllRowsInDoubleWhenAllAreFar) {
  SHOAL_NEEDS_DEVICES(1);
  const auto mixture = reference::random_model(covariance_type::full, 4, 33, 0.3, 8);
  auto values = reference::random_rows<float>(mixture, 1500, 33, 9);
  for (float& value : values) value += 500;
  const statistics got = on_gpu(mixture, values, some_weights(1500, 10));
  EXPECT_EQ(got.far_rows(), 1500);
  checks::expect_close(got, in_double(mixture, values, some_weights(1500, 10)), 1e-7, "all far");
}

TEST(LargeAccumulator, GivesNothingToAComponentOfWeightZero) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : {covariance_type::full, covariance_type::tied}) {
    auto mixture = reference::random_model(type, 3, 20, 1.0, 6);
    mixture.weights = {0.25, 0.0, 0.75};
    const auto values = reference::random_rows<float>(mixture, 530, 20, 8);
    check(mixture, values);
    EXPECT_EQ(on_gpu(mixture, values).weight(1), 0.0);
  }
}

TEST(LargeAccumulator, SkipsWhatSeparatedComponentsDoNotHold) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {12, 32, 54, 128}) {
    const auto mixture = reference::random_model(covariance_type::full, 20, columns, 30.0, 21);
    check(mixture, reference::random_rows<float>(mixture, 5000, columns, 22));
  }
}

TEST(LargeAccumulator, SurvivesColumnsOfVeryDifferentScale) {
  SHOAL_NEEDS_DEVICES(1);
  auto mixture = reference::random_model(covariance_type::full, 3, 20, 2.0, 31);
  auto values = reference::random_rows<float>(mixture, 600, 20, 32);
  const auto scale = [](std::size_t j) { return std::ldexp(1.0, static_cast<int>(j % 7) * 10 - 30); };
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 20; ++i) {
      mixture.means[k * 20 + i] *= scale(i);
      for (std::size_t j = 0; j < 20; ++j) mixture.covariances[(k * 20 + i) * 20 + j] *= scale(i) * scale(j);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(scale(i % 20));
  const statistics got = on_gpu(mixture, values);
  const statistics expected = in_double(mixture, values);
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 600 * 1e-4);
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 20; ++i) {
      for (std::size_t j = i; j < 20; ++j) {
        EXPECT_NEAR(got.second(k, i, j), expected.second(k, i, j), 1e-5 * 600 * scale(i) * scale(j)) << i << ", " << j;
      }
    }
  }
}

// Columns that are nearly sums of others: the factor's elements go far beyond one.
TEST(LargeAccumulator, SurvivesNearlyCollinearColumns) {
  SHOAL_NEEDS_DEVICES(1);
  for (const double rest : {1e-2, 1e-4, 1e-6, 1e-9}) {
    const std::size_t columns = 24;
    auto mixture = reference::random_model(covariance_type::full, 2, columns, 0.0, 41);
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < columns; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          mixture.covariances[(k * columns + i) * columns + j] =
              1.0 + (i == j ? rest * (1.0 + static_cast<double>(k)) : 0.0);
        }
      }
    }
    std::mt19937_64 engine(42);
    std::normal_distribution<double> normal;
    std::vector<float> values;
    for (std::size_t r = 0; r < 900; ++r) {
      const double common = normal(engine);
      for (std::size_t j = 0; j < columns; ++j) {
        values.push_back(static_cast<float>(common + std::sqrt(rest) * normal(engine)));
      }
    }
    const statistics got = on_gpu(mixture, values);
    const statistics expected = in_double(mixture, values);
    // An error of 2⁻²² in a column is 2⁻²² / √rest in y.
    const double allowed = 1e-4 + 1e-5 / std::sqrt(rest);
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), allowed * 900) << rest;
    EXPECT_NEAR(got.weight(0), expected.weight(0), allowed * 900) << rest;
    for (std::size_t i = 0; i < columns; ++i) {
      EXPECT_NEAR(got.second(0, i, i) + got.second(1, i, i), expected.second(0, i, i) + expected.second(1, i, i),
                  1e-5 * 900)
          << rest;
    }
  }
}

// Beyond float16 altogether: rows are done in float64, and nothing is lost.
TEST(LargeAccumulator, DoesMixturesBeyondTheRangeOfFloat16InDouble) {
  SHOAL_NEEDS_DEVICES(1);
  const std::size_t columns = 10;
  auto mixture = reference::random_model(covariance_type::full, 2, columns, 1.0, 51);
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::size_t i = 0; i < columns; ++i) mixture.means[k * columns + i] = k == 0 ? -3e38 : 3e38;
  }
  for (double& element : mixture.covariances) element *= 1e74;
  std::vector<float> values;
  for (std::size_t r = 0; r < 60; ++r) {
    for (std::size_t j = 0; j < columns; ++j) {
      values.push_back((r % 2 == 0 ? -1.0F : 1.0F) * (3e38F + 1e36F * static_cast<float>((r * 7 + j * 3) % 11)));
    }
  }
  const statistics got = on_gpu(mixture, values);
  const statistics expected = in_double(mixture, values);
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 60 * 1e-4);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_NEAR(got.weight(k), expected.weight(k), 1e-5);
    EXPECT_NEAR(got.second(k, 0, 0), expected.second(k, 0, 0), 1e-5 * expected.second(k, 0, 0));
  }
}

TEST(LargeAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  SHOAL_NEEDS_DEVICES(1);
  auto mixture = reference::random_model(covariance_type::full, 2, 40, 1.0, 61);
  for (double& mean : mixture.means) mean += 1e6;
  const auto values = reference::random_rows<float>(mixture, 3000, 40, 62);
  check(mixture, values);
}

TEST(LargeAccumulator, TakesTinyAndHugeWeights) {
  SHOAL_NEEDS_DEVICES(1);
  const auto mixture = reference::random_model(covariance_type::full, 3, 20, 0.5, 71);
  const auto values = reference::random_rows<float>(mixture, 600, 20, 72);
  for (const float factor : {1e-20F, 1e20F}) {
    auto weights = some_weights(600, 73);
    for (float& weight : weights) weight *= factor;
    const statistics got = on_gpu(mixture, values, weights);
    const statistics expected = in_double(mixture, values, weights);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(got.weight(k), expected.weight(k), 1e-5 * expected.total_weight());
      EXPECT_NEAR(got.second(k, 2, 2), expected.second(k, 2, 2), 1e-5 * expected.total_weight());
    }
  }
}

TEST(LargeAccumulator, ChangesNothingWhenStopped) {
  SHOAL_NEEDS_DEVICES(1);
  const auto mixture = reference::random_model(covariance_type::full, 2, 12, 1.0, 81);
  const auto values = reference::random_rows<float>(mixture, 100, 12, 82);
  const shoal::cuda::stream stream;
  checks::device_mixture<float> device(shoal::gmm::prepare<float>(mixture), stream);
  device.set_stopped(1, stream);
  const auto shape = shape_of(mixture, 100, false);
  const auto accumulator = shoal::gmm::tensor_matrix::make_accumulator(shape);
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

TEST(LargeAccumulator, RefusesOtherShapes) {
  SHOAL_NEEDS_DEVICES(1);
  const auto wide = reference::random_model(covariance_type::full, 2, 129, 1.0, 91);
  const auto diagonal = reference::random_model(covariance_type::diag, 2, 20, 1.0, 91);
  for (const model& mixture : {wide, diagonal}) {
    EXPECT_THROW(shoal::gmm::tensor_matrix::make_accumulator(shape_of(mixture, 10, false)), shoal::bad_argument);
  }
}

}  // namespace
