// A hash of every bit that a fit gives.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bits {

/// FNV-1a over 64 bits; numbers are taken byte by byte, the lowest first, so that the order of bytes in memory does not
/// matter. Arrays are taken with their sizes. It is the test's own, so that a change of the library's cannot hide one.
class hash {
 public:
  std::uint64_t value() const { return value_; }

  hash& take(double number) { return take_bytes(std::bit_cast<std::uint64_t>(number), 8); }
  hash& take(float number) { return take_bytes(std::bit_cast<std::uint32_t>(number), 4); }
  hash& take(std::int32_t number) { return take_bytes(static_cast<std::uint32_t>(number), 4); }
  hash& take(std::uint64_t number) { return take_bytes(number, 8); }
  hash& take(bool truth) { return take_bytes(truth ? 1 : 0, 1); }
  template <class Element>
  hash& take(const std::vector<Element>& elements) {
    take(static_cast<std::uint64_t>(elements.size()));
    for (const Element& element : elements) take(element);
    return *this;
  }

 private:
  hash& take_bytes(std::uint64_t word, int bytes) {
    for (int i = 0; i < bytes; ++i) value_ = (value_ ^ (word >> 8 * i & 0xFF)) * 0x100000001b3;
    return *this;
  }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace bits
