// What split steps do node by node on a plane that lies on one GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/reaction_diffusion/cuda/explicit_kernels.hpp>
#include <shoal/reaction_diffusion/node_reaction.hpp>

namespace shoal::reaction_diffusion {

/// What the GPU knows of Newton's iterations.
struct split_state {
  unsigned most;                  ///< iterations of the slowest node of the present part
  unsigned failed;                ///< whether a node did not converge
  double failed_at;               ///< the time of the first that did not
  unsigned long long difference;  ///< the bits of the largest one, a double
};

/// Of node_reaction: steps v and w of every node, each until its own iterations have converged. `iterations` become
/// those of the slowest node.
template <class Scalar>
struct reaction_step {
  Scalar a, gamma, epsilon, accuracy, step;
  part_rule rule;
  double time;  ///< for messages
};
template <class Scalar>
void react(const field<Scalar>& nodes, std::size_t count, const reaction_step<Scalar>& by, split_state* state,
           unsigned* iterations, cudaStream_t stream);

/// Raises state->difference to the largest |one − other|; a not-a-number is the largest.
template <class Scalar>
void find_difference(const Scalar* one, const Scalar* other, std::size_t count, split_state* state,
                     cudaStream_t stream);

}  // namespace shoal::reaction_diffusion
