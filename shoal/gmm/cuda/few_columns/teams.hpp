// What the host must know about the kernels for few columns and many rows to launch one of them.
#pragma once

#include <cstddef>

#include <shoal/gmm/cuda/accumulator.hpp>

namespace shoal::gmm::few_columns {

/// What a launch is told. Rows are cut as for kernel_arguments.
struct team_arguments {
  prepared_parameters<float> parameters;
  const float* rows = nullptr;
  const float* weights = nullptr;   ///< null: all one
  double* lanes = nullptr;          ///< [shards][lanes][statistics]
  std::size_t shared_triangle = 0;  ///< where the triangle of tied components starts in a lane; 0 for other types
  std::size_t factor_stride = 0;    ///< elements of `factors` between components; 0 when they share one
  std::size_t count = 0;            ///< rows of the piece
  unsigned first_unit = 0;          ///< unit of the shard that the piece begins with
  unsigned shard_units = 0;         ///< of each shard of the piece; at least those of the piece where it has but one
  unsigned statistics = 0;          ///< elements of a lane
  unsigned components = 0;
  unsigned stage_bytes = 0;  ///< of one of the two stages; a multiple of 16
  unsigned term_stride = 0;  ///< elements between the responsibilities of two components
  unsigned slice_rows = 0;   ///< rows of a full stage that a thread sums
  unsigned group_rows = 0;
  unsigned unit_groups = 0;
  unsigned single_precision_slices = 0;  ///< threads' sums that are added in the data's scalar, at most 128 rows
  bool fresh = false;                    ///< lanes hold nothing yet
};

/// One kernel.
struct team_kernel {
  const void* function = nullptr;  ///< __global__ void(team_arguments)
  unsigned threads = 0;            ///< of a block, in both teams
  unsigned moment_threads = 0;
  unsigned blocks = 1;             ///< of a multiprocessor
  unsigned flush_stride = 0;       ///< elements of shared memory for one sum of all these threads
  unsigned thread_components = 0;  ///< of a thread that sums moments
  unsigned sums = 0;               ///< of a component
  unsigned record = 0;             ///< elements of one component's parameters in shared memory
  unsigned stage_rows = 0;
  unsigned stage_bytes = 0;  ///< without responsibilities
};

/// The kernels for `columns` in 1 … most_columns, and one block of a multiprocessor or several; without a function
/// where there is none. Those for full covariances do tied ones too.
team_kernel find_full_team_kernel(std::size_t columns, bool small);
team_kernel find_diagonal_team_kernel(std::size_t columns, bool small);
team_kernel find_spherical_team_kernel(std::size_t columns, bool small);

}  // namespace shoal::gmm::few_columns
