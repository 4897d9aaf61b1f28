// What the tests of the kernels for few columns share: a mixture and rows on a GPU, and what their sums should be.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/fit.hpp>

#include "../../../cuda_devices.hpp"
#include "../../kernel_checks.hpp"
#include "../mixture.hpp"

namespace checks {

template <class Scalar>
shoal::matrix_view<const Scalar> view(const std::vector<Scalar>& rows, std::size_t columns) {
  return {rows.data(), rows.size() / columns, columns};
}

// Means that float32 holds exactly, so that both arithmetics have the same centres.
inline shoal::gmm::model rounded_model(covariance_type type, std::size_t components, std::size_t columns, double spread,
                                       unsigned seed) {
  shoal::gmm::model model = reference::random_model(type, components, columns, spread, seed);
  for (double& mean : model.means) mean = static_cast<double>(static_cast<float>(mean));
  return model;
}

// The sums in float64: the plain reference for few rows, the CPU's kernel (held to it by its own tests) for many.
template <class Scalar>
shoal::gmm::statistics expected_sums(const shoal::gmm::model& model, const std::vector<Scalar>& rows,
                                     const std::vector<Scalar>& weights) {
  const std::vector<double> wide(rows.begin(), rows.end());
  const std::vector<double> wide_weights(weights.begin(), weights.end());
  const double* const given = weights.empty() ? nullptr : wide_weights.data();
  if (rows.size() / model.columns * model.components <= 5000) {
    return reference::accumulate<double>(model, model.means, view(wide, model.columns), given);
  }
  const auto components = shoal::gmm::prepare<double>(model);
  return accumulate<double>(components, view(wide, model.columns), given);
}

template <class Scalar>
using make_accumulator = std::unique_ptr<shoal::gmm::accumulator<Scalar>> (*)(const shoal::gmm::accumulator_shape&);

template <class Scalar>
struct on_device {
  on_device(const shoal::gmm::model& model, const std::vector<Scalar>& rows, const std::vector<Scalar>& weights,
            make_accumulator<Scalar> make = shoal::gmm::few_columns::make_accumulator<Scalar>)
      : layout(model.covariance_type, model.components, model.columns),
        count(rows.size() / model.columns),
        mixture(shoal::gmm::prepare<Scalar>(model), stream),
        accumulator(make(shape_of(layout, count, !weights.empty()))) {
    device_rows.upload(rows, stream);
    if (!weights.empty()) device_weights.upload(weights, stream);
    stream.synchronize();
  }

  shoal::gmm::statistics sums(std::size_t piece = std::size_t{1} << 30) {
    return accumulate_on_device<Scalar>(*accumulator, mixture.view(), layout, count, device_rows.data(),
                                        device_weights.size() == 0 ? nullptr : device_weights.data(), piece, stream);
  }

