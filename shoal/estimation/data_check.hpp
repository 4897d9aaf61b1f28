// One fold over the data before a fit: is every value finite, and what are the moments of each column?
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <shoal/estimation/data_summary.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal {

/// Reads every row once. Throws bad_data naming the first row and column that are not finite, and weights that are
/// negative, not finite, or all zero; bad_argument when there are not as many weights as rows or not one column of
/// them. Throws bad_data when there is no row or no column. Moments combine by Chan, Golub & LeVeque (1979).
template <class Scalar>
data_summary check_data(const fold_context& context, const row_source<Scalar>& rows, row_weights weights,
                        bool fingerprint = false);
extern template data_summary check_data(const fold_context&, const row_source<float>&, row_weights, bool);
extern template data_summary check_data(const fold_context&, const row_source<double>&, row_weights, bool);

/// The variance of each column, zero where all values are the same: what rounding leaves there is none.
std::vector<double> column_variances(const data_summary& summary);

/// Throws bad_data naming the first column whose values lie so far apart that squares of their differences, or sums of
/// a block of these, leave the range of Scalar, the type that a family computes them in. Rows of weight zero do not
/// count. `points` are what the rows are measured from, [points][columns].
template <class Scalar>
void check_span(const data_summary& summary, std::span<const double> points = {});
extern template void check_span<float>(const data_summary&, std::span<const double>);
extern template void check_span<double>(const data_summary&, std::span<const double>);

/// The power of two by which scaled_rows divides weights: 1 when the largest is near one.
double weight_scale(double largest_weight);

/// Rows with their weights brought near one by a power of two, so that products of a tiny or a huge weight stay in the
/// range of the scalar, and rounded to it only then. Rows of weight zero that lie too far away are brought nearer,
/// unless they are wanted as they are. Owns the wrappers; the sources stay the caller's.
template <class Scalar>
class scaled_rows {
 public:
  scaled_rows(const row_source<Scalar>& rows, row_weights weights, const data_summary& summary,
              bool every_row_as_it_is = false);
  const weighted_rows<Scalar>& data() const { return data_; }

 private:
  std::unique_ptr<row_source<Scalar>> wrapper_;
  std::unique_ptr<row_source<Scalar>> nearer_;
  weighted_rows<Scalar> data_;
};
extern template class scaled_rows<float>;
extern template class scaled_rows<double>;

}  // namespace shoal
