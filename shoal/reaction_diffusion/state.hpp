// v and w at one time, and the span between two states that are kept, which is cut into steps.
#pragma once

#include <cstddef>

#include <shoal/core/aligned_buffer.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
struct state {
  aligned_buffer<Scalar> v;
  aligned_buffer<Scalar> w;
  Scalar* there_v = nullptr;  ///< memory of a CUDA device that stands in for v, and for w; null: none does.
  Scalar* there_w = nullptr;  ///< Steppers on devices alone look at it
  double time = 0;
  std::size_t done = 0;  ///< steps of the present span, where they are of one length

  const Scalar* values_of_v() const { return there_v != nullptr ? there_v : v.data(); }
  const Scalar* values_of_w() const { return there_w != nullptr ? there_w : w.data(); }
  Scalar* values_of_v() { return there_v != nullptr ? there_v : v.data(); }
  Scalar* values_of_w() { return there_w != nullptr ? there_w : w.data(); }
};

/// From one state that is kept to the next.
struct span {
  double begin = 0;
  double end = 0;

  /// Equal steps of at most `step`; a step longer by rounding alone counts as that step. Throws bad_argument where
  /// there are more than can be counted.
  std::size_t steps_of(double step) const;
};

}  // namespace shoal::reaction_diffusion
