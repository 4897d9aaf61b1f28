// What the host must know about the kernels for few columns and few components to launch one of them.
#pragma once

#include <cstddef>

#include <shoal/gmm/cuda/few_columns/teams.hpp>

namespace shoal::gmm::few_columns {

/// What a launch is told. Groups belong to warps, whose sums stay apart until the last row.
struct register_arguments : team_arguments {
  double* states = nullptr;  ///< [shards][lanes][warps][statistics]
};

/// One kernel.
struct register_kernel {
  const void* function = nullptr;  ///< __global__ void(register_arguments)
  unsigned threads = 0;            ///< of a block
  unsigned components = 0;         ///< that it has registers for
  unsigned record = 0;             ///< elements of one component's parameters in shared memory
  unsigned rows = 0;               ///< that a warp has at a time
};

/// The kernel for `columns` and so many components; without a function where there is none. Those for full covariances
/// do tied ones too.
register_kernel find_full_register_kernel(std::size_t columns, std::size_t components);
register_kernel find_diagonal_register_kernel(std::size_t columns, std::size_t components);
register_kernel find_spherical_register_kernel(std::size_t columns, std::size_t components);

}  // namespace shoal::gmm::few_columns
