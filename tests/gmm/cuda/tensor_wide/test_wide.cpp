// The statistics and predictions of the kernels for wide float32 rows, against plain float64 loops.
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/gmm/cuda/tensor_wide/tensor_wide.hpp>
#include <shoal/gmm/cuda/tensor_wide/tuning.hpp>
#include <shoal/gmm/parameters.hpp>

#include "../checks.hpp"

namespace {

namespace tensor_wide = shoal::gmm::tensor_wide;
using device_checks::on_devices;
using device_checks::problem;
using shoal::gmm::covariance_type;

constexpr covariance_type matrix_types[] = {covariance_type::full, covariance_type::tied};

// As docs/tolerances.md has it: sums relative to their weight, and a row's log-density.
constexpr double tolerance = 1e-5;
constexpr double coarse_tolerance = 1e-3;
constexpr double coarse_log_tolerance = 0.1;
double log_tolerance(std::size_t columns) { return 1e-6 * static_cast<double>(columns); }

auto coarse(shoal::gmm::accumulator_shape shape) {
  shape.precision = shoal::precision::tf32;
  return tensor_wide::make_accumulator(shape);
}

// From so many rows on moments may be products of float16 terms.
constexpr std::size_t least_listed_rows = tensor_wide::least_share_rows;

struct shape {
  std::size_t rows, columns, components;
};

// Columns on both sides of every tile and stage, numbers of rows on both sides of tiles.
std::vector<shape> shapes() {
  std::vector<shape> result;
  constexpr std::size_t rows[] = {1, 63, 65, 127, 128, 129, 257};
  constexpr std::size_t components[] = {1, 2, 3, 5};
  std::size_t turn = 0;
  for (const std::size_t columns : {1, 8, 63, 64, 65, 127, 128, 129, 130, 192, 193, 200, 256, 257, 300, 768}) {
    result.push_back({rows[turn % 7], columns, components[turn % 4]});
    result.push_back({rows[(turn + 3) % 7], columns, components[(turn + 1) % 4]});
    ++turn;
  }
  return result;
}

void check(covariance_type type, const shape& of, bool weighted, double spread) {
  SCOPED_TRACE(fmt::format("{} {}x{} K={} spread {}", checks::name(type), of.rows, of.columns, of.components, spread));
  const auto model = reference::random_model(type, of.components, of.columns, spread, 3);
  problem<float> rows(reference::random_rows<float>(model, of.rows, of.columns, 4), of.columns,
                      weighted ? device_checks::some_weights<float>(of.rows) : std::vector<float>());
  on_devices<float> devices(rows);
  const auto weights = rows.scaled_weights();
  const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, rows.rows(),
                                                     weighted ? weights.data() : nullptr);
  const auto got = devices.sums(model, tensor_wide::make_accumulator);
  checks::expect_close(got, expected, tolerance, "float32");
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), log_tolerance(of.columns) * expected.total_weight());
  const auto rough = devices.sums(model, coarse);
  checks::expect_close(rough, expected, coarse_tolerance, "tf32");
  EXPECT_NEAR(rough.log_likelihood(), expected.log_likelihood(), coarse_log_tolerance * expected.total_weight());
}

TEST(TensorWide, AgreesWithFloat64AtEveryShape) {
  SHOAL_NEEDS_DEVICES(1);
  std::size_t turn = 0;
  // Overlapping, apart, and many deviations apart.
  constexpr double spreads[] = {0.1, 0.7, 3.0, 30.0};
  for (const covariance_type type : matrix_types) {
    for (const shape& of : shapes()) {
      check(type, of, turn % 2 == 1, spreads[turn % 4]);
      if (HasFatalFailure()) return;
      ++turn;
    }
  }
}

TEST(TensorWide, AgreesWithFloat64OnFewRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : matrix_types) {
    check(type, {130, 129, 2}, true, 0.1);
    check(type, {65, 200, 3}, false, 0.1);
  }
}

