// Into how many superchunks the rows of GPUs are cut, with what was measured on an NVIDIA H200.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace shoal::gmm {

/// With S superchunks a pass saves 2 / (1 + 1/S) passes of batch and costs, beside its products, S times what a
/// superchunk does: launches, lanes, sums and a maximisation, as long as so many rows times elements of a statistic. At
/// (2²⁰, 8, 10), full, where batch takes 0.080 ms a pass, 2, 4, 8 and 16 superchunks take 0.101, 0.135, 0.220 and
/// 0.374: 15 µs each.
inline constexpr double superchunk_work = 7.5e7;

/// So many times that with several shards, whose GPUs wait for each other at every superchunk: at (2²⁴, 8, 10) on two
/// GPUs batch takes 0.601 ms a pass and 8 superchunks 1.003, 50 µs each. Asynchronous fits, which need not wait, take
/// 0.709. One GPU with all shards follows the same plan, so that it gives the same bits.
inline constexpr double several_shards_cost = 3;

/// Beyond this the statistics hardly grow younger.
inline constexpr std::size_t most_usual_superchunks = 32;

/// The S that takes the least time to a maximum that is approached slowly, (1 + 1/S)(T + S·O) / 2, for rows whose
/// products take T and superchunks that take O.
inline std::size_t usual_device_superchunks(std::size_t shard_rows, std::size_t statistics_size, bool shards_wait) {
  const double work = static_cast<double>(shard_rows) * static_cast<double>(statistics_size);
  const double cost = superchunk_work * (shards_wait ? several_shards_cost : 1);
  const auto best = static_cast<std::size_t>(std::sqrt(work / cost));
  return std::clamp<std::size_t>(best, 2, most_usual_superchunks);
}

/// Steps of a stepwise pass, and chunks that a step takes from different places, because rows often lie sorted.
inline constexpr std::size_t usual_device_steps = 16;
inline constexpr std::size_t stepwise_chunks = 4;

}  // namespace shoal::gmm
