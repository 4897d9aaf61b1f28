// A mixture made ready for its kernels: factors, log-constants and centres of all components.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm {

/// What the kernels read, in the arithmetic that they use. For a row x and a component k, y = Uₖᵀ(x − cₖ) + bₖ and
/// ln πₖ N(x; μₖ, Σₖ) = log_constantₖ + log_shift − ‖y‖²/2, where UₖUₖᵀ is the precision.
template <class Arithmetic>
struct packed_components {
  aligned_buffer<Arithmetic> centres;  ///< [K][d]
  aligned_buffer<Arithmetic> offsets;  ///< [K][padded d] bₖ = −Uₖᵀ(μₖ − cₖ); zero beyond d
  /// full [K], tied [1]: the upper triangle of U in tiles of factor_tile columns, for each tile all rows down to its
  /// diagonal, for each row factor_tile elements (zero beyond d). diag and spherical: [K][padded d] 1/σ.
  aligned_buffer<Arithmetic> factors;
  aligned_buffer<Arithmetic> log_constants;  ///< [K] ln πₖ + Σ ln diag Uₖ − log_shift; −∞ for an empty component
  double log_shift = 0;                      ///< their greatest value and the −d/2 ln 2π that they share

  std::size_t padded_columns = 0;  ///< d rounded up to factor_tile
  std::size_t factor_stride = 0;   ///< elements of `factors` between components; 0 when they share one
};

/// Elements of one packed triangle of `columns` columns.
std::size_t packed_factor_size(std::size_t columns);

/// A mixture made ready. The centres are the means rounded to the data's scalar, so that x − c is as exact in float32
/// as it can be and the rest of the mean goes into b (design: centre before you square).
template <class Scalar>
struct parameters {
  gmm::covariance_type covariance_type = gmm::covariance_type::full;
  std::size_t components = 0;
  std::size_t columns = 0;
  std::vector<double> centres;          ///< [K][d], exact values of Scalar: what the statistics are about
  packed_components<Scalar> packed;     ///< for all rows
  packed_components<double> in_double;  ///< about the same centres, for rows far away; empty when Scalar is double

  bool has_matrices() const {
    return covariance_type == gmm::covariance_type::full || covariance_type == gmm::covariance_type::tied;
  }
};

/// Factorises every covariance, on `workers` when given. Throws numerical_error naming the first component whose
/// covariance is not positive definite or not finite, or whose mean is beyond the range of Scalar. The model must have
/// passed validate_model or come from maximise().
template <class Scalar>
parameters<Scalar> prepare(const model& model, executor* workers = nullptr);
extern template parameters<float> prepare(const model&, executor*);
extern template parameters<double> prepare(const model&, executor*);

/// The same about `centres` [K][d] rounded to Scalar, so that statistics of several models can be combined. Refuses
/// centres instead of means.
template <class Scalar>
parameters<Scalar> prepare_about(const model& model, std::span<const double> centres, executor* workers = nullptr);
extern template parameters<float> prepare_about(const model&, std::span<const double>, executor*);
extern template parameters<double> prepare_about(const model&, std::span<const double>, executor*);

/// Parameters that only say what statistics are about, for responsibilities that are given: `centres` [K][d] rounded to
/// Scalar, without factors.
template <class Scalar>
parameters<Scalar> prepare_centres(covariance_type type, std::size_t components, std::size_t columns,
                                   const double* centres);
extern template parameters<float> prepare_centres(covariance_type, std::size_t, std::size_t, const double*);
extern template parameters<double> prepare_centres(covariance_type, std::size_t, std::size_t, const double*);

}  // namespace shoal::gmm
