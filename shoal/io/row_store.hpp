// Rows that are read once, in order, and kept in memory or, when they are too large, in an unnamed temporary file.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <shoal/io/file.hpp>
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

/// Collects rows one after another. The temporary file is made when the rows first exceed the limit.
template <class Scalar>
class row_store {
 public:
  /// `path` names the file that the rows come from; `memory_limit` 0 means no limit.
  row_store(std::string path, std::size_t columns, std::size_t memory_limit)
      : path_(std::move(path)), columns_(columns), memory_limit_(memory_limit) {}

  /// Where the next row goes; it counts once add_row() is called.
  Scalar* next_row() {
    const std::size_t needed = used_ + columns_ * sizeof(Scalar);
    if (needed > room_) make_room(needed);
    return reinterpret_cast<Scalar*>(memory_.data() + used_);
  }
  void add_row() {
    used_ += columns_ * sizeof(Scalar);
    ++rows_;
  }

  std::size_t rows() const { return rows_; }

  /// All rows, in their order.
  std::unique_ptr<row_source<Scalar>> finish();

 private:
  void make_room(std::size_t needed);

  std::string path_;
  std::size_t columns_;
  std::size_t memory_limit_;
  std::size_t rows_ = 0;
  std::size_t used_ = 0;  // bytes of memory_ that hold rows
  std::size_t room_ = 0;  // bytes of memory_ that may hold rows
  growing_memory memory_;
  std::optional<temporary_file> spilled_;
};

extern template class row_store<float>;
extern template class row_store<double>;

}  // namespace shoal
