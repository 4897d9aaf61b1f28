#include <shoal/execution/plan.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {
namespace {

// A chunk is the unit in which a fold notices a request to stop, and large enough that its overhead does not show.
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t most_chunk_rows = std::size_t{1} << 16;

// Beyond the usual lanes one is added only where each holds so many chunks, and where the rows of each weigh so many
// times its statistics. To reset and to merge a lane should then take less than 1 % of folding it (decision 14).
constexpr std::size_t chunks_of_added_lane = 8;
constexpr std::size_t weight_of_added_lane = 16;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

fold_plan make_fold_plan(const fold_shape& shape) {
  fold_plan plan;
  plan.rows = shape.rows;
  const std::size_t row_bytes = std::max<std::size_t>(1, shape.columns * shape.scalar_bytes);
  const std::size_t even_share =
      round_up(std::max<std::size_t>(1, (shape.rows + usual_lanes - 1) / usual_lanes), block_rows);
  plan.chunk_rows = std::clamp(chunk_bytes / row_bytes / block_rows * block_rows, block_rows, most_chunk_rows);
  plan.chunk_rows = std::min(plan.chunk_rows, even_share);
  plan.chunks = (shape.rows + plan.chunk_rows - 1) / plan.chunk_rows;
  // A lane is worth its reset and its merge only when its rows outweigh its statistics.
  const std::size_t worthwhile = shape.rows * row_bytes / std::max<std::size_t>(1, shape.statistics_bytes);
  const std::size_t affordable = std::clamp(worthwhile, std::size_t{1}, usual_lanes);
  plan.lanes = std::max<std::size_t>(1, std::min(affordable, plan.chunks));
  plan.lanes_limited_by_statistics = plan.lanes == affordable && plan.lanes < std::min(usual_lanes, plan.chunks);
  if (plan.lanes < usual_lanes) return plan;
  const std::size_t room = std::min(plan.chunks / chunks_of_added_lane, worthwhile / weight_of_added_lane);
  while (plan.lanes < most_lanes && 2 * plan.lanes <= room) plan.lanes *= 2;
  return plan;
}

std::size_t team_size(const fold_plan& plan, const fold_shape& shape, std::size_t threads) {
  std::size_t size = 1;
  if (plan.lanes_limited_by_statistics && plan.lanes < threads) size = threads / plan.lanes;
  const std::size_t at_once = std::max<std::size_t>(1, lane_memory / std::max<std::size_t>(1, shape.statistics_bytes));
  if (threads / size > at_once) {
    const std::size_t teams = threads / (threads / (at_once + 1) + 1);  // the most that memory and threads allow
    size = threads / teams;
  }
  return size;
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
