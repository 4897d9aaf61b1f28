// Predictions on a GPU, against those on the CPU and against plain float64 loops.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/gmm/cuda/predict.hpp>

#include "device_checks.hpp"

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
void check_bits() {
  const std::size_t rows = 2 * 4096 + 555, columns = 3;
  const auto model = reference::random_model(covariance_type::full, 4, columns, 2.0, 8);
  problem<Scalar> of(reference::random_rows<Scalar>(model, rows, columns, 9), columns);
  on_devices<Scalar> resident(of);
  on_devices<Scalar> streamed(of, 2 * 4096 * columns * sizeof(Scalar));
  ASSERT_FALSE(streamed.rows().resident());
  const auto first = predict(resident, of, model);
  const auto again = predict(resident, of, model);
  const auto second = predict(streamed, of, model);
  for (const auto* other : {&again, &second}) {
    EXPECT_EQ(other->labels, first.labels);
    EXPECT_EQ(other->probabilities, first.probabilities);
    EXPECT_EQ(other->log_density, first.log_density);
    EXPECT_EQ(other->score, first.score);
  }
  EXPECT_EQ(shoal::gmm::predict_on_device<Scalar>(resident.rows(), model, {}), first.score);
}

TEST(DevicePredict, GivesTheSameBitsStreamedAndAgain) {
  SHOAL_NEEDS_DEVICES(1);
  check_bits<float>();
  check_bits<double>();
}

}  // namespace
