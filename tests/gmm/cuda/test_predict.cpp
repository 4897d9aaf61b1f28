// Predictions on a GPU, against those on the CPU and against plain float64 loops.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/gmm/cuda/predict.hpp>

#include "checks.hpp"

namespace {

using checks::all_types;
using device_checks::on_devices;
using device_checks::problem;
using shoal::gmm::covariance_type;
using shoal::gmm::prediction;

// What a prediction fills, with values that it must overwrite.
template <class Scalar>
struct filled {
  filled(std::size_t rows, std::size_t components)
      : labels(rows, -7), probabilities(rows * components, Scalar{-7}), log_density(rows, Scalar{7e9}) {}
  prediction<Scalar> out() { return {labels.data(), probabilities.data(), log_density.data()}; }

  std::vector<std::int32_t> labels;
  std::vector<Scalar> probabilities;
  std::vector<Scalar> log_density;
  double score = 0;
};

template <class Scalar>
filled<Scalar> predict(on_devices<Scalar>& devices, const problem<Scalar>& of, const shoal::gmm::model& model) {
  filled<Scalar> result(of.rows().rows(), model.components);
  result.score = shoal::gmm::predict_on_device<Scalar>(devices.rows(), model, result.out());
  return result;
}

template <class Scalar>
void check_against_loops(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components,
                         bool weighted) {
  const std::string what =
      fmt::format("{} {} {}x{} K={}", device_checks::name<Scalar>(), checks::name(type), rows, columns, components);
  const auto model = reference::random_model(type, components, columns, 3.0, 5);
  auto values = reference::random_rows<Scalar>(model, rows, columns, 6);
  values[(rows / 2) * columns] = 5000;  // a far row
  problem<Scalar> of(values, columns, weighted ? device_checks::some_weights<Scalar>(rows) : std::vector<Scalar>());
  on_devices<Scalar> devices(of);
  const auto got = predict(devices, of, model);
  const reference::mixture mixture(model);
  const double tolerance = sizeof(Scalar) == 4 ? 1e-4 : 1e-11;
  double log_likelihood = 0, weight = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto expected = mixture.of(reference::row(of.rows(), r));
    const double size = 1 + std::abs(expected.log_density);
    ASSERT_NEAR(got.log_density[r], expected.log_density, tolerance * size) << what << ", row " << r;
    double sum = 0;
    for (std::size_t k = 0; k < components; ++k) {
      const double probability = got.probabilities[r * components + k];
      ASSERT_NEAR(probability, expected.responsibilities[k], tolerance) << what << ", row " << r;
      sum += probability;
    }
    ASSERT_NEAR(sum, 1.0, 1e-5) << what << ", row " << r;
    const auto label = static_cast<std::size_t>(got.labels[r]);
    ASSERT_LT(label, components) << what;
    const double best = *std::max_element(expected.responsibilities.begin(), expected.responsibilities.end());
    ASSERT_NEAR(expected.responsibilities[label], best, tolerance) << what << ", row " << r;
    const double own = weighted ? of.scaled_weights()[r] : 1.0;
    log_likelihood += own * expected.log_density;
    weight += own;
  }
  ASSERT_NEAR(got.score, log_likelihood / weight, tolerance * (1 + std::abs(log_likelihood / weight))) << what;
}

TEST(DevicePredict, AgreesWithPlainLoops) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    for (const bool weighted : {false, true}) {
      for (const std::size_t rows : {1, 31, 33, 255, 257, 4097}) {
        check_against_loops<float>(type, rows, 3, 4, weighted);
        check_against_loops<double>(type, rows, 3, 4, weighted);
        if (HasFatalFailure()) return;
      }
      check_against_loops<float>(type, 500, 33, 65, weighted);
      check_against_loops<double>(type, 500, 64, 2, weighted);
      if (HasFatalFailure()) return;
    }
  }
}

