// What the kernels that end a step work on.
#pragma once

#include <cstddef>

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/step/step_state.hpp>

namespace shoal::gmm {

/// What the kernels of a step work on. Memory of one GPU.
template <class Scalar>
struct step_arguments {
  kernel_layout layout;
  const double* statistics = nullptr;  ///< of all rows, about prepared.in_double.centres
  model_arrays model;
  model_arrays before;  ///< takes the model that a step begins with
  prepared_arrays<Scalar> prepared;
  step_state* state = nullptr;
  int* replaced = nullptr;     ///< when given, prepare() acts only where it is not zero, and clears it
  int* host_reason = nullptr;  ///< host memory that takes the stop_reason, so that the host may look while steps run
  double regularization = 0;
  double* work = nullptr;  ///< [work_size()]
  unsigned multiprocessors = 1;
  std::size_t shared_bytes = 0;  ///< most shared memory of a block
};

}  // namespace shoal::gmm