// Several sections, and rows that many components hold in part.
TEST(TensorWide, AgreesWithFloat64OnManyRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t rows : {511, 513, 4095, 4097, 9001}) {
    for (const covariance_type type : matrix_types) check(type, {rows, 130, 3}, rows % 3 == 0, 0.05);
  }
}

// So many rows that their moments are products of float16 terms, but for the first sections of components of few rows.
TEST(TensorWide, AgreesWithFloat64OnSoManyRowsThatTheyAreListed) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr std::size_t columns[] = {129, 145, 200, 257};
  std::size_t turn = 0;
  for (const std::size_t d : columns) {
    for (const covariance_type type : matrix_types) {
      check(type, {least_listed_rows + 37 * turn, d, 1 + turn % 2}, turn % 3 == 1, turn % 4 < 2 ? 0.03 : 0.7);
      if (HasFatalFailure()) return;
      ++turn;
    }
  }
}

// Few rows go on as they did, and as many as are listed are.
TEST(TensorWide, AgreesWithFloat64OnBothSidesOfTheListedRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : matrix_types) {
    check(type, {least_listed_rows - 1, 132, 2}, false, 0.05);
    check(type, {least_listed_rows, 132, 2}, false, 0.05);
  }
}

// More matrices than are factorised at once.
TEST(TensorWide, TakesMatricesInTurns) {
  SHOAL_NEEDS_DEVICES(1);
  check(covariance_type::full, {20, 170, 460}, false, 0.7);
}

// Rows far from the origin cost no digits, since they are centred before they are split.
TEST(TensorWide, TakesAnOffset) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : matrix_types) {
    for (const std::size_t rows : {std::size_t{300}, least_listed_rows}) {
      const std::size_t columns = rows == 300 ? 200 : 136;
      auto model = reference::random_model(type, 3, columns, 0.7, 5);
      for (double& mean : model.means) mean += 1e4;
      problem<float> of(reference::random_rows<float>(model, rows, columns, 6), columns);
      on_devices<float> devices(of);
      const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows());
      checks::expect_close(devices.sums(model, tensor_wide::make_accumulator), expected, tolerance, checks::name(type));
    }
  }
}

// Weights of very different sizes, and components of very few rows beside those of many.
TEST(TensorWide, ListsRowsOfAnyWeight) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : matrix_types) {
    const std::size_t rows = least_listed_rows + 4096, columns = 136;
    auto model = reference::random_model(type, 4, columns, 0.7, 9);
    model.weights = {0.9, 0.0999, 1e-4, 1e-12};
    std::vector<float> weights(rows);
    for (std::size_t r = 0; r < rows; ++r) weights[r] = r % 7 == 0 ? 0.0F : std::ldexp(1.3F, -static_cast<int>(r % 40));
    problem<float> of(reference::random_rows<float>(model, rows, columns, 4), columns, weights);
    on_devices<float> devices(of);
    const auto scaled = of.scaled_weights();
    const auto expected =
        reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows(), scaled.data());
    checks::expect_close(devices.sums(model, tensor_wide::make_accumulator), expected, tolerance, checks::name(type));
  }
}

// Rows that float32 is too coarse for are done again in float64.
TEST(TensorWide, TakesFarRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : matrix_types) {
    const auto model = reference::random_model(type, 3, 140, 1.0, 1);
    const std::size_t rows = 700;
    auto values = reference::random_rows<float>(model, rows, 140, 2);
    for (const std::size_t r : {0, 3, 127, 128, 199, 640, 699}) {
      values[r * 140 + r % 5] = r % 2 == 0 ? 3000.0F + static_cast<float>(r) : 1e7F;
    }
    problem<float> of(values, 140);
    on_devices<float> devices(of);
    const auto got = devices.sums(model, tensor_wide::make_accumulator);
    const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows());
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-6 * std::abs(expected.log_likelihood()));
    checks::expect_close(got, expected, tolerance, checks::name(type));
  }
}

