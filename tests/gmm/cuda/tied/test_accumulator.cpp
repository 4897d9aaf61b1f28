// Tied mixtures as spherical ones, against float64: awkward sizes, rows that are far, components that are too far from
// each other, columns that are too closely correlated, and the same bits however rows are cut.
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/expectation.hpp>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/tied/tied.hpp>
#include <shoal/gmm/cuda/tied/tuning.hpp>
#include <shoal/gmm/fit.hpp>

#include "../../../cuda_devices.hpp"
#include "../checks.hpp"
#include "../few_columns/checks.hpp"
#include "../nobody.hpp"
#include "checks.hpp"

namespace {

using checks::covariance_type;
using shoal::gmm::accumulator;
using shoal::gmm::accumulator_shape;
using shoal::gmm::statistics;
using shoal::gmm::statistics_layout;

class TiedAccumulator : public ::testing::Test {
 protected:
  void SetUp() override {
    SHOAL_NEEDS_DEVICES(1);
    SHOAL_NEEDS_PRODUCTS();
  }
};

template <class Scalar>
struct on_device : checks::learning_device<Scalar> {
  on_device(const shoal::gmm::model& model, const std::vector<Scalar>& rows, bool alone,
            std::size_t piece = std::size_t{1} << 30, shoal::precision precision = shoal::precision::float32)
      : checks::learning_device<Scalar>(model, rows, shoal::gmm::tied::make_accumulator, alone, piece, precision) {}
};

template <class Scalar = float>
void check(std::size_t rows, std::size_t columns, std::size_t components, double spread, bool alone = true) {
  checks::check_learning<Scalar>(rows, columns, components, spread, checks::kernel_tolerance<Scalar>,
                                 shoal::gmm::tied::make_accumulator, alone);
}

// In eleven bits, by kernels that find densities twice; the neighbours of where these are taken.
TEST_F(TiedAccumulator, KeepsElevenBits) {
  const auto check_coarse = [](std::size_t rows, std::size_t columns, std::size_t components, double spread) {
    const auto model = checks::rounded_model(covariance_type::tied, components, columns, spread, 51);
    const auto data = reference::random_rows<float>(model, rows, columns, 52);
    on_device<float> device(model, data, true, std::size_t{1} << 30, shoal::precision::bf16);
    const statistics got = device.sums();
    const std::string what = fmt::format("{} rows, {} columns, {} components", rows, columns, components);
    checks::expect_tied_sums(got, model, data, 1e-3, what);
    checks::expect_same_bits(device.sums(4096), got, what + ", in pieces of 4096");
  };
  for (const std::size_t columns : {1, 2, 8, 9, 13, 16}) check_coarse(100'003, columns, 33, 0.5);
  for (const std::size_t components : {33, 64, 65, 100}) check_coarse(110'003, 8, components, 0.5);
  for (const std::size_t rows : {12'889, 12'891}) check_coarse(rows, 16, 256, 0.5);
  for (const std::size_t rows : {37, 4'097}) check_coarse(rows, 16, 1000, 0.4);
  check_coarse(4'097, 2, 2049, 0.8);
}

// A thread has the sums of few components of at most eight columns.
TEST_F(TiedAccumulator, FewSums) {
  for (const auto& [columns, most] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 16}, {5, 8}, {6, 6}, {8, 5}}) {
    for (std::size_t components = 2; components <= most + 1; ++components) check(4097, columns, components, 0.6);
  }
  for (const std::size_t rows : {1, 31, 63, 64, 65, 511, 46800, 300'007}) check(rows, 8, 2, 0.8);
}

TEST_F(TiedAccumulator, EveryNumberOfColumns) {
  for (std::size_t columns = 1; columns <= 40; ++columns) check(5003, columns, 9, 0.6);
  for (const std::size_t columns : {47, 48, 49, 63, 64, 65, 80, 95, 96, 97, 112, 127, 128}) {
    check(5003, columns, 9, 0.3);
  }
}

TEST_F(TiedAccumulator, Float64RowsKeepTheirDigits) {
  for (std::size_t columns = 1; columns <= 16; ++columns) check<double>(5003, columns, 9, 0.6);
  for (const std::size_t components : {1, 2, 33, 128}) check<double>(4097, 8, components, 0.6);
  for (const std::size_t components : {65, 129, 160}) {
    for (const std::size_t columns : {4, 5, 7}) check<double>(4097, columns, components, 0.6);
  }
  for (const std::size_t rows : {1, 31, 512, 4096, 46800}) check<double>(rows, 5, 7, 0.8);
  check<double>(5003, 8, 10, 20, false);
}

TEST_F(TiedAccumulator, AwkwardNumbersOfRows) {
  for (const std::size_t rows : {1, 2, 15, 17, 63, 65, 129, 511, 512, 513, 4095, 4096, 4097, 46800, 300007}) {
    check(rows, 8, 5, 0.8);
    check(rows, 33, 5, 0.4);
  }
}

TEST_F(TiedAccumulator, AnyNumberOfComponents) {
  for (const std::size_t components : {1, 2, 16, 17, 32, 33, 40, 41, 64, 65, 96, 97, 127, 128}) {
    check(4097, 8, components, 0.6);
    check(2031, 16, components, 0.5);
    check(2031, 17, components, 0.5);
    check(4097, 64, components, 0.3);
  }
}

TEST_F(TiedAccumulator, MoreComponentsOfFewColumns) {
  for (const std::size_t components : {129, 144, 255, 256}) {
    check(2031, 3, components, 0.6);
    check(2031, 16, components, 0.5);
  }
  check<double>(2031, 8, 200, 0.6);
}

// Those of tensor_diagonal: more than the kernels that read rows once take, in tiles of 128, or than 64 of many
// columns.
TEST_F(TiedAccumulator, MoreComponents) {
  for (const std::size_t components : {129, 130, 192, 255, 256, 257, 258, 385}) {
    if (components > 256) check(1031, 16, components, 0.5);
    check(1031, 17, components, 0.5);
    check(1031, 33, components, 0.4);
  }
  for (const std::size_t components : {257, 512, 1000}) {
    for (const std::size_t columns : {1, 3, 8, 13}) check(1031, columns, components, 0.6);
  }
  for (const std::size_t columns : {48, 63, 64, 65, 97, 127, 128}) check(515, columns, 129, 0.3);
  for (const std::size_t columns : {17, 32, 33, 65, 128}) check(515, columns, 65, 0.3);
  check(515, 128, 257, 0.3);
  for (const std::size_t rows : {1, 15, 127, 128, 129, 511, 4097, 46800}) check(rows, 20, 131, 0.5);
  check(70011, 8, 300, 0.6);
}

// Beyond the 6 deviations within which tensor_diagonal has one frame for all sums.
TEST_F(TiedAccumulator, MoreComponentsFartherApart) {
  for (const std::size_t columns : {17, 40, 100}) {
    auto model = checks::rounded_model(covariance_type::tied, 140, columns, 0.3, 13);
    for (std::size_t i = 0; i < columns; ++i) {
      for (std::size_t j = 0; j < columns; ++j) model.covariances[i * columns + j] = i == j ? 1 : 0;
    }
    model.means[3] = 8;
    model.means[70 * columns + 5] = -9;
    const auto data = reference::random_rows<float>(model, 5003, columns, 14);
    on_device<float> device(model, data, true);
    const statistics got = device.sums();
    checks::expect_tied_sums(got, model, data, checks::kernel_tolerance<float>,
                             fmt::format("{} columns, farther", columns));
    checks::expect_same_bits(device.sums(4096), got, "in pieces of 4096");
  }
}

TEST_F(TiedAccumulator, WideRows) {
  for (const std::size_t columns : {129, 144, 160, 200, 257}) {
    for (const std::size_t components : {5, 40}) check(1031, columns, components, 0.2);
  }
  for (const std::size_t components : {2, 64, 65, 128, 129, 256, 300}) check(1031, 130, components, 0.2);
  check(5003, 200, 9, 0.2);
  check(301, 513, 7, 0.1);
  check(129, 769, 3, 0.1);
}

TEST_F(TiedAccumulator, LeavesComponentsThatLieApartToOthers) {
  check(5003, 8, 10, 20, false);
  check(5003, 33, 10, 200, false);
  check(1031, 140, 10, 20, false);
  check(1031, 140, 150, 200, false);
  check(1031, 20, 150, 200, false);
  check(1031, 8, 300, 200, false);
  check(5003, 8, 10, 0.6, false);
}

TEST_F(TiedAccumulator, LeavesCloselyCorrelatedColumnsToOthers) {
  for (const std::size_t columns : {8, 40, 150}) {
    auto model = checks::rounded_model(covariance_type::tied, 5, columns, 0.6, 3);
    for (const double rest : {1e-1, 1e-5}) {
      for (std::size_t i = 0; i < columns; ++i) {
        for (std::size_t j = 0; j < columns; ++j) model.covariances[i * columns + j] = (i == j ? rest : 0) + 1;
      }
      const auto data = reference::random_rows<float>(model, 5003, columns, 4);
      on_device<float> device(model, data, false);
      checks::expect_tied_sums(device.sums(), model, data, checks::kernel_tolerance<float>,
                               fmt::format("{} columns, {} apart from each other", columns, rest));
    }
  }
}

// As many as fit float32, of different sizes in each column.
TEST_F(TiedAccumulator, ColumnsHaveScalesOfTheirOwn) {
  for (const std::size_t columns : {5, 16, 24, 64, 150}) {
    for (const std::size_t components : {7, 80, 140}) {
      auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.4, 5);
      auto data = reference::random_rows<float>(model, 5003, columns, 6);
      const auto scale = [&](std::size_t j) { return std::pow(7.3, static_cast<double>(j % 9) - 4); };
      for (std::size_t i = 0; i < columns; ++i) {
        for (std::size_t j = 0; j < columns; ++j) model.covariances[i * columns + j] *= scale(i) * scale(j);
        for (std::size_t k = 0; k < components; ++k) {
          double& mean = model.means[k * columns + i];
          mean = static_cast<double>(static_cast<float>(mean * scale(i)));
        }
      }
      for (std::size_t i = 0; i < data.size(); ++i) data[i] *= static_cast<float>(scale(i % columns));
      // One that is done in float64.
      data[700 * columns + 1] += static_cast<float>(60 * scale(1));
      on_device<float> device(model, data, true);
      const statistics got = device.sums(), expected = checks::expected_sums<float>(model, data, {});
      EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 3e-5 * (5003 + std::abs(expected.log_likelihood())));
      for (std::size_t k = 0; k < components; ++k) {
        for (std::size_t i = 0; i < columns; ++i) {
          const double own = std::sqrt(expected.second(0, i, i) / 5003);
          EXPECT_NEAR(got.first(k, i), expected.first(k, i), 3e-5 * 5003 * own) << components << ' ' << i;
          for (std::size_t j = i; j < columns; ++j) {
            EXPECT_NEAR(got.second(0, i, j), expected.second(0, i, j),
                        3e-5 * 5003 * own * std::sqrt(expected.second(0, j, j) / 5003))
                << components << ' ' << i << ' ' << j;
          }
        }
      }
    }
  }
}

TEST_F(TiedAccumulator, FarRowsAreDoneInDouble) {
  for (const auto& [columns, components] : std::vector<std::pair<std::size_t, std::size_t>>{
           {8, 2}, {8, 10}, {16, 10}, {33, 10}, {100, 10}, {200, 10}, {24, 130}, {8, 300}}) {
    const auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.3, 7);
    for (const double distance : {60.0, 1e3, 1e5, 3e12, 3e38}) {
      auto data = reference::random_rows<float>(model, 20000, columns, 8);
      data[9000 * columns + 3] = static_cast<float>(distance);
      on_device<float> device(model, data, false);
      checks::expect_tied_sums(device.sums(), model, data, checks::kernel_tolerance<float>,
                               fmt::format("{} columns, {} away", columns, distance));
    }
  }
}

TEST_F(TiedAccumulator, AnEmptyComponentGetsNothing) {
  for (const auto& [columns, components] :
       std::vector<std::pair<std::size_t, std::size_t>>{{6, 3}, {6, 10}, {40, 5}, {140, 5}, {20, 130}, {6, 260}}) {
    auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.3, 11);
    model.weights[2] = 0;
    const auto data = reference::random_rows<float>(model, 2000, columns, 12);
    on_device<float> device(model, data, true);
    const statistics got = device.sums();
    EXPECT_EQ(got.weight(2), 0);
    for (std::size_t j = 0; j < columns; ++j) EXPECT_EQ(got.first(2, j), 0);
    checks::expect_tied_sums(got, model, data, checks::kernel_tolerance<float>, "an empty component");
  }
}

TEST_F(TiedAccumulator, KeepsItsDigitsFarFromTheOrigin) {
  for (const auto& [columns, components] : std::vector<std::pair<std::size_t, std::size_t>>{
           {8, 2}, {8, 20}, {16, 20}, {40, 20}, {128, 20}, {140, 20}, {40, 129}, {16, 257}}) {
    auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.5, 21);
    for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean + 1e4));
    const auto data = reference::random_rows<float>(model, 10000, columns, 22);
    on_device<float> device(model, data, true);
    checks::expect_tied_sums(device.sums(), model, data, 2e-6, fmt::format("offset 1e4, {} columns", columns));
  }
}

