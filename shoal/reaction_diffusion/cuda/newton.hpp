// Newton's method for the stages of an implicit scheme on a GPU, which decides itself when to stop.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/graph.hpp>
#include <shoal/reaction_diffusion/cuda/newton_state.hpp>

namespace shoal::reaction_diffusion {

/// Rows of a block of the partition method, all of which one GPU has.
inline constexpr std::size_t newton_block_rows = 2048;
/// And of a thread.
inline constexpr int newton_thread_rows = 16;

/// For an axon of so many nodes.
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

/// Records the iterations of one stage on a GPU that has all nodes, as a graph that is launched when its guess and its
/// right side are there.
template <class Scalar>
cuda::graph record_newton(const newton_memory<Scalar>& memory, cudaStream_t stream);

/// The parts of an iteration: both passes of the partition method over a GPU's nodes, and between them what the blocks
/// of all nodes have in common. An iteration's do nothing once the stage's iterations have ended; with `damps` they are
/// right ← (I − κ·J)⁻¹·right, with the matrix of the last iteration.
template <class Scalar>
void reduce_newton(const newton_memory<Scalar>& memory, bool damps, cudaStream_t stream);
template <class Scalar>
void solve_newton_middle(const newton_memory<Scalar>& memory, bool damps, cudaStream_t stream);
template <class Scalar>
void finish_newton(const newton_memory<Scalar>& memory, bool damps, cudaStream_t stream);

/// What is known of the blocks that have the nodes [first, end), in a GPU's memory.
struct newton_blocks {
  std::byte* begin;
  std::size_t bytes;
};
template <class Scalar>
newton_blocks newton_blocks_of(const newton_memory<Scalar>& memory, long long first, long long end);

/// Among several GPUs: what one tells the others of its iteration, or of the guess, and what it takes from them: the
/// nodes beside its own, and after an iteration whether another one follows.
template <class Scalar>
void write_letter(const newton_memory<Scalar>& memory, newton_letter<Scalar>* letter, bool of_guess,
                  cudaStream_t stream);
template <class Scalar>
void read_letters(const newton_memory<Scalar>& memory, const newton_letter<Scalar>* letters, std::size_t place,
                  std::size_t count, bool of_guess, cudaStream_t stream);

/// The step of w behind the iterations.
template <class Scalar>
void end_newton(const newton_memory<Scalar>& memory, cudaStream_t stream);

}  // namespace shoal::reaction_diffusion
