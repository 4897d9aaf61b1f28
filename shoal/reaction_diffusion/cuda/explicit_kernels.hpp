// Several explicit steps in a pass over memory, on a part of an axon or of the plane that lies on one GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/reaction_diffusion/explicit_window.hpp>

namespace shoal::reaction_diffusion {

/// Values of v and of w.
template <class Scalar>
struct field {
  Scalar* v;
  Scalar* w;
};

/// Steps that one pass can take at most.
inline constexpr int most_axon_steps = 32;
inline constexpr int most_plane_steps = 8;

/// Takes `steps` ≤ most_axon_steps steps of `nodes` nodes, which begin at multiples of 16 bytes. At an open end the
/// last `steps` nodes are wrong afterwards. `input`, on the device: [steps + 1] v at a right end with input. Each
/// node's bits are those of step_window().
template <class Scalar>
void step_axon(const field<const Scalar>& from, const field<Scalar>& to, std::size_t nodes, int steps, window_end left,
               window_end right, const Scalar* input, const explicit_coefficients<Scalar>& by, cudaStream_t stream);

/// Rows of the plane, `pitch` nodes apart, a multiple of 16 bytes.
struct plane_part {
  std::size_t rows, columns, pitch;
  window_end top, bottom;  ///< mirror or open
  bool around;             ///< the last column's neighbour is the first; else both are walls
};

/// Takes `steps` ≤ most_plane_steps steps. At an open end the last `steps` rows are wrong afterwards. Each node's bits
/// are those of step_plane_row().
template <class Scalar>
void step_plane(const field<const Scalar>& from, const field<Scalar>& to, const plane_part& part, int steps,
                const explicit_coefficients<Scalar>& by, cudaStream_t stream);

}  // namespace shoal::reaction_diffusion
