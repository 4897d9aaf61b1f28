// The kernels that turn a tied mixture into a spherical one, and the latter's sums into those of the former.
//
// Under a tied mixture, with z = x − m, ln πₖ N(x; μₖ, Σ) = constantₖ + aₖ·z − zᵀPz/2, where P = Σ⁻¹ = UUᵀ and aₖ =
// P(μₖ − m). What a row's components have in common does not count for responsibilities: instead of zᵀPz any other
// square does. With Σ (zⱼ/sⱼ)² they are those of components that have variances s² and means m + s²aₖ. The second
// moments are Σ z zᵀ of all rows, which no model changes, less what the components' centres account for; it tells the
// difference between both squares too, which log-likelihoods lack.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/mixture.hpp>

namespace shoal::gmm::tied {

/// Sums of rows that no model changes, about their own centre.
struct learnt_rows {
  const double* centre = nullptr;  ///< [columns]; null: nothing is known of the rows
  const double* first = nullptr;   ///< [columns] Σ (x − centre)
  const double* second = nullptr;  ///< the upper triangle of Σ (x − centre)(x − centre)ᵀ, row by row
  const double* weight = nullptr;  ///< how many there are
};

/// The spherical mixture, whose columns have deviations of their own, as prepared_components have it.
struct spherical_mixture {
  double* centres = nullptr;         ///< [K][d]
  double* offsets = nullptr;         ///< [K][d] zero, or what float32 centres lack of the means, times −1/s
  double* factors = nullptr;         ///< [K][d] 1/s, the same powers of two for each component
  double* log_constants = nullptr;   ///< [K]
  component_arrays<float> in_float;  ///< the same about centres that float32 has; null where nobody asks for it
  double* origin = nullptr;          ///< [d] m
  double* norms = nullptr;           ///< [d] Σ (zⱼ/sⱼ)² of a row in the mean
  int* own_stopped = nullptr;        ///< not zero: its kernels leave the rows alone
  int* other_stopped = nullptr;      ///< not zero: the others do
};

/// Writes the mixture and who works.
void pack(const kernel_layout& layout, const prepared_components<double>& in, const learnt_rows& rows,
          const spherical_mixture& mixture, const int* stopped, cudaStream_t stream);

/// Told to the kernel that finds out at the end of a pass: where there is a condition it is set for the others' turn.
struct others_turn {
  bool has_condition = false;
  cudaGraphConditionalHandle condition{};
};

/// Room to work; zeros before the first use.
struct leaving_memory {
  double* scores = nullptr;  ///< what log-likelihoods lack, in parts
  double* parts = nullptr;   ///< of squares of the triangle, by some components each
  unsigned* came = nullptr;  ///< blocks that are done
};
struct leaving_sizes {
  std::size_t scores, parts, came;
};
leaving_sizes sizes_of_leaving(const kernel_layout& layout);

/// Writes `statistics` of the tied mixture from `sums` of the spherical one. Where its kernels left the rows alone,
/// nothing, but sets the condition of `turn` if others have them.
void leave(const kernel_layout& layout, const prepared_components<double>& in, const learnt_rows& rows,
           const spherical_mixture& mixture, const kernel_layout& sums_layout, const double* sums,
           const leaving_memory& memory, const others_turn& turn, double* statistics, cudaStream_t stream);

/// The mean of the first rows: near enough to the others for sums in float64, whatever rows follow.
template <class Scalar>
void place_centre(const Scalar* rows, std::size_t count, unsigned columns, double* centre, cudaStream_t stream);

}  // namespace shoal::gmm::tied
