// The statistics that a GPU sums, against those of plain float64 loops.
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/parameters.hpp>

#include "../checks.hpp"

namespace {

using checks::all_types;
using device_checks::on_devices;
using device_checks::problem;
using shoal::gmm::covariance_type;

struct shape {
  std::size_t rows, columns, components;
};

// Every number of rows meets every number of columns, with as many components as keep the reference quick; and some
// that are larger than what a block holds.
std::vector<shape> shapes() {
  constexpr std::size_t most_products = 3'000'000;
  constexpr std::size_t components[] = {1, 2, 10, 65};
  std::vector<shape> result{{257, 130, 2}, {61, 200, 2}, {4097, 8, 65}};
  std::size_t turn = 0;
  for (const std::size_t rows : {1, 31, 32, 33, 127, 4095, 4096, 4097, 8209}) {
    for (const std::size_t columns : {1, 2, 3, 8, 17, 33, 64}) {
      std::size_t K = components[turn++ % 4];
      if (rows * columns * columns * K > most_products) K = 1;
      result.push_back({rows, columns, K});
    }
  }
  return result;
}

template <class Scalar>
void check_shapes(bool weighted, double spread, double tolerance) {
  for (const covariance_type type : all_types) {
    for (const shape& s : shapes()) {
      const auto model = reference::random_model(type, s.components, s.columns, spread, 3);
      problem<Scalar> of(reference::random_rows<Scalar>(model, s.rows, s.columns, 4), s.columns,
                         weighted ? device_checks::some_weights<Scalar>(s.rows) : std::vector<Scalar>());
      on_devices<Scalar> devices(of);
      const auto got = devices.sums(model, shoal::gmm::plain::make_accumulator<Scalar>);
      const auto weights = of.scaled_weights();
      const auto expected = reference::accumulate<Scalar>(model, shoal::gmm::prepare<Scalar>(model).centres, of.rows(),
                                                          weighted ? weights.data() : nullptr);
      checks::expect_close(got, expected, tolerance,
                           fmt::format("{} {} {}x{} K={}", device_checks::name<Scalar>(), checks::name(type), s.rows,
                                       s.columns, s.components));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(DeviceAccumulate, AgreesWithPlainLoops) {
  SHOAL_NEEDS_DEVICES(1);
  check_shapes<float>(false, 1.5, checks::kernel_tolerance<float>);
  check_shapes<double>(false, 1.5, checks::kernel_tolerance<double>);
}

TEST(DeviceAccumulate, AgreesWithPlainLoopsUnderWeights) {
  SHOAL_NEEDS_DEVICES(1);
  check_shapes<float>(true, 3.0, checks::kernel_tolerance<float>);
  check_shapes<double>(true, 3.0, checks::kernel_tolerance<double>);
}

TEST(DeviceAccumulate, DoesFarRowsInDouble) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    const auto model = reference::random_model(type, 3, 5, 1.0, 1);
    const std::size_t rows = 700;
    auto values = reference::random_rows<float>(model, rows, 5, 2);
    for (const std::size_t r : {0, 3, 511, 512, 699}) values[r * 5 + r % 5] = 3000.0F + static_cast<float>(r);
    problem<float> of(values, 5);
    on_devices<float> devices(of);
    const auto got = devices.sums(model, shoal::gmm::make_accumulator<float>);
    EXPECT_EQ(got.far_rows(), 5.0) << checks::name(type);
    const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows());
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-9 * std::abs(expected.log_likelihood()))
        << checks::name(type);
    checks::expect_close(checks::with_traces(got), checks::with_traces(expected), 1e-7, checks::name(type));
  }
}

TEST(DeviceAccumulate, RowsOfNoWeightMayHaveNoDensity) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    SCOPED_TRACE(checks::name(type));
    const checks::weightless_rows rows(type, 700, 5, 3);
    const problem<double> of(rows.rows, 5, rows.weights);
    on_devices<double> devices(of);
    rows.expect(devices.sums(rows.model, shoal::gmm::plain::make_accumulator<double>));
  }
}

TEST(DeviceAccumulate, GivesNothingToAComponentOfWeightZero) {
  SHOAL_NEEDS_DEVICES(1);
  for (const covariance_type type : all_types) {
    auto model = reference::random_model(type, 3, 4, 1.0, 6);
    model.weights = {0.25, 0.0, 0.75};
    problem<float> of(reference::random_rows<float>(model, 530, 4, 8), 4);
    on_devices<float> devices(of);
    const auto got = devices.sums(model, shoal::gmm::make_accumulator<float>);
    EXPECT_EQ(got.weight(1), 0.0);
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value));
    const auto expected = reference::accumulate<float>(model, shoal::gmm::prepare<float>(model).centres, of.rows());
    checks::expect_close(checks::with_traces(got), checks::with_traces(expected), checks::kernel_tolerance<float>,
                         checks::name(type));
  }
}

// Neither the cut into pieces nor a second run changes a bit.
template <class Scalar>
void check_bits() {
  for (const covariance_type type : all_types) {
    const std::size_t rows = 3 * 4096 + 1234, columns = 7;
    const auto model = reference::random_model(type, 5, columns, 2.0, 21);
    problem<Scalar> of(reference::random_rows<Scalar>(model, rows, columns, 22), columns,
                       device_checks::some_weights<Scalar>(rows));
    on_devices<Scalar> resident(of);
    on_devices<Scalar> streamed(of, 2 * 4096 * (columns + 1) * sizeof(Scalar));
    ASSERT_TRUE(resident.rows().resident());
    ASSERT_FALSE(streamed.rows().resident());
    const auto first = resident.sums(model, shoal::gmm::make_accumulator<Scalar>);
    checks::expect_same_bits(resident.sums(model, shoal::gmm::make_accumulator<Scalar>), first, "again");
    checks::expect_same_bits(streamed.sums(model, shoal::gmm::make_accumulator<Scalar>), first, "streamed");
  }
}

TEST(DeviceAccumulate, GivesTheSameBitsStreamedAndAgain) {
  SHOAL_NEEDS_DEVICES(1);
  check_bits<float>();
  check_bits<double>();
}

}  // namespace
