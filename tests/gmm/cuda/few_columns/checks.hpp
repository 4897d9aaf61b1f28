// What the tests of the kernels for few columns share: a mixture and rows on a GPU, and what their sums should be.
#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include <shoal/gmm/cuda/few_columns/few_columns.hpp>

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

}  // namespace checks
