// Newton's method for the stages of an implicit scheme on a GPU, which decides itself when to stop.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/graph.hpp>
#include <shoal/reaction_diffusion/cuda/newton_state.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
std::size_t newton_scratch_values(std::size_t nodes);

/// A stage of any scheme begins: which vectors take the iterates. A guess is written to the first of them afterwards.
template <class Scalar>
void set_stage(const newton_memory<Scalar>& memory, const stage_coefficients<Scalar>& stage, stage_place place,
               cudaStream_t stream);

/// Sets up a step: damped is one of the backward Euler rule, of length κ; else one of the trapezoidal rule, of length
/// 2κ, whose guess goes through the last two states.
template <class Scalar>
void begin_step(const newton_memory<Scalar>& memory, const stage_coefficients<Scalar>& stage, bool damped,
                cudaStream_t stream);

/// Records the iterations of one stage, and the step of w behind them, as a graph that is launched when its guess and
/// its right side are there.
template <class Scalar>
cuda::graph record_newton(const newton_memory<Scalar>& memory, cudaStream_t stream);

/// right ← (I − κ·J)⁻¹·right, with the matrix of the last iteration.
template <class Scalar>
void damp(const newton_memory<Scalar>& memory, cudaStream_t stream);

}  // namespace shoal::reaction_diffusion