TEST_F(TiedAccumulator, RowsThatWereNotLearntAreLeftToOthers) {
  const auto model = checks::rounded_model(covariance_type::tied, 5, 20, 0.5, 23);
  const auto data = reference::random_rows<float>(model, 5000, 20, 24);
  on_device<float> device(model, data, false);
  checks::expect_tied_sums(device.sums(5000, shoal::gmm::other_rows), model, data, checks::kernel_tolerance<float>,
                           "other rows");
  checks::expect_tied_sums(device.sums(), model, data, checks::kernel_tolerance<float>, "learnt rows");
}

TEST_F(TiedAccumulator, StoppedKernelsChangeNothing) {
  for (const std::size_t components : {3, 130}) {
    const auto model = checks::rounded_model(covariance_type::tied, components, 20, 0.8, 31);
    const auto data = reference::random_rows<float>(model, 500, 20, 32);
    on_device<float> device(model, data, false);
    device.mixture.set_stopped(1, device.stream);
    shoal::cuda::device_buffer<double> sums(device.layout.size());
    sums.upload(std::vector<double>(device.layout.size(), 42.0), device.stream);
    device.learning->expect_shard(0);
    device.learning->clear(device.mixture.view(), device.stream);
    device.learning->add({device.device_rows.data(), nullptr, 0, 0, 500}, device.mixture.view(), device.stream);
    device.learning->merge(sums.data(), device.mixture.view(), device.stream);
    for (const double value : sums.download(device.layout.size(), device.stream)) EXPECT_EQ(value, 42.0);
  }
}

