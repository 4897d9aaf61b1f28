// The random words of the fingerprint of labels (kmeans/accumulate.cpp), on the device.
#pragma once

#include <cstdint>

#include <shoal/random/stream.hpp>

namespace shoal::kmeans {

inline constexpr int hashed_rows = 512;  // block_rows of the fingerprint

struct hash_words {
  unsigned words[2 * hashed_rows];
};
constexpr hash_words make_hash_words() {
  hash_words made{};
  for (int i = 0; i < 2 * hashed_rows; ++i) {
    made.words[i] = static_cast<unsigned>(random::mix(static_cast<std::uint64_t>(i), 0) >> 32);
  }
  return made;
}
/// A block of 512 rows hashes to Σ label · words[row] mod 2³² (low) and Σ label · words[512 + row] mod 2³² (high).
static __device__ constexpr hash_words hash_table = make_hash_words();

/// What that block adds to the fingerprint.
__device__ inline unsigned long long hash_of_block(unsigned long long odd, unsigned low, unsigned high) {
  return odd * (static_cast<unsigned long long>(high) << 32 | low);
}
__device__ inline unsigned long long odd_of_block(std::size_t block) { return random::mix(block, 1) | 1; }

}  // namespace shoal::kmeans
