// The fold of a mixture where arithmetic is hard: far rows, large offsets, empty components, every instruction set.
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/simd_targets.hpp>

#include <hwy/highway.h>

#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>

#include "kernel_checks.hpp"
#include "reference.hpp"

namespace {

using checks::all_types;
using shoal::gmm::covariance_type;

TEST(AccumulateExtremes, DoesFarRowsInDouble) {
  for (const covariance_type type : all_types) {
    const auto model = reference::random_model(type, 3, 5, 1.0, 1);
    const std::size_t rows = 700;
    auto values = reference::random_rows<float>(model, rows, 5, 2);
    for (const std::size_t r : {0, 3, 511, 512, 699}) values[r * 5 + r % 5] = 3000.0F + static_cast<float>(r);
    const shoal::matrix_view<const float> view(values.data(), rows, 5);
    const auto ready = shoal::gmm::prepare<float>(model);
    const auto got = checks::accumulate<float>(ready, view);
    EXPECT_EQ(got.far_rows(), 5.0) << checks::name(type);
    const auto expected = reference::accumulate(model, ready.centres, view);
    // Far rows are most of the log-likelihood and of the second moments: these are as exact as float64.
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-9 * std::abs(expected.log_likelihood()))
        << checks::name(type);
    checks::expect_close(got, expected, 1e-7, checks::name(type));
    checks::expect_same_bits(checks::accumulate<float>(ready, view, nullptr, 512, 2), got, checks::name(type));
  }
}

// The same of wide rows, one of which is as large as float32 allows.
TEST(AccumulateExtremes, DoesFarWideRowsInDouble) {
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    const std::size_t rows = 700, columns = 83;
    const auto model = reference::random_model(type, 3, columns, 0.3, 1);
    auto values = reference::random_rows<float>(model, rows, columns, 2);
    for (const std::size_t r : {0, 3, 127, 128, 511, 512, 699}) values[r * columns + r % columns] = 3000.0F;
    values[600 * columns + 82] = -3e38F;
    const shoal::matrix_view<const float> view(values.data(), rows, columns);
    const auto ready = shoal::gmm::prepare<float>(model);
    const auto got = checks::accumulate<float>(ready, view);
    EXPECT_EQ(got.far_rows(), 8.0) << checks::name(type);
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value));
    const auto expected = reference::accumulate(model, ready.centres, view);
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-9 * std::abs(expected.log_likelihood()));
    checks::expect_close(got, expected, 1e-7, checks::name(type));
    checks::expect_same_bits(checks::accumulate<float>(ready, view, nullptr, 512, 2), got, checks::name(type));
  }
}

TEST(AccumulateExtremes, RowsOfNoWeightMayHaveNoDensity) {
  for (const covariance_type type : all_types) {
    for (const std::size_t components : {1, 3, 20}) {
      for (const std::size_t columns : {5, 86}) {
        SCOPED_TRACE(fmt::format("{} {} {}", checks::name(type), components, columns));
        const checks::weightless_rows of(type, 700, columns, components);
        of.expect(checks::accumulate<double>(shoal::gmm::prepare<double>(of.model), {of.rows.data(), 700, columns},
                                             of.weights.data()));
      }
    }
  }
}

void check_values_near_the_largest_float(covariance_type type, std::size_t columns) {
  auto model = reference::random_model(type, 2, columns, 1.0, 4);
  for (std::size_t j = 0; j < columns; ++j) {
    model.means[j] = -3e38;
    model.means[columns + j] = 3e38;
  }
  for (double& element : model.covariances) element *= 1e74;
  std::vector<float> values;
  for (std::size_t r = 0; r < 60; ++r) {
    for (std::size_t j = 0; j < columns; ++j) {
      values.push_back((r % 2 == 0 ? -1.0F : 1.0F) * (3e38F + 1e36F * static_cast<float>((r * 7 + j * 3) % 11)));
    }
  }
  const shoal::matrix_view<const float> view(values.data(), 60, columns);
  const auto ready = shoal::gmm::prepare<float>(model);
  const auto got = checks::accumulate<float>(ready, view);
  const auto expected = reference::accumulate(model, ready.centres, view);
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-9 * std::abs(expected.log_likelihood()));
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_NEAR(got.weight(k), expected.weight(k), 1e-9) << checks::name(type);
    EXPECT_NEAR(got.second(k, 0, 0), expected.second(k, 0, 0), 1e-9 * expected.second(k, 0, 0)) << checks::name(type);
  }
}

TEST(AccumulateExtremes, SurvivesValuesNearTheLargestFloat) {
  for (const covariance_type type : all_types) check_values_near_the_largest_float(type, 3);
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    check_values_near_the_largest_float(type, 90);
  }
}

template <class Scalar>
void check_empty_component() {
  for (const covariance_type type : all_types) {
    auto model = reference::random_model(type, 3, 4, 1.0, 6);
    model.weights = {0.25, 0.0, 0.75};
    const auto values = reference::random_rows<Scalar>(model, 530, 4, 8);
    const shoal::matrix_view<const Scalar> view(values.data(), 530, 4);
    const auto ready = shoal::gmm::prepare<Scalar>(model);
    const auto got = checks::accumulate<Scalar>(ready, view);
    EXPECT_EQ(got.weight(1), 0.0);
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value));
    checks::expect_close(got, reference::accumulate(model, ready.centres, view), checks::kernel_tolerance<Scalar>,
                         checks::name(type));
  }
}

