// What is asked of rows under a mixture.
#pragma once

#include <cstdint>

namespace shoal::gmm {

/// What predict() writes for each row; a null pointer leaves that output out. On CUDA devices each may point to memory
/// of the host or of any CUDA device; it has been written when predict() returns.
template <class Scalar>
struct prediction {
  std::int32_t* labels = nullptr;   ///< [rows], the component with the greatest responsibility
  Scalar* probabilities = nullptr;  ///< [rows][K] responsibilities, each row summing to one
  Scalar* log_density = nullptr;    ///< [rows], ln p(x)
};

}  // namespace shoal::gmm