// float32 rows by the kernels that were chosen for them, against the same rows in float64.
void check_against_float64(const shoal::gmm::model& model, std::vector<float> values, std::vector<float> weights = {}) {
  const std::string what = fmt::format("{} {}x{} K={}", checks::name(model.covariance_type),
                                       values.size() / model.columns, model.columns, model.components);
  const std::vector<double> same(values.begin(), values.end());
  const problem<float> coarse(std::move(values), model.columns, weights);
  const problem<double> fine(same, model.columns, std::vector<double>(weights.begin(), weights.end()));
  on_devices<float> coarse_devices(coarse);
  on_devices<double> fine_devices(fine);
  const auto got = predict(coarse_devices, coarse, model);
  const auto expected = predict(fine_devices, fine, model);
  const std::size_t components = model.components;
  for (std::size_t r = 0; r < coarse.rows().rows(); ++r) {
    // Log-densities are of rows that are at most far_norm away, or float64's, rounded to float32.
    const double tolerance = 1e-4 + 6e-8 * std::abs(expected.log_density[r]);
    ASSERT_NEAR(got.log_density[r], expected.log_density[r], tolerance) << what << ", row " << r;
    const double* const theirs = &expected.probabilities[r * components];
    double sum = 0;
    for (std::size_t k = 0; k < components; ++k) {
      const double probability = got.probabilities[r * components + k];
      ASSERT_NEAR(probability, theirs[k], 3e-4 * theirs[k] + 1e-37) << what << ", row " << r << ", component " << k;
      sum += probability;
    }
    ASSERT_NEAR(sum, 1.0, 1e-6 * static_cast<double>(std::max<std::size_t>(components, 4))) << what << ", row " << r;
    const auto label = static_cast<std::size_t>(got.labels[r]);
    ASSERT_LT(label, components) << what;
    ASSERT_GE(theirs[label], (1 - 3e-4) * *std::max_element(theirs, theirs + components)) << what << ", row " << r;
  }
  ASSERT_NEAR(got.score, expected.score, 1e-5 * (1 + std::abs(expected.score))) << what;
}

std::vector<float> with_far_rows(const shoal::gmm::model& model, std::size_t rows) {
  std::vector<float> values = reference::random_rows<float>(model, rows, model.columns, 6);
  for (const std::size_t far : {rows / 3, rows / 2, rows - 1}) values[far * model.columns] = 5000;
  return values;
}

