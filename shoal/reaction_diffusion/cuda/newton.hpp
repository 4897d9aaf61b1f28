// Newton's method for the stages of an implicit scheme on a GPU, which decides itself when to stop.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/graph.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>

namespace shoal::reaction_diffusion {

/// Coefficients of one stage: own·v − κ·(D·v_xx + f(v)) = right, own = 1 + κβ.
template <class Scalar>
struct stage_coefficients {
  Scalar kappa, beta, own, keep, input;
  double squared;  ///< times a change squared: the error that Newton's method leaves, at most
  double accuracy;
  double time;  ///< for messages
};

/// Which stage of a step it is. A whole step becomes the state when its iterations end; the stages of TR-BDF2 do not.
enum class stage_place { step, middle, end };

/// How the iterations ended.
enum class newton_end { converged, too_many, not_finite };

/// What the GPU knows of the iterations; it alone writes here.
template <class Scalar>
struct newton_state {
  stage_coefficients<Scalar> stage;
  double before;               ///< the last change
  unsigned long long change;   ///< bits of the largest one of this iteration
  unsigned long long refused;  ///< the first row whose pivot was zero
  unsigned long long iterations;
  int iteration;
  // Which of the vectors holds what.
  int iterate, spare;  ///< spare: what the next iterate is written to; afterwards the iterate before the last
  int now, earlier;    ///< the state, and the one before, which the guess needs
  int middle, third;   ///< of TR-BDF2: the middle of the step, and the vector that is left
  bool accepts;
  newton_end end;
  double failed_at;  ///< the time of the first stage that did not converge
};

/// An axon's equations for a kernel.
template <class Scalar>
struct axon_equations {
  Scalar a, weight;  ///< weight = D / Δx²
  long long nodes;
  bool has_input;
};

/// All that kernels read and write.
template <class Scalar>
struct newton_memory {
  Scalar* vectors[5];  ///< a scheme without a middle stage needs three
  Scalar* w;           ///< w, or while a stage is solved what w has beside β·v
  Scalar* right;
  Scalar* scratch;
  newton_state<Scalar>* state;
  axon_equations<Scalar> equations;
};

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
