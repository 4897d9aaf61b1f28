// Rows that are read by copying, as those of a file are, so that a memory limit and the pieces matter.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/io/row_source.hpp>

namespace copied_rows {

template <class Scalar>
class copying_source final : public shoal::row_source<Scalar> {
 public:
  explicit copying_source(shoal::matrix_view<const Scalar> rows) : rows_(rows) {}
  copying_source(const std::vector<Scalar>& values, std::size_t columns)
      : rows_(values.data(), values.size() / columns, columns) {}
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t columns() const override { return rows_.columns(); }
  shoal::matrix_view<const Scalar> read(std::size_t first, std::size_t count,
                                        shoal::aligned_buffer<Scalar>& buffer) const override {
    buffer.grow(count * columns());
    for (std::size_t i = 0; i < count; ++i) std::copy_n(rows_.row(first + i), columns(), &buffer[i * columns()]);
    std::size_t before = largest_read;
    while (before < count && !largest_read.compare_exchange_weak(before, count)) {
    }
    return {buffer.data(), count, columns()};
  }
  bool resident() const override { return false; }

  mutable std::atomic<std::size_t> largest_read{0};  ///< rows that were asked for together, at most

 private:
  shoal::matrix_view<const Scalar> rows_;
};

}  // namespace copied_rows
