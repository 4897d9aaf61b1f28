// Rows that are read by copying, so that a memory limit and the pieces matter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/io/row_source.hpp>

namespace fit_data {

/// Rows that are copied piece by piece, as those of a file are.
template <class Scalar>
class copying_source final : public shoal::row_source<Scalar> {
 public:
  copying_source(const std::vector<Scalar>& values, std::size_t columns) : values_(values), columns_(columns) {}
  std::size_t rows() const override { return values_.size() / columns_; }
  std::size_t columns() const override { return columns_; }
  shoal::matrix_view<const Scalar> read(std::size_t first, std::size_t count,
                                        shoal::aligned_buffer<Scalar>& buffer) const override {
    buffer.grow(count * columns_);
    std::copy_n(values_.data() + first * columns_, count * columns_, buffer.data());
    return {buffer.data(), count, columns_};
  }
  bool resident() const override { return false; }

 private:
  const std::vector<Scalar>& values_;
  std::size_t columns_;
};

}  // namespace fit_data
