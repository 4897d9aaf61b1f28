#include <shoal/execution/plan.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {
namespace {

// A chunk is the unit in which a fold notices a request to stop, and large enough that its overhead does not show.
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t most_chunk_rows = std::size_t{1} << 16;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

fold_plan make_fold_plan(const fold_shape& shape) {
  fold_plan plan;
  plan.rows = shape.rows;
  const std::size_t row_bytes = std::max<std::size_t>(1, shape.columns * shape.scalar_bytes);
  const std::size_t even_share =
      round_up(std::max<std::size_t>(1, (shape.rows + most_lanes - 1) / most_lanes), block_rows);
  plan.chunk_rows = std::clamp(chunk_bytes / row_bytes / block_rows * block_rows, block_rows, most_chunk_rows);
  plan.chunk_rows = std::min(plan.chunk_rows, even_share);
  plan.chunks = (shape.rows + plan.chunk_rows - 1) / plan.chunk_rows;
  // A lane is worth its reset and its merge only when its rows outweigh its statistics.
  const std::size_t worthwhile = std::min(lane_memory, shape.rows * row_bytes);
  const std::size_t affordable =
      std::clamp(worthwhile / std::max<std::size_t>(1, shape.statistics_bytes), std::size_t{1}, most_lanes);
  plan.lanes = std::max<std::size_t>(1, std::min(affordable, plan.chunks));
  plan.lanes_limited_by_memory = plan.lanes == affordable && plan.lanes < std::min(most_lanes, plan.chunks);
  return plan;
}

std::size_t piece_rows(const fold_plan& plan, const fold_shape& shape, std::size_t teams, std::size_t memory_limit) {
  if (memory_limit == 0) return plan.chunk_rows;
  const std::size_t block_bytes = block_rows * std::max<std::size_t>(1, shape.columns * shape.scalar_bytes);
  const std::size_t blocks = memory_limit / std::max<std::size_t>(1, teams) / block_bytes;
  if (blocks == 0) {
    throw bad_argument(fmt::format(
        "the memory limit of {} bytes is too small for row buffers: {} buffers of {} rows x {} columns need {} bytes",
        memory_limit, teams, block_rows, shape.columns, teams * block_bytes));
  }
  return std::min(plan.chunk_rows, blocks * block_rows);
}

}  // namespace shoal
