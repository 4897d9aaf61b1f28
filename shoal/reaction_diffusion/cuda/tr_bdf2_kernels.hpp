// What TR-BDF2 does node by node on a GPU, around Newton's iterations.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/reaction_diffusion/cuda/newton_state.hpp>

namespace shoal::reaction_diffusion {

/// Of one step.
template <class Scalar>
struct tr_bdf2_scalars {
  Scalar kappa, keep, gain;               ///< w at the middle = keep·w + gain·v + β·v at the middle
  Scalar decay, from_middle, from_begin;  ///< of the second stage
  Scalar reach, beyond;                   ///< guesses go so far through the last two states
  Scalar step, per_kappa, of_begin, of_middle, of_end;
  Scalar epsilon, gamma;
};

/// `newton.w` is what Newton's memory calls w in the first stage, `end_w` in the second.
template <class Scalar>
struct tr_bdf2_memory {
  newton_memory<Scalar> newton;
  const Scalar* w;
  Scalar* end_w;
  Scalar* rate;
};

/// The right side and the guess of each stage, after set_stage().
template <class Scalar>
void begin_middle(const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by, cudaStream_t stream);
template <class Scalar>
void begin_end(const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by, cudaStream_t stream);

/// The error of v in place of the right side, for damp().
template <class Scalar>
void estimate_error(const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by, cudaStream_t stream);

/// state->change becomes the bits of the largest error, of v as it stands and of w.
template <class Scalar>
void find_largest_error(const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by, cudaStream_t stream);

/// The end becomes the state; its w is copied by the caller.
template <class Scalar>
void accept_end(const tr_bdf2_memory<Scalar>& memory, cudaStream_t stream);

}  // namespace shoal::reaction_diffusion
