// Rows that are read once, in order, and kept in memory or, when they are too large, in an unnamed temporary file.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <shoal/io/file.hpp>
#include <shoal/io/memory_source.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

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
