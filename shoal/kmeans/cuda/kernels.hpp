// What the kernels of Lloyd's algorithm read and write on one GPU, and the calls that launch them.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <shoal/core/host_device.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/plan.hpp>
#include <shoal/execution/precision.hpp>
#include <shoal/kmeans/cuda/tuning.hpp>
#include <shoal/nearest/cuda/doubtful_rows.hpp>
#include <shoal/nearest/cuda/float16_operands.hpp>

namespace shoal::kmeans {

/// Centroids in the memory of one GPU. c′ = c − origin.
template <class Scalar>
struct device_centroids {
  int clusters = 0;
  int columns = 0;
  int padded = 0;                ///< clusters, up to a multiple of cluster_tile
  double* values = nullptr;      ///< [clusters][columns] c
  double* turned = nullptr;      ///< [columns][padded] c; infinite beyond the last cluster
  Scalar* rounded = nullptr;     ///< [clusters][columns] c
  Scalar* origin = nullptr;      ///< [columns]; anything near the centroids
  Scalar* negated = nullptr;     ///< [columns][padded] −c′; zero beyond the last cluster
  Scalar* half_norms = nullptr;  ///< [padded] ‖c′‖²/2; huge beyond the last cluster
  void* tensor = nullptr;        ///< −c′ in TF32 or bf16 (tensor_layout.hpp); null where it is not used
  precision products = precision::float32;
  search_bounds* bounds = nullptr;
};

inline searched_centroids searched(const device_centroids<float>& of) {
  return {of.clusters, of.columns, of.padded, of.values, of.origin, of.half_norms, of.products, of.bounds};
}

/// Why the device's loop stopped.
enum stop_reason : int { still_running = 0, has_finished = 1, found_empty_cluster = 2 };

/// One step of the device's loop, as step_record.
struct device_record {
  double inertia = 0;  ///< in units of the stored weights
  double change = 0;
  int settled = 0;
};

/// The device's loop, in the memory of the first GPU; the host writes it before a batch and reads it after.
struct loop_state {
  int stopped = still_running;
  int labelled = 0;          ///< there was a step before
  unsigned steps = 0;        ///< recorded in this batch
  unsigned most_steps = 0;   ///< of this batch
  unsigned ticket = 0;       ///< blocks of the moving kernel that are done
  int empty = 0;             ///< a cluster without weight was found in this step
  double change_before = 0;  ///< of the step before; NaN: none
  unsigned long long fingerprint_before = 0;
  unsigned long long fingerprint = 0;  ///< of this step's labels, so far
};

/// When else the loop stops: Σ‖Δc‖² ≤ absolute, or ≤ relative · the one of the step before. Negative: never.
struct stop_limits {
  double absolute = -1;
  double relative = -1;
};

/// The rows that sums are planned for.
struct summed_rows {
  std::size_t all = 0;
  std::size_t shard = 0;  ///< of the first shard, the largest
  std::size_t share = 0;  ///< of this GPU
};

/// How rows are summed by label. Lanes are consecutive rows of one shard with sums of their own, added tile by tile in
/// float64 in an order that depends on labels alone, so neither the cuts between pieces nor the order of blocks changes
/// a bit.
struct sum_plan {
  int lane_rows = 0;  ///< 512, 1024, 2048 or a multiple of cuda::piece_unit
  int lanes = 0;      ///< of this GPU
  std::size_t share_rows = 0;
  std::size_t shard_rows = 0;
  int shard_lanes = 0;     ///< of every shard but the last, which may have fewer
  int group_clusters = 0;  ///< clusters of one block
  int groups = 0;
  int block_columns = 0;   ///< columns of one block
  int padded_columns = 0;  ///< of a cluster's sums in shared memory
  int column_blocks = 0;
  int classes = 0;         ///< warps of a block share its clusters in so many classes: a power of two
  int row_threads = 0;     ///< threads that add a row up: a power of two
  int thread_columns = 0;  ///< columns that each of them adds at a time
  int copies = 0;          ///< partial sums of a block for each of its clusters
  int warps = 0;           ///< of a block, where each has sums of its own
  int sharers = 1;         ///< threads of a warp that share sums, one after the other
  std::size_t block_doubles = 0;
  std::size_t shared_bytes = 0;
  std::size_t state_doubles() const {
    return block_doubles * static_cast<std::size_t>(lanes) * static_cast<std::size_t>(groups) *
           static_cast<std::size_t>(column_blocks);
  }
  /// Cuts the rows into lanes of so many.
  void set_lanes(const summed_rows& rows, std::size_t rows_of_lane) {
    lane_rows = static_cast<int>(rows_of_lane);
    share_rows = rows.share;
    shard_rows = rows.shard;
    shard_lanes = static_cast<int>((rows.shard + rows_of_lane - 1) / rows_of_lane);
    lanes = rows.share == 0 ? 0 : lane_of(rows.share - 1) + 1;
  }
  int shards() const { return (lanes + shard_lanes - 1) / shard_lanes; }
  /// The rows of a lane, as rows of the share: [lane_begin(), lane_end()).
  SHOAL_HD std::size_t lane_begin(int lane) const {
    return static_cast<std::size_t>(lane / shard_lanes) * shard_rows +
           static_cast<std::size_t>(lane % shard_lanes) * static_cast<std::size_t>(lane_rows);
  }
  SHOAL_HD std::size_t lane_end(int lane) const {
    std::size_t end = lane_begin(lane) + static_cast<std::size_t>(lane_rows);
    const std::size_t shard_end = static_cast<std::size_t>(lane / shard_lanes + 1) * shard_rows;
    if (end > shard_end) end = shard_end;
    return end < share_rows ? end : share_rows;
  }
  int lane_of(std::size_t row) const {
    return static_cast<int>(row / shard_rows) * shard_lanes +
           static_cast<int>(row % shard_rows / static_cast<std::size_t>(lane_rows));
  }
  /// The lane of a piece's first row, and how many lanes have rows of the piece.
  template <class Scalar>
  int first_lane(const cuda::device_piece<Scalar>& piece) const {
    return lane_of(piece.share_first);
  }
  template <class Scalar>
  int piece_lanes(const cuda::device_piece<Scalar>& piece) const {
    return lane_of(piece.share_first + piece.count - 1) - first_lane(piece) + 1;
  }
};

/// Rows of a lane when `at_once` lanes keep a GPU busy: all lanes of a shard run at once, but for rows of many pieces.
/// Those have lanes so short that a streamed piece has enough of them, unless their sums of `lane_bytes` would outweigh
/// their rows.
inline std::size_t wanted_lane_rows(const summed_rows& rows, std::size_t columns, std::size_t at_once,
                                    std::size_t lane_bytes) {
  const std::size_t row_bytes = columns * sizeof(float);
  const std::size_t whole = (rows.shard + at_once - 1) / at_once;
  if (rows.all * row_bytes <= 16 * cuda::most_piece_bytes) return whole;
  const std::size_t of_piece = cuda::most_piece_bytes / row_bytes / at_once;
  const std::size_t beside_sums = 16 * lane_bytes / row_bytes;
  const std::size_t most_lanes_here = std::max<std::size_t>(1, lane_memory / lane_bytes);
  const std::size_t in_memory = (rows.all + most_lanes_here - 1) / most_lanes_here;
  return std::min(whole, std::max({std::size_t{1}, of_piece, beside_sums, in_memory}));
}

/// A plan whose blocks take all clusters and columns, for about `at_once` lanes of a multiple of `unit` rows.
inline sum_plan one_pass_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns, std::size_t at_once,
                              std::size_t block_doubles, std::size_t unit) {
  sum_plan plan;
  plan.block_doubles = block_doubles;
  const std::size_t rows = wanted_lane_rows(summed, columns, at_once, block_doubles * sizeof(double));
  plan.set_lanes(summed, std::max<std::size_t>(1, (rows + unit - 1) / unit) * unit);
  plan.group_clusters = static_cast<int>(clusters);
  plan.groups = 1;
  plan.block_columns = static_cast<int>(columns);
  plan.padded_columns = static_cast<int>(columns);
  plan.column_blocks = 1;
  plan.copies = 1;
  return plan;
}

