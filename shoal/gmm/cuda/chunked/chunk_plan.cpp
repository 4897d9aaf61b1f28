#include <shoal/gmm/cuda/chunked/chunk_plan.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/chunked/chunk_tuning.hpp>
#include <shoal/gmm/cuda/step/maximise.hpp>

namespace shoal::gmm {
namespace {

constexpr std::size_t usual_memory = std::size_t{256} << 20;

std::size_t divided(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

}  // namespace

chunk_plan make_device_chunk_plan(std::size_t shard_rows, std::size_t shards, const statistics_layout& layout,
                                  const options& options) {
  const chunk_options& wanted = options.chunks;
  const bool keeps = options.algorithm != algorithm::stepwise;
  const std::size_t memory = wanted.memory == 0 ? usual_memory : wanted.memory;
  const std::size_t bytes = (layout.size() + layout.components() * layout.columns()) * sizeof(double);
  const std::size_t affordable =
      std::min<std::size_t>(most_steps, keeps ? std::max<std::size_t>(1, memory / bytes) : most_steps);
  if (keeps && wanted.memory != 0 && wanted.superchunks * bytes > memory) {
    throw bad_argument(fmt::format("chunks.memory: {} bytes are too few: the statistics of {} superchunks take {}",
                                   memory, wanted.superchunks, wanted.superchunks * bytes));
  }
  if (wanted.superchunks > most_steps) {
    throw bad_argument(fmt::format("chunks.superchunks: a pass on CUDA devices has at most {}; got {}", most_steps,
                                   wanted.superchunks));
  }
  const std::size_t units = divided(shard_rows, cuda::piece_unit);
  const bool shards_wait = shards > 1 && options.algorithm == algorithm::incremental;
  const std::size_t usual =
      keeps ? usual_device_superchunks(shard_rows, layout.size(), shards_wait) : usual_device_steps;
  const std::size_t superchunks =
      std::min(units, wanted.superchunks == 0 ? std::min(usual, affordable) : wanted.superchunks);
  chunk_plan plan;
  plan.rows = shard_rows;
  if (wanted.rows != 0) {
    if (wanted.rows < shard_rows && wanted.rows % cuda::piece_unit != 0) {
      throw bad_argument(
          fmt::format("chunks.rows must be a multiple of {} on CUDA devices; got {}", cuda::piece_unit, wanted.rows));
    }
    plan.chunk_rows = std::min(wanted.rows, shard_rows);
  } else {
    const std::size_t cut = keeps ? superchunks : superchunks * stepwise_chunks;
    plan.chunk_rows = std::min(shard_rows, divided(units, std::min(units, cut)) * cuda::piece_unit);
  }
  plan.chunks = divided(shard_rows, plan.chunk_rows);
  plan.superchunk = divided(plan.chunks, std::min(superchunks, plan.chunks));
  return plan;
}

std::vector<cuda::shard_range> ranges_of(const chunk_plan& plan, std::span<const std::size_t> chunks) {
  std::vector<cuda::shard_range> ranges;
  for (const std::size_t chunk : chunks) {
    const std::size_t first = plan.first_row(chunk);
    if (!ranges.empty() && ranges.back().first + ranges.back().count == first) {
      ranges.back().count += plan.rows_of(chunk);
    } else {
      ranges.push_back({first, plan.rows_of(chunk)});
    }
  }
  return ranges;
}

}  // namespace shoal::gmm
