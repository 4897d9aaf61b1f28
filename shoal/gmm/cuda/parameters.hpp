// A mixture in the memory of one GPU as its kernels read it.
#pragma once

namespace shoal::gmm {

/// ln(2π)/2, of which each column has one in log_shift.
inline constexpr double half_log_two_pi = 0.91893853320467274178;

/// One mixture in the memory of one GPU, in one arithmetic. For a row x and a component k, y = Uₖᵀ(x − cₖ) + bₖ and
/// ln πₖ N(x; μₖ, Σₖ) = log_constantₖ + log_shift − ‖y‖²/2, where UₖUₖᵀ is the precision (parameters.hpp).
template <class Arithmetic>
struct prepared_components {
  const Arithmetic* centres = nullptr;        ///< [K][d]
  const Arithmetic* offsets = nullptr;        ///< [K][d] bₖ = −Uₖᵀ(μₖ − cₖ)
  const Arithmetic* factors = nullptr;        ///< full [K][d][d], tied [d][d]: U row-major, zero below its diagonal;
                                              ///< diag and spherical [K][d]: 1/σ
  const Arithmetic* log_constants = nullptr;  ///< [K] ln πₖ + Σ ln diag Uₖ − log_shift; −∞ for an empty component
  const double* log_shift = nullptr;          ///< one value
};

/// A mixture ready for the kernels of one GPU.
template <class Scalar>
struct prepared_parameters {
  prepared_components<Scalar> packed;     ///< for all rows
  prepared_components<double> in_double;  ///< about the same centres, for float32's far rows; the same for double
  const int* stopped = nullptr;           ///< when *stopped is not zero, kernels return at once and change nothing
};

}  // namespace shoal::gmm