// Tied components about an origin that they share, up to the distance from which on each has its own; and one row fewer
// than it takes.
TEST(TensorWide, TakesTiedComponentsAnyDistanceApart) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr std::size_t columns = 133;
  const auto take = [](double distance, std::size_t components, std::size_t rows) {
    SCOPED_TRACE(fmt::format("{} rows of {} components {} apart", rows, components, distance));
    auto model = reference::random_model(covariance_type::tied, components, columns, 0.7, 7);
    for (std::size_t k = 0; k < components; ++k) {
      for (std::size_t j = 0; j < columns; j += 3) model.means[k * columns + j] += k % 2 == 0 ? distance : -distance;
    }
    problem<float> of(reference::random_rows<float>(model, rows, columns, 8), columns,
                      device_checks::some_weights<float>(rows));
    on_devices<float> devices(of);
    const auto scaled = of.scaled_weights();
    const auto expected =
        reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows(), scaled.data());
    checks::expect_close(devices.sums(model, tensor_wide::make_accumulator), expected, tolerance, "float32");
    checks::expect_close(devices.sums(model, coarse), expected, coarse_tolerance, "tf32");
  };
  const auto least_rows = [](std::size_t components) {
    return (tensor_wide::least_origin_pairs + components - 2) / (components - 1);
  };
  constexpr std::size_t few = tensor_wide::least_origin_components, many = 37;
  for (const double distance : {0.0, 6000.0, 9000.0, 100000.0}) take(distance, many, least_rows(many));
  take(100.0, few, least_rows(few));
  take(0.0, few, least_rows(few) - 1);
  take(100.0, many, least_rows(many) - 1);
}

// Rows in one frame for all components, on both sides of every number of steps, of components and of rows; and where
// components are too far apart for it, or too different. The plan of as many rows is taken for fewer.
TEST(TensorWide, AgreesWithFloat64WhereRowsAreMovedIntoAFrame) {
  SHOAL_NEEDS_DEVICES(1);
  constexpr std::size_t least = tensor_wide::least_framed_components, most = tensor_wide::most_framed_components;
  const auto take = [](std::size_t rows, std::size_t columns, std::size_t components, double spread, double offset,
                       bool moved, bool differing = false) {
    SCOPED_TRACE(fmt::format("{}x{} K={} spread {} at {}", rows, columns, components, spread, offset));
    auto model = reference::random_model(covariance_type::full, components, columns, spread, 11);
    for (double& mean : model.means) mean += offset;
    // The second component is 256 times as wide in every direction.
    for (std::size_t i = 0; differing && i < columns * columns; ++i) model.covariances[columns * columns + i] *= 65536;
    // The second is empty, and rows that are drawn about it are the first one's.
    if (components > 2 && !differing) {
      model.weights[1] = 0;
      std::copy_n(model.means.begin(), columns, model.means.begin() + static_cast<std::ptrdiff_t>(columns));
    }
    const bool weighted = rows % 2 == 1;
    problem<float> of(reference::random_rows<float>(model, rows, columns, 12), columns,
                      weighted ? device_checks::some_weights<float>(rows) : std::vector<float>());
    on_devices<float> devices(of);
    const auto scaled = of.scaled_weights();
    const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows(),
                                                       weighted ? scaled.data() : nullptr);
    const auto planned = [](std::size_t share_rows) {
      return [share_rows](shoal::gmm::accumulator_shape shape) {
        shape.share_rows = share_rows;
        return coarse(shape);
      };
    };
    const auto got = devices.sums(model, planned(tensor_wide::least_framed_rows));
    checks::expect_close(got, expected, coarse_tolerance, "tf32");
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), coarse_log_tolerance * expected.total_weight());
    const auto again = devices.sums(model, planned(tensor_wide::least_framed_rows));
    EXPECT_EQ(got.log_likelihood(), again.log_likelihood());
    // One row fewer is planned alike otherwise: the bits tell which kernel was at work.
    const auto apart = devices.sums(model, planned(tensor_wide::least_framed_rows - 1));
    EXPECT_EQ(got.log_likelihood() != apart.log_likelihood(), moved);
  };
  for (const std::size_t columns : {129, 143, 144, 145, 160, 161, 176, 177, 192, 193, 207, 208, 209}) {
    take(511 + columns % 3, columns, least, 0.1, 0, columns <= tensor_wide::most_framed_columns);
    if (HasFatalFailure()) return;
  }
  for (const std::size_t components : {std::size_t{1}, least - 1, least, most, most + 1}) {
    take(700, 131, components, 0.7, 0, components >= least && components <= most);
  }
  // More tiles of rows than multiprocessors.
  take(20001, 132, least, 0.7, 0, true);
  take(640, 132, least, 2.0, 0, true);
  take(640, 132, least, 30.0, 0, false);
  take(641, 135, least, 0.7, 1000, true);
  take(640, 132, least, 0.1, 0, false, true);
}