TEST(AccumulateExtremes, GivesNothingToAComponentOfWeightZero) {
  check_empty_component<float>();
  check_empty_component<double>();
}

// Columns of different widths, so that a factor's rows differ by orders of magnitude.
TEST(AccumulateExtremes, SurvivesColumnsOfVeryDifferentScale) {
  auto model = reference::random_model(covariance_type::full, 3, 20, 2.0, 31);
  auto values = reference::random_rows<float>(model, 600, 20, 32);
  const auto scale = [](std::size_t j) { return std::ldexp(1.0, static_cast<int>(j % 7) * 5 - 15); };
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 20; ++i) {
      model.means[k * 20 + i] *= scale(i);
      for (std::size_t j = 0; j < 20; ++j) model.covariances[(k * 20 + i) * 20 + j] *= scale(i) * scale(j);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(scale(i % 20));
  const shoal::matrix_view<const float> view(values.data(), 600, 20);
  const auto ready = shoal::gmm::prepare<float>(model);
  const auto got = checks::accumulate<float>(ready, view);
  const auto expected = reference::accumulate(model, ready.centres, view);
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-6 * std::abs(expected.log_likelihood()));
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t j = 0; j < 20; ++j) {
      EXPECT_NEAR(got.second(k, j, j), expected.second(k, j, j), 1e-5 * 600 * scale(j) * scale(j)) << j;
    }
  }
}

// Wide float32 rows at offset 10⁴: the statistics of the same values in float64.
TEST(AccumulateExtremes, KeepsTheDigitsOfWideRowsFarFromTheOrigin) {
  for (const covariance_type type : {covariance_type::diag, covariance_type::spherical}) {
    for (const double spread : {0.05, 0.7, 3.0}) {
      auto model = reference::random_model(type, 5, 99, spread, 61);
      for (double& mean : model.means) mean += 1e4;
      const auto values = reference::random_rows<float>(model, 300, 99, 62);
      const shoal::matrix_view<const float> view(values.data(), 300, 99);
      const auto ready = shoal::gmm::prepare<float>(model);
      checks::expect_close(checks::accumulate<float>(ready, view), reference::accumulate(model, ready.centres, view),
                           checks::kernel_tolerance<float>, fmt::format("{}, spread {}", checks::name(type), spread));
    }
  }
}

// float32 data at offset 10⁶ with unit spread, several iterations: the model of the same values in float64.
TEST(AccumulateExtremes, KeepsItsDigitsFarFromTheOrigin) {
  for (const covariance_type type : all_types) {
    auto start = reference::random_model(type, 2, 3, 1.0, 41);
    for (double& mean : start.means) mean += 1e6;
    const auto values = reference::random_rows<float>(start, 2000, 3, 42);
    const std::vector<double> wide(values.begin(), values.end());
    auto in_float = start;
    auto in_double = start;
    for (int iteration = 0; iteration < 8; ++iteration) {
      const auto narrow_ready = shoal::gmm::prepare<float>(in_float);
      const auto wide_ready = shoal::gmm::prepare<double>(in_double);
      shoal::gmm::maximise(checks::accumulate<float>(narrow_ready, {values.data(), 2000, 3}), narrow_ready.centres,
                           1e-6, in_float);
      shoal::gmm::maximise(checks::accumulate<double>(wide_ready, {wide.data(), 2000, 3}), wide_ready.centres, 1e-6,
                           in_double);
    }
    double largest = 0;
    for (const double element : in_double.covariances) largest = std::max(largest, std::abs(element));
    for (std::size_t i = 0; i < in_double.covariances.size(); ++i) {
      EXPECT_NEAR(in_float.covariances[i], in_double.covariances[i], 1e-4 * largest) << checks::name(type);
    }
    for (std::size_t i = 0; i < in_double.means.size(); ++i) {
      EXPECT_NEAR(in_float.means[i], in_double.means[i], 1e-4) << checks::name(type);
    }
  }
}

template <class Scalar>
void check_target(const std::string& target) {
  for (const covariance_type type : all_types) {
    for (const std::size_t columns : {1, 5, 19, 34, 83}) {
      const bool matrices = type == covariance_type::full || type == covariance_type::tied;
      if (columns == 83 && matrices) continue;  // wide rows are those without matrices
      for (const double spread : {0.5, 4.0}) {
        const auto model = reference::random_model(type, 4, columns, spread, 51);
        const std::size_t rows = 700;
        auto values = reference::random_rows<Scalar>(model, rows, columns, 52);
        values[17 * columns] = 1e4;
        const shoal::matrix_view<const Scalar> view(values.data(), rows, columns);
        const auto ready = shoal::gmm::prepare<Scalar>(model);
        const std::string what = fmt::format("{} on {}, {} columns", checks::name(type), target, columns);
        const auto got = checks::accumulate<Scalar>(ready, view);
        checks::expect_close(got, reference::accumulate(model, ready.centres, view), checks::kernel_tolerance<Scalar>,
                             what);
        checks::expect_same_bits(checks::accumulate<Scalar>(ready, view, nullptr, 512, 2), got, what);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(AccumulateExtremes, AgreesOnEveryInstructionSetOfThisMachine) {
  const std::int64_t supported = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  int tested = 0;
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((supported & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    EXPECT_STREQ(shoal::gmm::instruction_set(), hwy::TargetName(target));
    check_target<float>(hwy::TargetName(target));
    check_target<double>(hwy::TargetName(target));
    ++tested;
    if (HasFatalFailure()) break;
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_GE(tested, 1);
}

}  // namespace