TEST(DevicePredict, AgreesWithFloat64ForEveryNumberOfColumns) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    for (const std::size_t columns : {1, 2, 7, 8, 9, 16, 17, 31, 33, 48, 54, 64, 65, 96, 100, 127, 128, 130}) {
      const auto model = reference::random_model(type, 5, columns, 0.3, 5);
      check_against_float64(model, with_far_rows(model, 513));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DevicePredict, AgreesWithFloat64ForAwkwardNumbersOfComponentsAndRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    for (const std::size_t components : {1, 2, 31, 32, 33, 127, 128, 129, 300}) {
      const auto model = reference::random_model(type, components, 20, 1.0, 5);
      for (const std::size_t rows : {4, 255, 256, 1031}) {
        check_against_float64(model, with_far_rows(model, rows), device_checks::some_weights<float>(rows));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The same on so few rows that compute-sanitizer can follow: far ones, a frame, a wide one and none.
TEST(DevicePredict, AgreesWithFloat64OnFewRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    for (const double spread : {0.3, 10.0, 1000.0}) {
      const auto model = reference::random_model(type, 35, 18, spread, 5);
      check_against_float64(model, with_far_rows(model, 300));
    }
  }
}

// Too far for one frame, or for the digits of products in it.
TEST(DevicePredict, AgreesWithFloat64WhereComponentsLieApart) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    for (const double spread : {3.0, 30.0, 1000.0}) {
      for (const std::size_t columns : {3, 40, 128}) {
        const auto model = reference::random_model(type, 70, columns, spread, 5);
        check_against_float64(model, with_far_rows(model, 700));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rows without weight count in no sum and are predicted like others; a component without weight has no row.
TEST(DevicePredict, TakesWeightlessRowsAndComponents) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    auto model = reference::random_model(type, 6, 12, 1.0, 5);
    model.weights[2] = 0;
    std::vector<float> weights = device_checks::some_weights<float>(700);
    for (std::size_t r = 0; r < weights.size(); r += 3) weights[r] = 0;
    check_against_float64(model, with_far_rows(model, 700), weights);
    if (HasFatalFailure()) return;
  }
}

// Of equally probable components the lowest is the label.
TEST(DevicePredict, BreaksTiesLikeTheCpu) {
  SHOAL_NEEDS_DEVICES(1);
  shoal::gmm::model model;
  model.covariance_type = covariance_type::spherical;
  model.components = 3;
  model.columns = 1;
  model.weights = {0.2, 0.4, 0.4};
  model.means = {50, -1, 1};
  model.covariances = {1, 1, 1};
  problem<float> of({0.0F, 0.0F, 2.0F, -2.0F}, 1);
  on_devices<float> devices(of);
  EXPECT_EQ(predict(devices, of, model).labels, (std::vector<std::int32_t>{1, 1, 2, 1}));
}

template <class Scalar>
void expect_same_rows(const filled<Scalar>& got, const filled<Scalar>& expected) {
  EXPECT_EQ(got.labels, expected.labels);
  EXPECT_EQ(got.probabilities, expected.probabilities);
  EXPECT_EQ(got.log_density, expected.log_density);
}

template <class Scalar>
void check_bits(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components) {
  const auto model = reference::random_model(type, components, columns, 2.0, 8);
  problem<Scalar> of(reference::random_rows<Scalar>(model, rows, columns, 9), columns);
  on_devices<Scalar> resident(of);
  on_devices<Scalar> streamed(of, 2 * 4096 * columns * sizeof(Scalar));
  ASSERT_FALSE(streamed.rows().resident());
  const auto first = predict(resident, of, model);
  const auto again = predict(resident, of, model);
  const auto second = predict(streamed, of, model);
  for (const auto* other : {&again, &second}) {
    expect_same_rows(*other, first);
    EXPECT_EQ(other->score, first.score);
  }
  EXPECT_EQ(shoal::gmm::predict_on_device<Scalar>(resident.rows(), model, {}), first.score);
  filled<Scalar> labels(rows, components);
  shoal::gmm::predict_on_device<Scalar>(resident.rows(), model, {labels.labels.data(), nullptr, nullptr});
  EXPECT_EQ(labels.labels, first.labels);
}

TEST(DevicePredict, GivesTheSameBitsStreamedAndAgain) {
  SHOAL_NEEDS_DEVICES(1);
  const std::size_t rows = 2 * 4096 + 555;
  check_bits<double>(covariance_type::full, rows, 3, 4);
  for (const covariance_type type : all_types) {
    check_bits<float>(type, rows, 3, 4);
    check_bits<float>(type, rows, 35, 65);
    // More rows than terms are kept of at a time.
    check_bits<float>(type, 40000, 4, 1024);
  }
}

TEST(DevicePredict, GivesEachRowTheSameBitsOnTwoDevices) {
  SHOAL_NEEDS_DEVICES(2);
  for (const covariance_type type : all_types) {
    const std::size_t rows = 3 * 4096 + 555, columns = 20, components = 33;
    const auto model = reference::random_model(type, components, columns, 2.0, 8);
    problem<float> of(reference::random_rows<float>(model, rows, columns, 9), columns);
    on_devices<float> one(of);
    on_devices<float> two(of, 0, 2);
    const auto expected = predict(one, of, model);
    const auto got = predict(two, of, model);
    expect_same_rows(got, expected);
    EXPECT_NEAR(got.score, expected.score, 1e-12 * std::abs(expected.score));
  }
}

}  // namespace