// Moments in the frame, of every number and kind of parts that the columns are cut into; and of components on both
// sides of the distances up to which they are summed there. The plan of as many rows as are listed is taken for fewer.
TEST(TensorWide, AgreesWithFloat64WhereMomentsAreInTheFrame) {
  SHOAL_NEEDS_DEVICES(1);
  const auto take = [](std::size_t columns, std::size_t components, double spread, double offset) {
    // As many as a component must have, so that its moments are products of float16 terms, and some more; where
    // components lie together each has part of all.
    const std::size_t rows = (spread < 0.02 ? 1 : components) * (3 * columns + 35) + columns % 7;
    SCOPED_TRACE(fmt::format("{}x{} K={} spread {} at {}", rows, columns, components, spread, offset));
    auto model = reference::random_model(covariance_type::full, components, columns, spread, 13);
    for (double& mean : model.means) mean += offset;
    const bool weighted = columns % 2 == 1;
    problem<float> of(reference::random_rows<float>(model, rows, columns, 14), columns,
                      weighted ? device_checks::some_weights<float>(rows) : std::vector<float>());
    on_devices<float> devices(of);
    const auto scaled = of.scaled_weights();
    const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows(),
                                                       weighted ? scaled.data() : nullptr);
    const auto planned = [](auto make) {
      return [make](shoal::gmm::accumulator_shape shape) {
        shape.share_rows = least_listed_rows;
        return make(shape);
      };
    };
    const auto fine = [](const shoal::gmm::accumulator_shape& shape) { return tensor_wide::make_accumulator(shape); };
    checks::expect_close(devices.sums(model, planned(fine)), expected, tolerance, "float32");
    checks::expect_close(devices.sums(model, planned(coarse)), expected, coarse_tolerance, "tf32");
  };
  for (const std::size_t columns : {129, 192, 193, 256, 257}) {
    take(columns, 2, 0.1, 0);
    if (HasFatalFailure()) return;
  }
  for (const std::size_t columns : {321, 384, 385, 449, 513}) {
    take(columns, 1, 0.1, 0);
    if (HasFatalFailure()) return;
  }
  for (const double spread : {0.03, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0}) take(130, 3, spread, spread == 0.7 ? 1e4 : 0);
  // More components than a warp has threads.
  take(131, 33, 0.01, 0);
}

// Rows stay in shared memory, or come with each stage of columns: components and columns on both sides of that.
TEST(TensorWide, AgreesWithFloat64WhetherRowsAreHeldOrNot) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {129, 144, 145, 208, 209, 256, 257, 272, 320, 321, 336, 385}) {
    for (const std::size_t components : {2U, tensor_wide::least_holding_components}) {
      check(covariance_type::full, {385 + components, columns, components}, false, 0.7);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TensorWide, GivesNothingToAComponentOfWeightZero) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : matrix_types) {
    auto model = reference::random_model(type, 3, 150, 1.0, 6);
    model.weights = {0.25, 0.0, 0.75};
    problem<float> of(reference::random_rows<float>(model, 530, 150, 8), 150);
    on_devices<float> devices(of);
    const auto got = devices.sums(model, tensor_wide::make_accumulator);
    EXPECT_EQ(got.weight(1), 0.0);
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value));
  }
}