sum_plan make_sum_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                       std::size_t multiprocessors, std::size_t shared_bytes);

/// Derives everything but `values` and `origin`; bounds must be zero before.
template <class Scalar>
void prepare_centroids(const device_centroids<Scalar>& centroids, const int* stopped, cudaStream_t stream);

/// labels[i] for the piece's rows, in float32 or float64 on the arithmetic units; doubtful rows are listed.
template <class Scalar>
void search_plain(const cuda::device_piece<Scalar>& piece, const device_centroids<Scalar>& centroids,
                  std::int32_t* labels, const doubtful_rows& doubtful, const int* stopped, cudaStream_t stream);

/// The same on the tensor cores of GPUs of compute capability 9.0, in builds for 90a (has_tensor_search), for at most
/// most_tensor_columns columns; needs centroids.tensor. With precision::float32 products are in TF32, so that more rows
/// are doubtful; in the other precisions the products of that precision decide, and no row is listed.
bool has_tensor_search(int device);
void search_tensor(const cuda::device_piece<float>& piece, const device_centroids<float>& centroids,
                   std::int32_t* labels, const doubtful_rows& doubtful, std::size_t multiprocessors,
                   std::size_t shared_bytes, const int* stopped, cudaStream_t stream);

/// The same for at most 4 columns and most_few_column_clusters clusters, distances in float32; decides every row
/// itself.
template <class Scalar>
void search_few_columns(const cuda::device_piece<Scalar>& piece, const device_centroids<float>& centroids,
                        std::int32_t* labels, const int* stopped, cudaStream_t stream);