  shoal::cuda::stream stream;
  shoal::gmm::statistics_layout layout;
  std::size_t count;
  device_mixture<Scalar> mixture;
  std::unique_ptr<shoal::gmm::accumulator<Scalar>> accumulator;
  shoal::cuda::device_buffer<Scalar> device_rows, device_weights;
};

template <class Scalar>
std::vector<Scalar> random_weights(std::size_t rows, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(0, 2);
  std::vector<Scalar> weights;
  for (std::size_t i = 0; i < rows; ++i)
    weights.push_back(i % 11 == 3 ? Scalar{0} : static_cast<Scalar>(uniform(engine)));
  return weights;
}

// Sums of rows without weights by what `make` makes, against float64, again and in pieces.
inline void check_sums(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components,
                       double spread, make_accumulator<float> make) {
  const auto seed = static_cast<unsigned>(rows + 17 * columns + 1001 * components);
  const auto model = rounded_model(type, components, columns, spread, seed);
  const auto data = reference::random_rows<float>(model, rows, columns, seed + 1);
  const std::string what = fmt::format("{}, {} rows, {} columns, {} components", name(type), rows, columns, components);
  on_device<float> device(model, data, {}, make);
  const shoal::gmm::statistics got = device.sums();
  expect_close(comparable(got), comparable(expected_sums<float>(model, data, {})), kernel_tolerance<float>, what);
  EXPECT_EQ(got.far_rows(), 0) << what;
  expect_same_bits(device.sums(), got, what + ", again");
  for (const std::size_t piece : {4096, 12288}) {
    if (rows > piece) expect_same_bits(device.sums(piece), got, fmt::format("{}, in pieces of {}", what, piece));
  }
}

// The same where every so many rows are far.
inline void check_far_rows(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components,
                           std::size_t every, make_accumulator<float> make) {
  const auto model = rounded_model(type, components, columns, 0.8, 7);
  auto data = reference::random_rows<float>(model, rows, columns, 8);
  std::size_t planted = 0;
  for (std::size_t r = 0; r < rows; r += every) {
    const double distance = r / every % 3 == 0 ? 1e2 : (r / every % 3 == 1 ? 1e6 : 3e12);
    data[r * columns + r % columns] = static_cast<float>(distance);
    ++planted;
  }
  const std::string what = fmt::format("{}, {} rows, {} columns, {} components, every {}th far", name(type), rows,
                                       columns, components, every);
  on_device<float> device(model, data, {}, make);
  const shoal::gmm::statistics got = device.sums();
  EXPECT_EQ(got.far_rows(), static_cast<double>(planted)) << what;
  expect_close(comparable(got), comparable(expected_sums<float>(model, data, {})),
               every == 1 ? kernel_tolerance<double> : kernel_tolerance<float>, what);
  expect_same_bits(device.sums(), got, what + ", again");
  if (rows > 4096) expect_same_bits(device.sums(4096), got, what + ", in pieces");
}

// Kernels of a step that has stopped write nothing.
template <class Scalar>
void expect_nothing_once_stopped(on_device<Scalar>& device) {
  device.mixture.set_stopped(1, device.stream);
  shoal::cuda::device_buffer<double> sums(device.layout.size());
  sums.upload(std::vector<double>(device.layout.size(), 42.0), device.stream);
  device.accumulator->clear(device.mixture.view(), device.stream);
  device.accumulator->add({device.device_rows.data(), nullptr, 0, 0, device.count}, device.mixture.view(),
                          device.stream);
  device.accumulator->merge(sums.data(), device.mixture.view(), device.stream);
  for (const double value : sums.download(device.layout.size(), device.stream)) EXPECT_EQ(value, 42.0);
}

// Through the door, with rows far from the origin: fits in float32 and in float64 have the same likelihoods.
inline void expect_fit_as_in_float64(covariance_type type, std::size_t components, std::size_t columns,
                                     std::size_t count, double apart,
                                     shoal::precision precision = shoal::precision::float32,
                                     double in_eleven_bits = 1e-3) {
  auto rows = reference::random_rows<float>(rounded_model(type, components, columns, apart, 5), count, columns, 6);
  for (float& value : rows) value += 1e4F;
  const std::vector<double> doubles(rows.begin(), rows.end());
  const shoal::view_source<float> in_float({rows.data(), count, columns});
  const shoal::view_source<double> in_double({doubles.data(), count, columns});
  shoal::gmm::options options;
  options.components = components;
  options.covariance_type = type;
  options.init = shoal::gmm::initialization::random_rows;
  options.max_iterations = 12;
  options.tolerance = 0;
  options.seed = 5;
  options.device = {cuda_devices::first(1)};
  const auto wide = shoal::gmm::fit(in_double, options);
  options.device.precision = precision;
  const auto narrow = shoal::gmm::fit(in_float, options);
  ASSERT_EQ(narrow.history.size(), wide.history.size());
  const double tolerance = precision == shoal::precision::float32 ? 1e-5 : in_eleven_bits;
  for (std::size_t i = 0; i < wide.history.size(); ++i) {
    EXPECT_NEAR(narrow.history[i], wide.history[i], tolerance * std::abs(wide.history[i])) << "iteration " << i;
  }
}

}  // namespace checks
