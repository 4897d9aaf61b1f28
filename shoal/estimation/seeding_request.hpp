// What a seeding is asked for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shoal {

/// What to choose, and the random stream to choose it by: the same (seed, stream) chooses the same rows on any number
/// of threads and under any memory limit.
struct seeding_request {
  std::size_t clusters = 0;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;  ///< restarts use different streams
  std::size_t trials = 0;    ///< rows that greedy k-means++ draws in each step; 0: 2 + floor(ln clusters)
};

}  // namespace shoal
