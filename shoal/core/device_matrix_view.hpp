// A matrix in the memory of a CUDA device that somebody else owns: what rows that already lie on a GPU are named by.
#pragma once

#include <cstddef>

namespace shoal {

/// A matrix in the memory of CUDA device `device` (the number that CUDA gives it), which the host cannot read. Element
/// (i, j) lies at data + i · row_stride + j · column_stride; strides count elements. Element is `float` or `double`, or
/// either of them const.
///
/// The memory must stay as it is until the call that it is given to returns. Work that writes it may still be under
/// way: a call waits for all that its device has been given before.
template <class Element>
class device_matrix_view {
 public:
  constexpr device_matrix_view() = default;
  /// Row-major without gaps.
  constexpr device_matrix_view(Element* data, std::size_t rows, std::size_t columns, int device)
      : device_matrix_view(data, rows, columns, columns, 1, device) {}
  constexpr device_matrix_view(Element* data, std::size_t rows, std::size_t columns, std::size_t row_stride,
                               std::size_t column_stride, int device)
      : data_(data),
        rows_(rows),
        columns_(columns),
        row_stride_(row_stride),
        column_stride_(column_stride),
        device_(device) {}

  constexpr Element* data() const { return data_; }
  constexpr std::size_t rows() const { return rows_; }
  constexpr std::size_t columns() const { return columns_; }
  constexpr std::size_t row_stride() const { return row_stride_; }
  constexpr std::size_t column_stride() const { return column_stride_; }
  constexpr int device() const { return device_; }

  /// True when the elements are row-major without gaps, so that rows can be used where they are.
  constexpr bool contiguous() const {
    return (row_stride_ == columns_ || rows_ <= 1) && (column_stride_ == 1 || columns_ == 1);
  }
  /// Rows [first, first + count).
  constexpr device_matrix_view middle_rows(std::size_t first, std::size_t count) const {
    return {data_ + first * row_stride_, count, columns_, row_stride_, column_stride_, device_};
  }

 private:
  Element* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t row_stride_ = 0;
  std::size_t column_stride_ = 1;
  int device_ = 0;
};

}  // namespace shoal
