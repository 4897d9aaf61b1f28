// Where rows come from: memory, a mapped file, or a file that is read piece by piece.
#pragma once

#include <cstddef>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal {

/// Rows that can be read in any order, any number of times, from several threads at once.
/// Scalar is float or double; a source of another element type converts piece by piece.
template <class Scalar>
class row_source {
 public:
  virtual ~row_source() = default;

  virtual std::size_t rows() const = 0;
  virtual std::size_t columns() const = 0;

  /// Rows [first, first + count): a view of memory that the source owns, or rows converted into `buffer`, which the
  /// caller keeps as long as the view. Safe to call from several threads with different buffers.
  /// Throws io_error when the file cannot be read or has changed.
  virtual matrix_view<const Scalar> read(std::size_t first, std::size_t count,
                                         aligned_buffer<Scalar>& buffer) const = 0;

  /// True when read() copies nothing, so that rows need no buffer.
  virtual bool resident() const = 0;
};

/// Rows in memory that somebody else owns.
template <class Scalar>
class view_source final : public row_source<Scalar> {
 public:
  explicit view_source(matrix_view<const Scalar> rows) : rows_(rows) {}
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t columns() const override { return rows_.columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>&) const override {
    return rows_.middle_rows(first, count);
  }
  bool resident() const override { return true; }

 private:
  matrix_view<const Scalar> rows_;
};

}  // namespace shoal
