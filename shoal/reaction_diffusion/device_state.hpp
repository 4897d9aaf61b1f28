// A state in the memory of a CUDA device.
#pragma once

namespace shoal::reaction_diffusion {

/// v and w, [rows][columns] each, on the CUDA device of that number.
template <class Scalar>
struct device_state {
  const Scalar* v = nullptr;
  const Scalar* w = nullptr;
  int device = 0;
};

}  // namespace shoal::reaction_diffusion