// Small enough for compute-sanitizer's racecheck.
TEST_F(TiedAccumulator, FewRowsByEveryKernel) {
  for (const std::size_t columns : {3, 16, 20}) check(300, columns, 10, 0.8);
  check(300, 20, 70, 0.6);
  check(70, 130, 3, 0.2);
  check(70, 130, 130, 0.2);
  check(70, 20, 130, 0.5);
}

// Several shards of a GPU that take turns, kept there or streamed, and sums of some of their rows.
template <class Scalar>
void check_shards(std::size_t columns, std::size_t components = 9,
                  std::size_t count = sizeof(Scalar) == 4 ? 600'011 : 1'050'011) {
  const auto model = checks::rounded_model(covariance_type::tied, components, columns, 0.6, 41);
  const auto data = reference::random_rows<Scalar>(model, count, columns, 42);
  const device_checks::problem<Scalar> problem(data, columns);
  const statistics_layout layout(covariance_type::tied, components, columns);
  const statistics expected = checks::expected_sums<Scalar>(model, data, {});
  statistics resident;
  for (const std::size_t memory : {std::size_t{0}, count * columns * sizeof(Scalar) / 3}) {
    const std::string what = fmt::format("{} columns of {} bytes, memory {}", columns, sizeof(Scalar), memory);
    shoal::cuda::device_group group(cuda_devices::first(1));
    shoal::cuda::device_rows<Scalar> rows(group, problem.context(), problem.data(), memory, {.exactly = 2});
    ASSERT_TRUE(shoal::gmm::tied::suits<Scalar>(checks::shape_of(layout, rows.most_shard_rows(), false)));
    EXPECT_EQ(rows.resident(), memory == 0);
    shoal::gmm::device_parts<Scalar> parts(group, layout, 1e-6);
    parts.prepare(model);
    shoal::gmm::expectation_step<Scalar> step(rows, layout);
    step.sum_all_rows(parts);
    const statistics all = step.download();
    checks::expect_close(all, expected, checks::kernel_tolerance<Scalar>, what);
    if (memory == 0) resident = all;
    checks::expect_same_bits(all, resident, what);
    const shoal::cuda::shard_range some{4096, 8192};
    step.sum_rows({&some, 1}, parts);
    std::vector<Scalar> chosen;
    for (const std::size_t first : {some.first, rows.most_shard_rows() + some.first}) {
      chosen.insert(chosen.end(), data.begin() + static_cast<std::ptrdiff_t>(first * columns),
                    data.begin() + static_cast<std::ptrdiff_t>((first + some.count) * columns));
    }
    checks::expect_close(step.download(), checks::expected_sums<Scalar>(model, chosen, {}),
                         checks::kernel_tolerance<Scalar>, what + ", some rows");
    step.sum_all_rows(parts);
    checks::expect_same_bits(step.download(), resident, what + ", again");
  }
}

