// One stage of a Runge–Kutta step with fourth-order differences.
#pragma once

#include <cstddef>

namespace shoal::reaction_diffusion {

/// Coefficients of a stage, in the scalar of the nodes.
template <class Scalar>
struct stage_coefficients {
  Scalar a, epsilon, gamma;
  Scalar weight;           ///< D / (12·Δx²)
  Scalar recovery_weight;  ///< E / (12·Δx²)
  Scalar reach;            ///< the next stage lies this time after the step's begin
  Scalar share;            ///< of this stage's rates in the step, times the step
};

/// v and w of the step's begin, of the stage and of the next one, and the sums that become the step's end.
template <class Scalar>
struct stage_arrays {
  const Scalar* begin_v;
  const Scalar* begin_w;
  const Scalar* v;  ///< two more nodes on either side are read,
  const Scalar* w;  ///< and of these where the recovery spreads
  Scalar* next_v;
  Scalar* next_w;
  Scalar* sum_v;
  Scalar* sum_w;
};

/// For nodes [first, end): next ← begin + reach·rate and sum ← sum + share·rate.
void step_stage(const stage_arrays<double>& nodes, const stage_coefficients<double>& by, std::size_t first,
                std::size_t end);
void step_stage(const stage_arrays<float>& nodes, const stage_coefficients<float>& by, std::size_t first,
                std::size_t end);

}  // namespace shoal::reaction_diffusion
