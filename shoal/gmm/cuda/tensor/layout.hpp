// What the two rooms for many columns share of how a mixture and its rows are arranged; shared by host and device.
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor {

/// Consecutive rows whose terms fit into the buffers.
struct chunk {
  const float* rows = nullptr;
  const float* weights = nullptr;
  std::size_t share_first = 0;  ///< a multiple of cuda::piece_unit
  int count = 0;
};

/// Floating-point numbers of a lane of the log-likelihood: Σ w ln p, Σ w, far rows.
inline constexpr int likelihood_sums = 3;

/// Warps of the kernel that does far rows again.
inline constexpr int far_warps = 1056;

/// Most columns that the kernels are compiled for.
inline constexpr int most_columns = 128;

}  // namespace shoal::gmm::tensor
