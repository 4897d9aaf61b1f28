// What the host must know about the kernels for few columns to launch one of them.
#pragma once

#include <cstddef>

#include <shoal/gmm/cuda/accumulator.hpp>

namespace shoal::gmm::few_columns {

/// Most columns that kernels are made for: each number of columns has its own, whose sums stay in registers.
inline constexpr std::size_t most_columns = 16;

/// What a launch is told. Rows are cut in units of cuda::piece_unit, units in groups of rows that are summed in the
/// data's scalar, and group g of a shard belongs to lane g mod lanes, which is a block: blockIdx.x of shard blockIdx.y.
template <class Scalar>
struct kernel_arguments {
  prepared_parameters<Scalar> parameters;
  const Scalar* rows = nullptr;
  const Scalar* weights = nullptr;  ///< null: all one
  double* lanes = nullptr;          ///< [shards][lanes][statistics]
  std::size_t statistics = 0;       ///< elements of a lane
  std::size_t shared_triangle = 0;  ///< where the triangle of tied components starts in a lane; 0 for other types
  std::size_t factor_stride = 0;    ///< elements of `factors` between components; 0 when they share one
  std::size_t count = 0;            ///< rows of the piece
  std::size_t first_unit = 0;       ///< unit of the shard that the piece begins with
  std::size_t shard_units = 0;      ///< of each shard of the piece; at least those of the piece where it has but one
  unsigned components = 0;
  unsigned round_components = 0;  ///< components whose moments are summed at a time, at most the threads of a block
  unsigned resident_records = 0;  ///< components whose parameters lie in shared memory at a time
  unsigned stage_rows = 0;        ///< rows whose responsibilities lie in shared memory at a time; a multiple of 32
  unsigned term_stride = 0;       ///< elements between the responsibilities of two rows; odd
  unsigned group_rows = 0;
  unsigned unit_groups = 0;
  unsigned single_precision_slices = 0;  ///< threads' sums that are added in the data's scalar, at most 128 rows
  bool fresh = false;                    ///< lanes hold nothing yet
};

/// One kernel.
struct compiled_kernel {
  const void* function = nullptr;  ///< __global__ void(kernel_arguments<Scalar>)
  unsigned most_threads = 0;       ///< of a block
  unsigned registers = 0;          ///< of a thread, at most
  unsigned sums = 0;               ///< of a component
  unsigned record = 0;             ///< elements of one component's parameters in shared memory
  unsigned row_elements = 0;       ///< of one row in shared memory
  unsigned thread_rows = 0;        ///< rows that a thread works on at a time
  unsigned flushed_sums = 0;       ///< sums of all threads that pass through shared memory at a time
  /// The same for rows that may be moved to one origin, where that has shared memory; null: there is none.
  const void* origin_function = nullptr;
};

/// The kernel for `columns` in 1 … most_columns and full or tied covariances (matrices), or diag and spherical.
template <class Scalar>
compiled_kernel find_matrix_kernel(std::size_t columns);
template <class Scalar>
compiled_kernel find_diagonal_kernel(std::size_t columns);

/// How lanes are added up, by whoever does it: lane l belongs to part l mod lane_parts, whose lanes are added in order;
/// of each four neighbouring parts the pairs are added, then both; then these sums in order.
inline constexpr unsigned lane_parts = 32;
inline constexpr unsigned neighbouring_parts = 4;

/// Adds the lanes [shards][lane_count][count] of each shard, in that order, and writes the sums to `statistics`
/// [shards][count], unless *stopped.
void merge_lanes(const double* lanes, std::size_t shards, std::size_t lane_count, std::size_t count, double* statistics,
                 const int* stopped, cudaStream_t stream);

}  // namespace shoal::gmm::few_columns
