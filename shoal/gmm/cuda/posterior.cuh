// The expectation of one row by one thread, written for clarity: what the plain accumulator and predictions share.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// ‖y‖² of a row under component k.
template <class Arithmetic, class Scalar>
__device__ Arithmetic squared_norm(const prepared_components<Arithmetic>& components, const kernel_layout& layout,
                                   unsigned k, const Scalar* row) {
  const unsigned d = layout.columns;
  const Arithmetic* const centre = components.centres + std::size_t{k} * d;
  const Arithmetic* const offset = components.offsets + std::size_t{k} * d;
  const bool matrices = layout.type == covariance_type::full || layout.type == covariance_type::tied;
  Arithmetic norm = 0;
  if (matrices) {
    const Arithmetic* const factor =
        components.factors + (layout.type == covariance_type::full ? std::size_t{k} * d * d : 0);
    for (unsigned j = 0; j < d; ++j) {
      Arithmetic y = offset[j];
      for (unsigned i = 0; i <= j; ++i)
        y += (static_cast<Arithmetic>(row[i]) - centre[i]) * factor[std::size_t{i} * d + j];
      norm += y * y;
    }
  } else {
    const Arithmetic* const factor = components.factors + std::size_t{k} * d;
    for (unsigned j = 0; j < d; ++j) {
      const Arithmetic y = (static_cast<Arithmetic>(row[j]) - centre[j]) * factor[j] + offset[j];
      norm += y * y;
    }
  }
  return norm;
}

// What a row's posterior has beside its terms.
struct row_posterior {
  double log_density = 0;
  double sum = 0;    // of the terms
  bool far = false;  // the arithmetic was too coarse
};

// The posterior in one arithmetic: terms[k · stride] = exp(ln pₖ − their greatest), zero below exp(−cut).
template <class Arithmetic, class Scalar>
__device__ row_posterior posterior_in(const prepared_components<Arithmetic>& components, const kernel_layout& layout,
                                      const Scalar* row, double cut, double* terms, std::size_t stride) {
  Arithmetic greatest = -static_cast<Arithmetic>(infinity);
  Arithmetic best = static_cast<Arithmetic>(infinity);
  for (unsigned k = 0; k < layout.components; ++k) {
    const Arithmetic norm = squared_norm(components, layout, k, row);
    const Arithmetic log_p = components.log_constants[k] - norm / 2;
    // A comparison, not a maximum: it leaves out a ‖y‖² that overflowed to NaN.
    if (log_p > greatest) {
      greatest = log_p;
      best = norm;
    }
    terms[k * stride] = static_cast<double>(log_p);
  }
  Arithmetic sum = 0;
  for (unsigned k = 0; k < layout.components; ++k) {
    const Arithmetic ratio = static_cast<Arithmetic>(terms[k * stride]) - greatest;
    const Arithmetic term = ratio >= -static_cast<Arithmetic>(cut) ? exp(ratio) : Arithmetic{0};
    terms[k * stride] = static_cast<double>(term);
    sum += term;
  }
  row_posterior result;
  result.log_density = static_cast<double>(greatest) + static_cast<double>(log(sum)) + *components.log_shift;
  result.sum = static_cast<double>(sum);
  result.far = !(best <= static_cast<Arithmetic>(far_norm));  // so that a NaN is far
  return result;
}

// The posterior of a row, in float64 when the data's scalar is too coarse; `far` says so. The cuts are for either
// arithmetic.
template <class Scalar>
__device__ row_posterior posterior(const prepared_parameters<Scalar>& parameters, const kernel_layout& layout,
                                   const Scalar* row, double cut, double cut_in_double, double* terms,
                                   std::size_t stride) {
  row_posterior result = posterior_in(parameters.packed, layout, row, cut, terms, stride);
  if constexpr (sizeof(Scalar) == 8) {
    result.far = false;
  } else if (result.far) {
    result = posterior_in(parameters.in_double, layout, row, cut_in_double, terms, stride);
    result.far = true;
  }
  return result;
}

}  // namespace shoal::gmm
