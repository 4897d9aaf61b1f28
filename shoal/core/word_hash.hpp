// A hash of numbers by every bit of them.
#pragma once

#include <bit>
#include <cstdint>

namespace shoal {

/// FNV-1a over 64-bit words, mixed after each.
class word_hash {
 public:
  void take(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x100000001b3u;
    value_ ^= value_ >> 32;
  }
  void take(double number) { take(std::bit_cast<std::uint64_t>(number)); }

  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace shoal
