// What the host must know about the kernels for few columns and many components to launch one of them.
#pragma once

#include <cstddef>

#include <shoal/gmm/cuda/few_columns/kernels.hpp>

namespace shoal::gmm::few_columns {

/// What a launch is told. All rows of a group lie in shared memory at a time: stage_rows are as many as a group has.
template <class Scalar>
struct many_arguments : kernel_arguments<Scalar> {
  unsigned row_threads = 1;  ///< that share a row while components are compared; a power of two
};

/// One kernel.
struct many_kernel {
  const void* function = nullptr;  ///< __global__ void(many_arguments<Scalar>)
  unsigned threads = 0;            ///< of a block
  unsigned blocks = 0;             ///< of a multiprocessor, at most
  unsigned sums = 0;               ///< of a component
  unsigned record = 0;             ///< elements of one component's parameters in shared memory
  unsigned row_elements = 0;       ///< of one row in shared memory
  unsigned flushed_sums = 0;       ///< sums of all threads that pass through shared memory at a time
};

/// The kernel for `columns` and full or tied covariances (matrices), or diag and spherical; without a function where
/// there is none.
template <class Scalar>
many_kernel find_many_matrix_kernel(std::size_t columns);
template <class Scalar>
many_kernel find_many_diagonal_kernel(std::size_t columns);

}  // namespace shoal::gmm::few_columns
