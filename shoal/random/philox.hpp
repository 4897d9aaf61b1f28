// Philox4x32-10: 128 random bits as a pure function of a key and a counter.
#pragma once

#include <array>
#include <cstdint>

namespace shoal::random {

/// The counter-based generator Philox4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as
/// easy as 1, 2, 3", SC 2011). A bijection of the 128-bit counter for every 64-bit key, so that distinct counters give
/// distinct blocks. Passes BigCrush. Not for cryptography.
struct philox4x32 {
  /// Four 32-bit words, uniform. The paper's key words are (low, high) of `key`, and its counter words are (low, high)
  /// of `counter_lo`, then (low, high) of `counter_hi`.
  static constexpr std::array<std::uint32_t, 4> block(std::uint64_t key, std::uint64_t counter_hi,
                                                      std::uint64_t counter_lo) {
    std::uint32_t key0 = low(key), key1 = high(key);
    std::uint32_t c0 = low(counter_lo), c1 = high(counter_lo), c2 = low(counter_hi), c3 = high(counter_hi);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53} * c0;
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * c2;
      c0 = high(product1) ^ c1 ^ key0;
      c1 = low(product1);
      c2 = high(product0) ^ c3 ^ key1;
      c3 = low(product0);
      key0 += 0x9E3779B9;  // the golden ratio, the paper's Weyl sequence
      key1 += 0xBB67AE85;  // √3 − 1
    }
    return {c0, c1, c2, c3};
  }

 private:
  static constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
  static constexpr std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }
};

}  // namespace shoal::random
