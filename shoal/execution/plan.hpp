// How the rows of one fold are cut into lanes, chunks and pieces.
#pragma once

#include <cstddef>

namespace shoal {

/// Rows that a family's kernel sums in the data's own scalar before it goes on in float64; every cut between lanes,
/// chunks and pieces falls on a multiple of it, so that no cut changes a bit of the result.
inline constexpr std::size_t block_rows = 512;

/// Lanes hold one partial statistic each. Rows that can be shared have so many lanes, and large data more, by powers of
/// two.
inline constexpr std::size_t usual_lanes = 64;
inline constexpr std::size_t most_lanes = 4096;

/// Bytes for the statistics of lanes that are folded at the same time. It bounds how many are, never how many there
/// are.
inline constexpr std::size_t lane_memory = std::size_t{256} << 20;

/// What decides the cut. Neither the number of threads or ranks nor a memory limit may appear in `chunk_rows` or
/// `lanes`.
struct fold_shape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t scalar_bytes = 0;      ///< sizeof(float) or sizeof(double)
  std::size_t statistics_bytes = 0;  ///< memory of one partial statistic
};

/// The cut of one fold. Lane l holds chunks [first_chunk(l), first_chunk(l + 1)).
struct fold_plan {
  std::size_t rows = 0;
  std::size_t chunk_rows = 0;
  std::size_t chunks = 0;
  std::size_t lanes = 0;
  bool lanes_limited_by_statistics = false;  ///< more lanes would not be worth their statistics

  std::size_t first_chunk(std::size_t lane) const { return lane * chunks / lanes; }
  std::size_t first_row(std::size_t lane) const {
    const std::size_t row = first_chunk(lane) * chunk_rows;
    return row < rows ? row : rows;
  }
  std::size_t end_row(std::size_t lane) const { return lane + 1 == lanes ? rows : first_row(lane + 1); }
  /// The lane that holds that row.
  std::size_t lane_of(std::size_t row) const { return ((row / chunk_rows + 1) * lanes - 1) / chunks; }
};

/// The cut for that shape; the same for any executor, any number of ranks and any memory limit.
fold_plan make_fold_plan(const fold_shape& shape);

/// Threads that share a lane and split its components: one, but where there are fewer lanes than threads because the
/// statistics are large, or where so many lanes at the same time would take more than lane_memory.
std::size_t team_size(const fold_plan& plan, const fold_shape& shape, std::size_t threads);

/// Rows that each of `teams` readers may buffer within `memory_limit` bytes (0: no limit): a multiple of block_rows,
/// at most a chunk. Throws bad_argument when not even block_rows fit, and says how much would.
std::size_t piece_rows(const fold_plan& plan, const fold_shape& shape, std::size_t teams, std::size_t memory_limit);

}  // namespace shoal
