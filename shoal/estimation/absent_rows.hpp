// Rows of weight zero count nothing, and must not reach what sums up the others.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <shoal/estimation/data_summary.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/execution/rank_rows.hpp>

namespace shoal {

/// Fills lowest and highest of `summary`: of all rows, or of rows `own`, those of weight zero too. Reads the rows again
/// when some weigh nothing.
template <class Scalar>
void find_extremes(const fold_context& context, const row_source<Scalar>& rows, std::optional<row_range> own,
                   data_summary& summary);
extern template void find_extremes(const fold_context&, const row_source<float>&, std::optional<row_range>,
                                   data_summary&);
extern template void find_extremes(const fold_context&, const row_source<double>&, std::optional<row_range>,
                                   data_summary&);

/// Whether rows of weight zero lie so far from the others that squares of their differences leave the range of Scalar:
/// zero times infinity is no number.
template <class Scalar>
bool absent_rows_lie_too_far(const data_summary& summary);
extern template bool absent_rows_lie_too_far<float>(const data_summary&);
extern template bool absent_rows_lie_too_far<double>(const data_summary&);

/// The rows of another source, those of weight zero no farther from the others than these lie apart. Borrows both
/// sources.
template <class Scalar>
class nearer_absent_rows final : public row_source<Scalar> {
 public:
  nearer_absent_rows(const row_source<Scalar>& rows, const row_source<Scalar>& weights, const data_summary& summary);
  std::size_t rows() const override { return rows_->rows(); }
  std::size_t columns() const override { return rows_->columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override;
  bool resident() const override { return false; }

 private:
  const row_source<Scalar>* rows_;
  const row_source<Scalar>* weights_;
  std::vector<Scalar> low_;
  std::vector<Scalar> high_;
};
extern template class nearer_absent_rows<float>;
extern template class nearer_absent_rows<double>;

}  // namespace shoal
