// The parts of split steps on a plane that lies on one GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/reaction_diffusion/cuda/explicit_kernels.hpp>
#include <shoal/reaction_diffusion/node_reaction.hpp>

namespace shoal::reaction_diffusion {

/// What the GPU knows of Newton's iterations.
struct split_state {
  unsigned long long iterations;  ///< of the slowest node of each part, all together
  unsigned most;                  ///< of the present part
  unsigned failed;                ///< whether a node did not converge
  double failed_at;               ///< the time of the first that did not
  unsigned long long difference;  ///< the bits of the largest one, a double
};

/// Of node_reaction: steps v and w of every node, each until its own iterations have converged.
template <class Scalar>
struct reaction_step {
  Scalar a, gamma, epsilon, accuracy, step;
  part_rule rule;
  double time;  ///< for messages
};
template <class Scalar>
void react(const field<Scalar>& nodes, std::size_t count, const reaction_step<Scalar>& by, split_state* state,
           cudaStream_t stream);

/// What diffusion_lines prepared, on the device.
template <class Scalar>
struct line_coefficients {
  const Scalar* lower;
  const Scalar* inverse;
  const Scalar* upper;
  const Scalar* correction;  ///< null unless the lines go around
  Scalar corner_share, corner_scale;
};

/// solution ← the elimination's result for u, without what corners add. Node i of line k is u[i · lines + k].
template <class Scalar>
void solve_lines(const Scalar* u, Scalar* solution, std::size_t nodes, std::size_t lines,
                 const line_coefficients<Scalar>& by, cudaStream_t stream);

/// What becomes of u and the solution x of its lines.
enum class line_rule {
  keep,     ///< x
  reflect,  ///< 2x − u
  middle,   ///< TR-BDF2's right side of the second stage, from the middle 2x − u and the begin u
};
template <class Scalar>
void combine_lines(line_rule rule, const Scalar* solution, Scalar* u, std::size_t nodes, std::size_t lines,
                   const line_coefficients<Scalar>& by, cudaStream_t stream);

/// to[j · rows + i] = from[i · columns + j]
template <class Scalar>
void turn(const Scalar* from, Scalar* to, std::size_t rows, std::size_t columns, cudaStream_t stream);

/// Raises state->difference to the largest |one − other|; a not-a-number is the largest.
template <class Scalar>
void find_difference(const Scalar* one, const Scalar* other, std::size_t count, split_state* state,
                     cudaStream_t stream);

}  // namespace shoal::reaction_diffusion
