// How the rows of one fold are cut into lanes, chunks and pieces.
#pragma once

#include <cstddef>

namespace shoal {

/// Rows that a family's kernel sums in the data's own scalar before it goes on in float64; every cut between lanes,
/// chunks and pieces falls on a multiple of it, so that no cut changes a bit of the result.
inline constexpr std::size_t block_rows = 512;

/// Lanes hold one partial statistic each: at most so many, in at most so many bytes.
inline constexpr std::size_t most_lanes = 64;
inline constexpr std::size_t lane_memory = std::size_t{256} << 20;

/// What decides the cut. Neither the number of threads nor a memory limit may appear in `chunk_rows` or `lanes`.
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
  bool lanes_limited_by_memory = false;  ///< then threads share a lane and split its components

  std::size_t first_chunk(std::size_t lane) const { return lane * chunks / lanes; }
  std::size_t first_row(std::size_t lane) const {
    const std::size_t row = first_chunk(lane) * chunk_rows;
    return row < rows ? row : rows;
  }
  std::size_t end_row(std::size_t lane) const { return lane + 1 == lanes ? rows : first_row(lane + 1); }
};

/// The cut for that shape; the same for any executor and any memory limit.
fold_plan make_fold_plan(const fold_shape& shape);

/// Rows that each of `teams` readers may buffer within `memory_limit` bytes (0: no limit): a multiple of block_rows,
/// at most a chunk. Throws bad_argument when not even block_rows fit, and says how much would.
std::size_t piece_rows(const fold_plan& plan, const fold_shape& shape, std::size_t teams, std::size_t memory_limit);

}  // namespace shoal
