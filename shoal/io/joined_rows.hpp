// Rows of several files, one below the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <shoal/io/row_source.hpp>

namespace shoal {

/// Parts of the same columns, in their order. What lies in one part is read as that part reads it; rows of two parts
/// are copied together.
template <class Scalar>
class joined_rows final : public row_source<Scalar> {
 public:
  explicit joined_rows(std::vector<std::unique_ptr<row_source<Scalar>>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) ends_.push_back(part->rows() + (ends_.empty() ? 0 : ends_.back()));
  }

  std::size_t rows() const override { return ends_.back(); }
  std::size_t columns() const override { return parts_.front()->columns(); }
  bool resident() const override { return false; }

  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    auto at = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), first) - ends_.begin());
    at = std::min(at, parts_.size() - 1);  // of no rows at the end
    if (first + count <= ends_[at]) return parts_[at]->read(first - begin(at), count, buffer);
    buffer.grow(count * columns());
    Scalar* to = buffer.data();
    aligned_buffer<Scalar> own;
    for (std::size_t next = first; next < first + count; ++at) {
      const std::size_t some = std::min(ends_[at], first + count) - next;
      const matrix_view<const Scalar> rows = parts_[at]->read(next - begin(at), some, own);
      for (std::size_t i = 0; i < some; ++i) to = std::copy_n(rows.row(i), columns(), to);
      next += some;
    }
    return {buffer.data(), count, columns()};
  }

 private:
  std::size_t begin(std::size_t part) const { return part == 0 ? 0 : ends_[part - 1]; }

  std::vector<std::unique_ptr<row_source<Scalar>>> parts_;
  std::vector<std::size_t> ends_;  // of each part, in all rows
};

}  // namespace shoal
