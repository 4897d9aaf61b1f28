#include <shoal/gmm/chunked/chunk_plan.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/plan.hpp>
#include <shoal/gmm/tuning.hpp>
#include <shoal/random/permutation.hpp>

namespace shoal::gmm {
namespace {

constexpr std::size_t usual_memory = std::size_t{256} << 20;

// What sets these random numbers apart from all others of the same seed.
constexpr std::uint64_t order_stream = 0x6368756e6b73;

std::size_t divided(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

// Rows of a chunk are whole blocks as soon as they are several: the kernels work by blocks.
std::size_t in_blocks(std::size_t rows) { return rows <= block_rows ? rows : divided(rows, block_rows) * block_rows; }

}  // namespace

chunk_plan make_chunk_plan(std::size_t rows, const statistics_layout& layout, std::size_t scalar_bytes,
                           const options& options) {
  const chunk_options& wanted = options.chunks;
  const std::size_t memory = wanted.memory == 0 ? usual_memory : wanted.memory;
  const std::size_t statistics_bytes = layout.size() * sizeof(double);
  const bool keeps = options.algorithm != algorithm::stepwise;
  const std::size_t memberships = keeps && wanted.memberships ? rows * layout.components() * scalar_bytes : 0;
  if (memberships + statistics_bytes > memory) {
    throw bad_argument(fmt::format(
        "chunks.memory: {} bytes are too few: the statistics of one chunk take {}{}", memory, statistics_bytes,
        memberships == 0 ? std::string() : fmt::format(", and memberships {}", memberships)));
  }
  const std::size_t affordable = keeps ? (memory - memberships) / statistics_bytes : rows;
  std::size_t superchunks = wanted.superchunks == 0 ? usual_superchunks : wanted.superchunks;
  chunk_plan plan;
  plan.rows = rows;
  if (wanted.rows != 0) {
    plan.chunk_rows = std::min(wanted.rows, rows);
    if (divided(rows, plan.chunk_rows) > affordable) {
      throw bad_argument(fmt::format(
          "the statistics of {} chunks, of {} rows each, take {} bytes, and {} are allowed: take chunks of at least {} "
          "rows",
          divided(rows, plan.chunk_rows), plan.chunk_rows, divided(rows, plan.chunk_rows) * statistics_bytes, memory,
          divided(rows, affordable)));
    }
  } else {
    std::size_t superchunk_rows = divided(rows, std::min(superchunks, rows));
    if (wanted.superchunks == 0) {
      const std::size_t least = std::max(least_superchunk_rows, layout.columns() * least_superchunk_rows_a_column);
      superchunk_rows = std::max(superchunk_rows, std::min(least, rows));
      superchunks = divided(rows, superchunk_rows);
    }
    const std::size_t least_rows = std::max(block_rows, least_chunk_work / layout.size());
    const std::size_t cut = std::clamp(superchunk_rows / least_rows, std::size_t{1}, most_superchunk_chunks);
    plan.chunk_rows = std::max(in_blocks(divided(superchunk_rows, cut)), in_blocks(divided(rows, affordable)));
    plan.chunk_rows = std::min(rows, plan.chunk_rows);
  }
  plan.chunks = divided(rows, plan.chunk_rows);
  plan.superchunk = divided(plan.chunks, std::min(superchunks, plan.chunks));
  return plan;
}

std::vector<std::size_t> chunk_order(const chunk_plan& plan, std::uint64_t seed, std::size_t restart,
                                     std::size_t turn) {
  return random::permutation(plan.chunks, random::stream(seed, random::mix(random::mix(order_stream, restart), turn)));
}

}  // namespace shoal::gmm
