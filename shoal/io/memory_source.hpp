// Rows in memory that grows as they come.
#pragma once

#include <cstddef>
#include <utility>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// Memory that grows without ever being held twice: the kernel moves its pages.
class growing_memory {
 public:
  growing_memory() = default;
  growing_memory(growing_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  growing_memory& operator=(growing_memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~growing_memory();

  /// Room for at least `bytes`, with the contents kept. Throws std::bad_alloc.
  void reserve(std::size_t bytes);
  /// Gives back what lies beyond `bytes`.
  void trim(std::size_t bytes);

  std::byte* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

 private:
  void resize(std::size_t bytes);

  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// Rows in memory of their own.
template <class Scalar>
class memory_source final : public row_source<Scalar> {
 public:
  memory_source(growing_memory memory, std::size_t rows, std::size_t columns)
      : memory_(std::move(memory)), view_(reinterpret_cast<const Scalar*>(memory_.data()), rows, columns) {}
  std::size_t rows() const override { return view_.rows(); }
  std::size_t columns() const override { return view_.columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>&) const override {
    return view_.middle_rows(first, count);
  }
  bool resident() const override { return true; }

 private:
  growing_memory memory_;
  matrix_view<const Scalar> view_;
};

}  // namespace shoal
