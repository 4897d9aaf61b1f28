// An endless stream of random words that (seed, stream, index) names, the same on every platform.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <shoal/random/philox.hpp>

namespace shoal::random {

/// A 64-bit hash of the ordered pair (a, b): for fingerprints, Σ mix(row, label) mod 2⁶⁴, and for the seeds of
/// unrelated uses of one seed. Two rounds of the finaliser of SplitMix64 (Steele, Lea, Flood 2014, with Stafford's
/// constants).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  constexpr auto finalise = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  };
  constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;
  return finalise(finalise(a + golden_ratio) + b * golden_ratio + golden_ratio);
}

/// The 52 high bits as a number in the open interval (0, 1): the odd multiples of 2⁻⁵³, exactly, so that neither ln(u)
/// nor ln(1 − u) is infinite and u and 1 − u are equally likely.
constexpr double open_uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

/// The uniform in (0, 1) that (seed, stream, index) names, without any state: the first one of stream(seed, id, index).
constexpr double uniform_at(std::uint64_t seed, std::uint64_t id, std::uint64_t index) {
  const auto words = philox4x32::block(seed, id, index);
  return open_uniform(words[0] | static_cast<std::uint64_t>(words[1]) << 32);
}

/// Words in order from the blocks index, index + 1, … of the Philox counter (id, index) under the key `seed`. Different
/// streams never share a block; a stream is a value of a few words, cheap enough to make one for each row.
class stream {
 public:
  /// `index` is the first block, of 128 bits.
  constexpr stream(std::uint64_t seed, std::uint64_t id, std::uint64_t index = 0)
      : seed_(seed), id_(id), index_(index) {}

  /// 32 uniform bits.
  constexpr std::uint32_t next_u32() {
    if (position_ == words_.size()) refill();
    return words_[position_++];
  }

  /// 64 uniform bits: the next word is the low half, the one after it the high half.
  constexpr std::uint64_t next_u64() {
    const std::uint64_t low = next_u32();
    return low | static_cast<std::uint64_t>(next_u32()) << 32;
  }

  /// Uniform in the open interval (0, 1), in odd multiples of 2⁻⁵³.
  constexpr double uniform() { return open_uniform(next_u64()); }

 private:
  constexpr void refill() {
    words_ = philox4x32::block(seed_, id_, index_++);
    position_ = 0;
  }

  std::uint64_t seed_;
  std::uint64_t id_;
  std::uint64_t index_;
  std::array<std::uint32_t, 4> words_{};
  std::size_t position_ = 4;
};

}  // namespace shoal::random
