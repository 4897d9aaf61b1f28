// std::vector for numbers that vector registers read and write.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>

namespace shoal {

/// Memory that starts on a cache line.
template <class Element>
struct cache_line_allocator {
  using value_type = Element;
  static constexpr std::align_val_t alignment{aligned_buffer<Element>::alignment};

  cache_line_allocator() = default;
  template <class Other>
  cache_line_allocator(const cache_line_allocator<Other>&) {}

  Element* allocate(std::size_t count) {
    return static_cast<Element*>(::operator new(count * sizeof(Element), alignment));
  }
  void deallocate(Element* memory, std::size_t) { ::operator delete(memory, alignment); }

  bool operator==(const cache_line_allocator&) const = default;
};

/// A vector whose first element starts a cache line, so that a register's worth of it lies in one line.
template <class Element>
using aligned_vector = std::vector<Element, cache_line_allocator<Element>>;

}  // namespace shoal
