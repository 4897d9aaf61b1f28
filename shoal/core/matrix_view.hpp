// A matrix that somebody else owns: pointer, rows, columns and row stride.
#pragma once

#include <cstddef>
#include <type_traits>

namespace shoal {

/// A row-major matrix that somebody else owns. `row_stride` counts elements between the starts of consecutive rows and
/// is at least `columns`. Element is `float`, `double`, or either of them const.
template <class Element>
class matrix_view {
 public:
  constexpr matrix_view() = default;
  constexpr matrix_view(Element* data, std::size_t rows, std::size_t columns)
      : matrix_view(data, rows, columns, columns) {}
  constexpr matrix_view(Element* data, std::size_t rows, std::size_t columns, std::size_t row_stride)
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride) {}

  /// A view that may be written is also one that may be read.
  constexpr operator matrix_view<const Element>() const requires(!std::is_const_v<Element>) {
    return {data_, rows_, columns_, row_stride_};
  }

  constexpr Element* data() const { return data_; }
  constexpr std::size_t rows() const { return rows_; }
  constexpr std::size_t columns() const { return columns_; }
  constexpr std::size_t row_stride() const { return row_stride_; }
  constexpr Element* row(std::size_t row) const { return data_ + row * row_stride_; }
  constexpr Element& operator()(std::size_t row, std::size_t column) const { return data_[row * row_stride_ + column]; }

  /// Rows [first, first + count).
  constexpr matrix_view middle_rows(std::size_t first, std::size_t count) const {
    return {data_ + first * row_stride_, count, columns_, row_stride_};
  }

 private:
  Element* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t row_stride_ = 0;
};

}  // namespace shoal
