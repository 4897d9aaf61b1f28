// Which vector holds what, and the axon's rates, for the kernels of implicit schemes.
#pragma once

#include <cuda_runtime.h>

#include <shoal/reaction_diffusion/cuda/fused.cuh>
#include <shoal/reaction_diffusion/cuda/newton_state.hpp>

namespace shoal::reaction_diffusion {

/// One of the vectors; an index that is not constant would move the array of them to slow memory.
template <class Scalar>
__device__ Scalar* vector_of(const newton_memory<Scalar>& memory, int which) {
  Scalar* found = memory.vectors[0];
#pragma unroll
  for (int i = 1; i < 5; ++i) {
    if (which == i) found = memory.vectors[i];
  }
  return found;
}

/// The bits of a number without its sign order as such numbers do; those of a not-a-number are the largest.
__device__ inline unsigned long long bits_of(double value) {
  return static_cast<unsigned long long>(__double_as_longlong(fabs(value)));
}

/// Raises a number to the largest of a warp's.
__device__ inline void raise(unsigned long long& number, unsigned long long largest, int lane) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffu, largest, distance);
    if (other > largest) largest = other;
  }
  if (lane == 0 && largest > *static_cast<volatile unsigned long long*>(&number)) atomicMax(&number, largest);
}

/// After an iteration: whether another one follows, by the same rule as on the host.
template <class Scalar>
__device__ bool goes_on(newton_state<Scalar>& state) {
  constexpr int most_iterations = 40;
  constexpr double epsilon = sizeof(Scalar) == 4 ? 0x1p-23 : 0x1p-52;
  const double change = __longlong_as_double(static_cast<long long>(state.change));
  const int taken = state.iterate;
  state.iterate = state.spare;
  state.spare = taken;
  ++state.iteration;
  ++state.iterations;
  const bool finite = isfinite(change);
  const bool done = change <= state.stage.accuracy || state.stage.squared * change * change <= state.stage.accuracy ||
                    (change >= state.before && change <= 1e3 * epsilon);
  state.before = change;
  state.change = 0;
  if (finite && !done && state.iteration < most_iterations) return true;
  if (!finite || !done) {
    if (state.end == newton_end::converged) {
      state.end = finite ? newton_end::too_many : newton_end::not_finite;
      state.failed_at = state.stage.time;
    }
  }
  if (state.accepts) state.now = state.iterate;
  state.done = true;
  return false;
}

/// D·v_xx + f(v) − w of a node; 0 where v is prescribed.
template <class Scalar>
__device__ Scalar rate_at(const axon_equations<Scalar>& by, const Scalar* v, long long node, Scalar w) {
  if (by.has_input && node == by.nodes - 1) return 0;
  const Scalar value = v[node];
  const Scalar before = v[node > 0 ? node - 1 : by.around ? by.low : 1];
  const Scalar behind = node < by.nodes - 1 ? v[node + 1] : by.around ? v[by.high] : before;
  const Scalar bend = sum_of(before, behind) - sum_of(value, value);
  const Scalar reaction = product_of(product_of(value, 1 - value), value - by.a);
  return fused(by.weight, bend, reaction) - w;
}

}  // namespace shoal::reaction_diffusion