/// Decides doubtful rows by the float64 definition of find_nearest (estimation/nearest.hpp) and empties the lists.
/// Centroids in float32 leave only what their distances in float32 cannot decide to it.
template <class Scalar, class Of>
void decide_doubtful(const cuda::device_piece<Scalar>& piece, const device_centroids<Of>& centroids,
                     std::int32_t* labels, const doubtful_rows& doubtful, const int* stopped, cudaStream_t stream);

/// Adds the piece's rows to the lanes and their labels to the fingerprint.
template <class Scalar>
void sum_by_label(const sum_plan& plan, const cuda::device_piece<Scalar>& piece,
                  const device_centroids<Scalar>& centroids, const std::int32_t* labels, double* lanes,
                  unsigned long long* fingerprint, const int* stopped, cudaStream_t stream);

/// For at most so many clusters and columns a thread keeps the sums of all of them in registers: rows are labelled and
/// summed in one pass over memory, and need no prepared centroids. `labels` may be null.
sum_plan make_fused_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                         std::size_t multiprocessors);
void fold_fused(const sum_plan& plan, const cuda::device_piece<float>& piece, const device_centroids<float>& centroids,
                std::int32_t* labels, double* lanes, unsigned long long* fingerprint, const int* stopped,
                cudaStream_t stream);

/// The same for float64 rows, whose labels are by the definition at once.
sum_plan make_fused_float64_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                                 std::size_t multiprocessors);
void fold_fused(const sum_plan& plan, const cuda::device_piece<double>& piece,
                const device_centroids<double>& centroids, std::int32_t* labels, double* lanes,
                unsigned long long* fingerprint, const int* stopped, cudaStream_t stream);

/// The same for few clusters and many columns (tuning.hpp), where a warp takes a row.
bool is_wide(std::size_t clusters, std::size_t columns);
sum_plan make_wide_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                        std::size_t multiprocessors);
void fold_wide(const sum_plan& plan, const cuda::device_piece<float>& piece, const device_centroids<float>& centroids,
               std::int32_t* labels, double* lanes, unsigned long long* fingerprint, const int* stopped,
               cudaStream_t stream);

/// The same for few columns and more clusters, rows of either scalar: a warp has sums of all clusters in shared memory.
bool is_few(const summed_rows& summed, std::size_t clusters, std::size_t columns, std::size_t scalar_bytes,
            std::size_t multiprocessors, std::size_t shared_bytes);
sum_plan make_few_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns, std::size_t scalar_bytes,
                       std::size_t multiprocessors, std::size_t shared_bytes);
template <class Scalar>
void fold_few(const sum_plan& plan, const cuda::device_piece<Scalar>& piece, const device_centroids<Scalar>& centroids,
              std::int32_t* labels, double* lanes, unsigned long long* fingerprint, const int* stopped,
              cudaStream_t stream);

/// Places of a step's statistics: [K] Σw, [K][d] Σw(x − c), inertia, and the two halves of the fingerprint as whole
/// numbers, which float64 adds exactly.
struct statistics_layout {
  std::size_t clusters = 0;
  std::size_t columns = 0;
  constexpr std::size_t sums() const { return clusters; }
  constexpr std::size_t inertia() const { return clusters + clusters * columns; }
  constexpr std::size_t fingerprint() const { return inertia() + 1; }
  constexpr std::size_t size() const { return inertia() + 3; }
};

/// Lanes into the statistics of each shard of this GPU, [shards][size()], in a fixed order. The first shard's have the
/// fingerprint of all of them. Of one shard it also says whether a cluster is empty (state.empty).
void merge_lanes(const sum_plan& plan, const statistics_layout& layout, const double* lanes, double* statistics,
                 loop_state* state, cudaStream_t stream);
/// After statistics of several shards were added up: the fingerprint and whether a cluster is empty.
void inspect_statistics(const statistics_layout& layout, const double* statistics, loop_state* state,
                        cudaStream_t stream);
/// What ends a step.
struct move_arguments {
  statistics_layout layout;
  const double* statistics = nullptr;
  double* centroids = nullptr;  ///< [clusters][columns]
  search_bounds* bounds = nullptr;
  stop_limits limits;
  double* partial = nullptr;  ///< [move_blocks]
  device_record* records = nullptr;
  loop_state* state = nullptr;
  volatile int* told = nullptr;  ///< of the host, which is told there that the loop has stopped; null: it does not ask
};

/// Ends a step: records it, moves the centroids unless it is settled or a cluster is empty, and stops the loop by the
/// rules. Clears what the next step sums up.
void move_centroids(const move_arguments& move, cudaStream_t stream);

/// merge_lanes and move_centroids at once, for one shard and statistics of at most most_merged_and_moved numbers.
void merge_and_move(const sum_plan& plan, const double* lanes, double* statistics, const move_arguments& move,
                    cudaStream_t stream);

}  // namespace shoal::kmeans
