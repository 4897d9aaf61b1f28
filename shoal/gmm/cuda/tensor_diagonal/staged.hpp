// What the host must know about the kernels that have each tile of rows in shared memory once, for log-densities and
// for moments: nothing of a row goes through memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/tensor_diagonal/layout.hpp>

namespace shoal::gmm::tensor_diagonal {

/// Rows of a tile, which a block has at a time; its teams of four warps have components of their own.
inline constexpr int staged_rows = 64;
inline constexpr int staged_team_threads = 128;

/// Whose turn it is, which the kernels find out from the frame and tell those behind them.
struct staged_turn {
  int* own_stopped = nullptr;     ///< not zero: these kernels leave the rows to others
  int* others_stopped = nullptr;  ///< not zero: the others do
  bool has_condition = false;     ///< set where the others are to work
  cudaGraphConditionalHandle condition{};
};

/// What a launch is told. Rows are cut as for few_columns::kernel_arguments.
struct staged_arguments {
  problem mixture;
  staged_turn turn;
  const float* rows = nullptr;
  double* lanes = nullptr;  ///< [shards][blocks][lane_size]
  std::size_t lane_size = 0;
  std::size_t count = 0;        ///< rows of the piece
  std::size_t first_unit = 0;   ///< unit of the share that the piece begins with
  std::size_t shard_units = 0;  ///< of each shard of the piece
  unsigned group_rows = 0;
  unsigned unit_groups = 0;
  bool fresh = false;  ///< lanes hold nothing yet
};

/// A lane: a head as statistics have it (Σ log₂ p but for log_shift, rows, far rows), then for each component sums of
/// z² of all eights of columns, of z, and some partial sums of r.
inline constexpr int staged_head = 4;

/// One kernel.
struct staged_kernel {
  const void* function = nullptr;  ///< __global__ void(staged_arguments); null: there is none for the shape
  int octets = 0;                  ///< eights of columns
  int components = 0;              ///< that it has room for
  int weight_sums = 0;             ///< of a component, partial sums of r
  int blocks = 0;                  ///< of a multiprocessor
  int threads = 0;                 ///< of a block
  std::size_t shared_bytes = 0;
};
constexpr std::size_t staged_lane_size(const staged_kernel& kernel) {
  return staged_head + static_cast<std::size_t>((16 * kernel.octets + kernel.weight_sums) * kernel.components);
}

staged_kernel find_fine_staged_kernel(int columns, int components);
staged_kernel find_coarse_staged_kernel(int columns, int components);

/// Adds up the lanes [shards][lanes][staged_lane_size()] of each shard and writes its statistics, or copies those that
/// others have left in `of_others` [shards][statistics], where there are any; sets turn's condition.
void merge_staged(const problem& mixture, const staged_kernel& kernel, const staged_turn& turn, std::size_t shards,
                  std::size_t lane_count, const double* lanes, const double* of_others, double* statistics,
                  cudaStream_t stream);

}  // namespace shoal::gmm::tensor_diagonal
