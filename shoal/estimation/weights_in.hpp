// Weights in the scalar of the rows that they belong to.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>

#include <shoal/estimation/check_statistics.hpp>
#include <shoal/estimation/data_summary.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal {

/// One column of another source times a power of two, rounded to Scalar once and last. Borrows the source.
template <class Scalar, class From>
class scaled_column final : public row_source<Scalar> {
 public:
  scaled_column(const row_source<From>& source, int exponent) : source_(&source), exponent_(exponent) {}
  std::size_t rows() const override { return source_->rows(); }
  std::size_t columns() const override { return source_->columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    thread_local aligned_buffer<From> inner;
    const auto values = source_->read(first, count, inner);
    buffer.grow(count);
    for (std::size_t i = 0; i < count; ++i) buffer[i] = static_cast<Scalar>(std::ldexp(values(i, 0), exponent_));
    return {buffer.data(), count, 1};
  }
  bool resident() const override { return source_->resident(); }

 private:
  const row_source<From>* source_;
  int exponent_;
};

/// The exponent of the power of two by which weights are divided: 0 when the largest is near one.
int weight_exponent(double largest_weight);

/// Weights as the rows' scalar holds them. Those that come in it are taken as they are. Others are looked through once
/// in their own scalar, which says what their sum is, and brought near one by a power of two before they are rounded:
/// float32 holds neither 1e39 nor 1e-60, nor counts above 2²⁴. One below 1e-45 of the largest becomes zero.
template <class Scalar>
class weights_in {
 public:
  using other = std::conditional_t<std::is_same_v<Scalar, float>, double, float>;

  /// Looks at rows `own` alone when it is given. Throws bad_data for weights that cannot be used (see check_data).
  weights_in(const fold_context& context, row_weights weights, std::optional<row_range> own = {});

  /// Null without weights.
  const row_source<Scalar>* get() const { return source_; }
  /// Whether they came in another scalar.
  bool converted() const { return converted_ != nullptr; }
  /// Brings what was found with get() into the caller's weights.
  void bring_back(check_statistics& found) const;
  void bring_back(data_summary& found) const;

 private:
  std::unique_ptr<row_source<Scalar>> converted_;
  const row_source<Scalar>* source_;
  int exponent_ = 0;
  double total_ = 0;
  double largest_ = 0;
};
extern template class weights_in<float>;
extern template class weights_in<double>;

}  // namespace shoal
