// What the tests of products that take turns with another room share: float32 rows without weights, and the cases that
// all of them must pass. `make` is what is tested, alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/execution/precision.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/statistics.hpp>

#include "../../kernel_checks.hpp"
#include "checks.hpp"

namespace checks {

using maker = make_accumulator<float>;

// As if the GPU had one multiprocessor, so that blocks have several groups.
template <maker Make>
std::unique_ptr<shoal::gmm::accumulator<float>> for_one(const shoal::gmm::accumulator_shape& shape) {
  shoal::gmm::accumulator_shape small = shape;
  small.multiprocessors = 1;
  return Make(small);
}

// In eleven bits.
template <maker Make, shoal::precision Precision = shoal::precision::bf16>
std::unique_ptr<shoal::gmm::accumulator<float>> coarse(const shoal::gmm::accumulator_shape& shape) {
  shoal::gmm::accumulator_shape less = shape;
  less.precision = Precision;
  return Make(less);
}
template <maker Make>
std::unique_ptr<shoal::gmm::accumulator<float>> coarse_for_one(const shoal::gmm::accumulator_shape& shape) {
  return coarse<for_one<Make>, shoal::precision::tf32>(shape);
}

// A random mixture.
struct mixture_shape {
  covariance_type type;
  std::size_t columns;
  std::size_t components;
  double spread = 0.8;

  shoal::gmm::model made(unsigned seed) const { return rounded_model(type, components, columns, spread, seed); }
  std::string text() const { return fmt::format("{}, {} columns, {} components", name(type), columns, components); }
};

struct unweighted : on_device<float> {
  unweighted(const shoal::gmm::model& model, const std::vector<float>& rows, maker make)
      : on_device<float>(model, rows, {}, make) {}
};

inline void expect_sums(const shoal::gmm::statistics& got, const shoal::gmm::model& model,
                        const std::vector<float>& rows, double tolerance, const std::string& what) {
  expect_close(comparable(got), comparable(expected_sums<float>(model, rows, {})), tolerance, what);
}

// docs/tolerances.md: 1e-3 for sums, 0.1 for a row's log-density.
inline void check_coarse(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components,
                         double spread, maker make) {
  const auto model = rounded_model(type, components, columns, spread, 5);
  const auto data = reference::random_rows<float>(model, rows, columns, 6);
  const std::string what =
      fmt::format("{}, {} rows, {} columns, {} components, spread {}", name(type), rows, columns, components, spread);
  unweighted device(model, data, make);
  const shoal::gmm::statistics got = device.sums();
  expect_sums(got, model, data, 1e-3, what);
  EXPECT_EQ(got.far_rows(), 0) << what;
  expect_same_bits(device.sums(), got, what + ", again");
  if (rows > 4096) expect_same_bits(device.sums(4096), got, what + ", in pieces");
  for (std::size_t r = 0; r < std::min<std::size_t>(rows, 5); ++r) {
    const std::vector<float> one(&data[r * columns], &data[r * columns] + columns);
    unweighted single(model, one, make);
    EXPECT_NEAR(single.sums().log_likelihood(), expected_sums<float>(model, one, {}).log_likelihood(), 0.1)
        << what << ", row " << r;
  }
}

// Densities so small that their plain sum would vanish, but not so far as to need float64.
inline void check_small_densities(const mixture_shape& shape, maker make) {
  const auto model = shape.made(17);
  for (const double stretch : {3.0, 6.0, 9.0}) {
    auto data = reference::random_rows<float>(model, 6000, shape.columns, 18);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (i / shape.columns % 7 == 3) data[i] = static_cast<float>(static_cast<double>(data[i]) * stretch);
    }
    unweighted device(model, data, make);
    expect_sums(device.sums(), model, data, kernel_tolerance<float>,
                fmt::format("{}, stretched {} times", shape.text(), stretch));
  }
}

inline void check_beyond_float(const mixture_shape& shape, maker make) {
  const std::size_t columns = shape.columns;
  const auto model = shape.made(3);
  auto data = reference::random_rows<float>(model, 1001, columns, 4);
  for (std::size_t j = 0; j < columns; ++j) data[500 * columns + j] = 3e38F;
  data[777 * columns + 2] = -2e19F;
  data[1000 * columns + 1] = 1e30F;
  unweighted device(model, data, make);
  const shoal::gmm::statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), 3) << shape.text();
  for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value)) << shape.text();
}

inline void check_empty_component(const mixture_shape& shape, maker make) {
  auto model = shape.made(11);
  model.weights[2] = 0;
  const auto data = reference::random_rows<float>(model, 2000, shape.columns, 12);
  unweighted device(model, data, make);
  const shoal::gmm::statistics got = device.sums();
  EXPECT_EQ(got.weight(2), 0);
  for (std::size_t j = 0; j < shape.columns; ++j) EXPECT_EQ(got.first(2, j), 0);
  expect_sums(got, model, data, kernel_tolerance<float>, "an empty component, " + shape.text());
}

inline void check_far_from_origin(const mixture_shape& shape, maker make) {
  auto model = shape.made(21);
  for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean + 1e4));
  const auto data = reference::random_rows<float>(model, 10000, shape.columns, 22);
  unweighted device(model, data, make);
  expect_sums(device.sums(), model, data, 1e-6, "offset 1e4, " + shape.text());
}

// `make` with another room beside what is tested.
inline void check_stopped(const mixture_shape& shape, maker make) {
  const auto model = shape.made(31);
  const auto data = reference::random_rows<float>(model, 500, shape.columns, 32);
  unweighted device(model, data, make);
  expect_nothing_once_stopped(device);
}

}  // namespace checks