// Neither the cut into pieces nor a second run changes a bit, be rows listed or not.
TEST(TensorWide, GivesTheSameBitsStreamedAndAgain) {
  SHOAL_NEEDS_DEVICES(1);
  std::size_t turn = 0;
  for (const covariance_type type : {covariance_type::full, covariance_type::full, covariance_type::tied}) {
    const std::size_t rows = (turn++ % 2 == 0 ? 5 : 3) * 4096 + 1234, columns = 129;
    const auto model = reference::random_model(type, 5, columns, 0.1, 21);
    auto values = reference::random_rows<float>(model, rows, columns, 22);
    for (std::size_t r = 5; r < rows; r += 1500) values[r * columns] += 500;  // far
    problem<float> of(values, columns, device_checks::some_weights<float>(rows));
    on_devices<float> resident(of);
    on_devices<float> streamed(of, 2 * 4096 * (columns + 1) * sizeof(float));
    ASSERT_TRUE(resident.rows().resident());
    ASSERT_FALSE(streamed.rows().resident());
    const auto first = resident.sums(model, tensor_wide::make_accumulator);
    checks::expect_same_bits(resident.sums(model, tensor_wide::make_accumulator), first, "again");
    checks::expect_same_bits(streamed.sums(model, tensor_wide::make_accumulator), first, "streamed");
  }
}

TEST(TensorWide, PredictsWhatFloat64Does) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : matrix_types) {
    for (const shape& s : {shape{1, 129, 2}, shape{515, 200, 7}, shape{300, 257, 3}}) {
      SCOPED_TRACE(fmt::format("{} {} columns", checks::name(type), s.columns));
      const auto model = reference::random_model(type, s.components, s.columns, 0.1, 3);
      const problem<float> of(reference::random_rows<float>(model, s.rows, s.columns, 4), s.columns);
      on_devices<float> devices(of);
      const shoal::gmm::statistics_layout layout(type, s.components, s.columns);
      shoal::gmm::device_parts<float> parts(devices.group(), layout, 0);
      parts.prepare(model);
      const auto& device = devices.group()[0];
      const shoal::cuda::device_scope scope(device.device);
      shoal::cuda::device_buffer<std::int32_t> labels(s.rows);
      shoal::cuda::device_buffer<float> probabilities(s.rows * s.components), log_density(s.rows);
      const auto predictor =
          tensor_wide::make_predictor({layout, s.rows, device.multiprocessors, device.shared_bytes}, device.compute);
      predictor->prepare(parts.parameters(0), device.compute);
      devices.rows().for_each_piece([&](std::size_t, const auto& piece) {
        predictor->add(piece, {labels.data(), probabilities.data(), log_density.data()}, device.compute);
      });
      const auto got_labels = labels.download(s.rows, device.compute);
      const auto got_probabilities = probabilities.download(s.rows * s.components, device.compute);
      const auto got_densities = log_density.download(s.rows, device.compute);
      const reference::mixture mixture(model);
      double score = 0;
      for (std::size_t r = 0; r < s.rows; ++r) {
        const float* const row = of.rows().data() + r * s.columns;
        const auto expected = mixture.of(std::vector<double>(row, row + s.columns));
        score += expected.log_density;
        ASSERT_NEAR(got_densities[r], expected.log_density, log_tolerance(s.columns)) << "row " << r;
        ASSERT_EQ(got_labels[r], expected.label) << "row " << r;
        for (std::size_t k = 0; k < s.components; ++k) {
          ASSERT_NEAR(got_probabilities[r * s.components + k], expected.responsibilities[k], 3e-4) << "row " << r;
        }
      }
      EXPECT_NEAR(predictor->totals(device.compute).front().log_likelihood, score,
                  log_tolerance(s.columns) * static_cast<double>(s.rows));
    }
  }
}

}  // namespace
