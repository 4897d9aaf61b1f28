// What the loop over time does with states in the memory of CUDA devices. Throws not_built where CUDA was not built.
#pragma once

#include <cstddef>

#include <shoal/reaction_diffusion/device_state.hpp>

namespace shoal::reaction_diffusion {

/// Throws bad_argument unless both arrays are where they are said to be. Waits for that device, since whoever made them
/// may use other streams.
template <class Scalar>
void require_on_device(const device_state<Scalar>& state);

/// The place of the first value that is not finite; `count` where all are.
template <class Scalar>
std::size_t first_not_finite(const Scalar* values, std::size_t count, int device);

/// Copies values from the host or a device to the host or a device, and waits until they are there.
template <class Scalar>
void copy_values(const Scalar* from, Scalar* to, std::size_t count);

}  // namespace shoal::reaction_diffusion