TEST_F(TiedAccumulator, ShardsTakeTurns) {
  check_shards<float>(16);
  check_shards<float>(20);
  check_shards<float>(20, 130, 150'011);
  check_shards<double>(8);
}

// Through the door, with rows far from the origin: components that overlap and components three deviations apart.
TEST_F(TiedAccumulator, FitsEndWhereFloat64Ends) {
  // In eleven bits one product finds the densities of few columns and many components, which may be 0.1 off in their
  // logarithm (docs/tolerances.md): a step of that fit has been 0.041 of 31 off.
  struct shape {
    std::size_t columns, components, count;
    double in_eleven_bits = 1e-3;
  };
  for (const auto& [columns, components, count, in_eleven_bits] :
       {shape{8, 16, 800'011}, shape{16, 16, 800'011}, shape{40, 16, 800'011}, shape{16, 257, 100'003, 2e-3},
        shape{20, 127, 100'003}, shape{20, 128, 100'003}, shape{20, 129, 100'003}, shape{64, 130, 50'003}}) {
    for (const double apart : {0.7, 3.0}) {
      for (const shoal::precision precision : {shoal::precision::float32, shoal::precision::bf16}) {
        SCOPED_TRACE(fmt::format("{} columns, {} components, {} apart", columns, components, apart));
        ASSERT_TRUE(shoal::gmm::tied::suits<float>(
            checks::shape_of(statistics_layout(covariance_type::tied, components, columns), count, false)));
        checks::expect_fit_as_in_float64(covariance_type::tied, components, columns, count, apart, precision,
                                         in_eleven_bits);
      }
    }
  }
}

// Columns that all follow one direction, whose variance is so many times that of the others.
TEST_F(TiedAccumulator, FitsOfCorrelatedColumnsEndWhereFloat64Ends) {
  constexpr std::size_t count = 440'003, components = 8;
  for (const std::size_t columns : {12, 16, 40, 150}) {
    for (const double variance : {30.0, 1e4}) {
      SCOPED_TRACE(fmt::format("{} columns, variance {}", columns, variance));
      std::mt19937_64 engine(7);
      std::normal_distribution<double> normal;
      std::vector<double> line(columns), means(components * columns);
      double length = 0;
      for (double& value : line) {
        value = normal(engine);
        length += value * value;
      }
      for (double& value : means) value = 1.5 * normal(engine) * std::sqrt(8 / static_cast<double>(columns));
      const std::size_t used = columns == 150 ? count / 8 : count;
      ASSERT_TRUE(shoal::gmm::tied::suits<float>(
          checks::shape_of(statistics_layout(covariance_type::tied, components, columns), used, false)));
      std::vector<float> rows(used * columns);
      for (std::size_t r = 0; r < used; ++r) {
        const double along = normal(engine) * std::sqrt(variance / length);
        for (std::size_t j = 0; j < columns; ++j) {
          const double value = means[r % components * columns + j] + normal(engine) + along * line[j];
          rows[r * columns + j] = static_cast<float>((value + 100) * std::pow(3, static_cast<double>(j % 5)));
        }
      }
      const std::vector<double> doubles(rows.begin(), rows.end());
      shoal::gmm::options options;
      options.components = components;
      options.covariance_type = covariance_type::tied;
      options.init = shoal::gmm::initialization::random_rows;
      options.max_iterations = 12;
      options.tolerance = 0;
      options.seed = 5;
      options.device = {cuda_devices::first(1)};
      const auto wide = shoal::gmm::fit(shoal::view_source<double>({doubles.data(), used, columns}), options);
      const auto narrow = shoal::gmm::fit(shoal::view_source<float>({rows.data(), used, columns}), options);
      ASSERT_EQ(narrow.history.size(), wide.history.size());
      EXPECT_NEAR(narrow.history.back(), wide.history.back(), 1e-5 * std::abs(wide.history.back()));
      const auto& found = narrow.model.covariances;
      const auto& expected = wide.model.covariances;
      for (std::size_t i = 0; i < columns; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          const double size = std::sqrt(expected[i * columns + i] * expected[j * columns + j]);
          ASSERT_NEAR(found[i * columns + j], expected[i * columns + j], 1e-4 * size) << i << ' ' << j;
        }
      }
    }
  }
}

