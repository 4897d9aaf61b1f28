// Several arrays in one piece of a GPU's memory.
#pragma once

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>

namespace shoal {

/// Arrays that are allocated together: one piece of memory takes as long to get and to give back as each of them would.
/// First all are asked for, then they are there.
class device_parts {
 public:
  /// Asks for room for so many elements; says where it will be.
  template <class Element>
  std::size_t add(std::size_t count) {
    const std::size_t first = bytes_;
    bytes_ += (count * sizeof(Element) + unit - 1) / unit * unit;
    return first;
  }
  std::size_t bytes() const { return bytes_; }
  /// On the current device.
  void allocate() { memory_.grow(bytes_); }
  template <class Element>
  Element* at(std::size_t place) {
    return reinterpret_cast<Element*>(memory_.data() + place);
  }

 private:
  static constexpr std::size_t unit = 256;  // as the allocator's own
  std::size_t bytes_ = 0;
  cuda::device_buffer<unsigned char> memory_;
};

}  // namespace shoal
