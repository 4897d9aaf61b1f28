// Memory that starts on a cache line, for rows and for vector registers.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace shoal {

/// Uninitialised memory for `size()` elements, aligned to a cache line. `grow` keeps no old contents.
template <class Element>
class aligned_buffer {
  static_assert(std::is_trivially_copyable_v<Element>);

 public:
  static constexpr std::size_t alignment = 64;

  aligned_buffer() = default;
  explicit aligned_buffer(std::size_t size) { grow(size); }
  aligned_buffer(aligned_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  aligned_buffer& operator=(aligned_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~aligned_buffer() { std::free(data_); }

  /// Makes room for at least `size` elements; the contents are lost when the memory moves.
  void grow(std::size_t size) {
    if (size <= size_) return;
    std::free(data_);
    data_ = nullptr;
    size_ = 0;
    const std::size_t bytes = (size * sizeof(Element) + alignment - 1) / alignment * alignment;
    data_ = static_cast<Element*>(std::aligned_alloc(alignment, bytes));
    if (data_ == nullptr) throw std::bad_alloc();
    size_ = size;
  }

  Element* data() { return data_; }
  const Element* data() const { return data_; }
  std::size_t size() const { return size_; }
  Element& operator[](std::size_t index) { return data_[index]; }
  const Element& operator[](std::size_t index) const { return data_[index]; }

 private:
  Element* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace shoal