TEST(TiedAccumulatorShape, OfFloat64RowsHasNeitherTooFewNorTooManyNumbers) {
  const auto is_faster = [](std::size_t columns, std::size_t components) {
    return shoal::gmm::tied::is_faster(8, shoal::precision::float32, 1'000'000, columns, components);
  };
  EXPECT_TRUE(is_faster(8, 160));
  EXPECT_FALSE(is_faster(8, 161));
  EXPECT_TRUE(is_faster(4, 65));
  EXPECT_FALSE(is_faster(4, 64));
  EXPECT_FALSE(is_faster(3, 100));
}

TEST(TiedAccumulatorShape, OfFewFloat32ColumnsHasEnoughToMultiply) {
  const auto is_faster = [](std::size_t rows, std::size_t columns, std::size_t components, bool coarse = false) {
    const shoal::precision least = coarse ? shoal::precision::bf16 : shoal::precision::float32;
    return shoal::gmm::tied::is_faster(4, least, rows, columns, components);
  };
  EXPECT_TRUE(is_faster(100'000, 13, 33));
  EXPECT_FALSE(is_faster(30'000, 13, 33));
  EXPECT_FALSE(is_faster(100'000, 3, 100, true));
  EXPECT_TRUE(is_faster(1'000'000, 2, 100, true));
  EXPECT_FALSE(is_faster(1'000'000, 2, 100));
  EXPECT_FALSE(is_faster(1'000'000, 2, 99, true));
  EXPECT_TRUE(is_faster(1'000'000, 2, 257));
  EXPECT_FALSE(is_faster(1'000'000, 2, 256));
  EXPECT_TRUE(is_faster(10'000, 8, 300));
  EXPECT_FALSE(is_faster(10'000, 8, 256));
  EXPECT_TRUE(is_faster(1'000'000, 8, 5));
  EXPECT_FALSE(is_faster(1'000'000, 8, 2));
  EXPECT_TRUE(is_faster(10'000'000, 6, 2));
  EXPECT_FALSE(is_faster(10'000'000, 5, 2));
  EXPECT_FALSE(is_faster(10'000'000, 6, 7));
}

TEST(TiedAccumulatorShape, HasNoWeightsAndSoManyColumns) {
  const auto make = [](std::size_t components, std::size_t columns, bool weighted) {
    accumulator_shape shape =
        checks::shape_of(statistics_layout(covariance_type::tied, components, columns), 4096, weighted);
    return shoal::gmm::tied::make_accumulator<float>(shape, 1, std::make_unique<checks::nobody<float>>());
  };
  SHOAL_NEEDS_DEVICES(1);
  SHOAL_NEEDS_PRODUCTS();
  EXPECT_NO_THROW(make(256, 16, false));
  EXPECT_NO_THROW(make(257, 16, false));
  EXPECT_NO_THROW(make(128, 128, false));
  EXPECT_NO_THROW(make(129, 128, false));
  EXPECT_NO_THROW(make(300, 129, false));
  EXPECT_THROW(make(2, 2049, false), shoal::bad_argument);
  EXPECT_THROW(make(5, 5, true), shoal::bad_argument);
}

}  // namespace
