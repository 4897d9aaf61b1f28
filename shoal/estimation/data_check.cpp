#include <shoal/estimation/data_check.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/check_statistics.hpp>
#include <shoal/execution/rank_rows.hpp>

namespace shoal {
namespace {

template <class Scalar>
[[noreturn]] void refuse_row(const row_source<Scalar>& rows, std::size_t row) {
  aligned_buffer<Scalar> buffer;
  const auto values = rows.read(row, 1, buffer);
  for (std::size_t column = 0; column < values.columns(); ++column) {
    const Scalar value = values(0, column);
    if (std::isfinite(value)) continue;
    throw bad_data(fmt::format(
        "row {}, column {} (counting from 0): the value is {}; remove or replace the values that are not finite{}", row,
        column,
        std::isnan(value) ? "NaN"
        : value > 0       ? "infinite"
                          : "minus infinite",
        sizeof(Scalar) == 4 && std::isinf(value) ? " (a value beyond float32's range becomes infinite: try float64)"
                                                 : ""));
  }
  throw bad_data(fmt::format("row {} changed during the fit; nothing may write to the data", row));
}

}  // namespace

template <class Scalar>
void check_shapes(const row_source<Scalar>& rows, const row_source<Scalar>* weights) {
  if (rows.rows() == 0) throw bad_data("the data have no rows");
  if (rows.columns() == 0) throw bad_data("the data have no columns");
  if (weights != nullptr && weights->columns() != 1) {
    throw bad_argument(fmt::format("weights must be one column; got {} columns", weights->columns()));
  }
  if (weights != nullptr && weights->rows() != rows.rows()) {
    throw bad_argument(
        fmt::format("weights must have one value for each of the {} rows; got {}", rows.rows(), weights->rows()));
  }
}

template <class Scalar>
data_summary summarise(const check_statistics& all, const row_source<Scalar>& rows, const row_source<Scalar>* weights) {
  if (all.bad_weight != no_bad_row) {
    aligned_buffer<Scalar> buffer;
    throw bad_data(fmt::format("the weight of row {} (counting from 0) is {}; weights must be finite and not negative",
                               all.bad_weight, weights->read(all.bad_weight, 1, buffer)(0, 0)));
  }
  if (all.bad_row != no_bad_row) refuse_row(rows, all.bad_row);
  if (!(all.weight > 0)) throw bad_data("all weights are zero; at least one row needs a positive weight");
  if (!std::isfinite(all.weight))
    throw bad_data("the sum of the weights is not finite; divide them by a common factor");

  data_summary summary;
  summary.rows = all.rows;
  summary.columns = rows.columns();
  summary.positive_rows = all.positive_rows;
  summary.total_weight = all.weight;
  summary.largest_weight = all.largest_weight;
  summary.mean = all.mean;
  summary.variance = all.second_moment;
  for (double& variance : summary.variance) variance /= all.weight;
  summary.minimum = all.minimum;
  summary.maximum = all.maximum;
  summary.fingerprint = all.fingerprint;
  return summary;
}

template <class Scalar>
data_summary check_data(const fold_context& context, const row_source<Scalar>& rows, const row_source<Scalar>* weights,
                        bool fingerprint) {
  check_shapes(rows, weights);
  const check_statistics all = fold<Scalar>(context, weighted_rows<Scalar>{&rows, weights, 1.0},
                                            check_monoid{rows.columns()}, check_body<Scalar>{fingerprint});
  const fetched_rows<Scalar> bad_row(context, rows);
  if (weights == nullptr) return summarise<Scalar>(all, bad_row, nullptr);
  const fetched_rows<Scalar> bad_weight(context, *weights);
  return summarise<Scalar>(all, bad_row, &bad_weight);
}

template void check_shapes(const row_source<float>&, const row_source<float>*);
template void check_shapes(const row_source<double>&, const row_source<double>*);
template data_summary summarise(const check_statistics&, const row_source<float>&, const row_source<float>*);
template data_summary summarise(const check_statistics&, const row_source<double>&, const row_source<double>*);
template data_summary check_data(const fold_context&, const row_source<float>&, const row_source<float>*, bool);
template data_summary check_data(const fold_context&, const row_source<double>&, const row_source<double>*, bool);

template <class Scalar>
void check_span(const data_summary& summary, std::span<const double> points) {
  constexpr bool narrow = sizeof(Scalar) == 4;
  constexpr double widest = narrow ? 1e17 : 1e150;
  for (std::size_t j = 0; j < summary.columns; ++j) {
    double least = summary.minimum[j], greatest = summary.maximum[j];
    for (std::size_t at = j; at < points.size(); at += summary.columns) {
      least = std::min(least, points[at]);
      greatest = std::max(greatest, points[at]);
    }
    const double span = greatest - least;
    if (span <= widest) continue;
    throw bad_data(
        fmt::format("column {} spans {:.3g}, and squares of more than {:.0e} leave the range of {}: {}divide the "
                    "column by a constant",
                    j, span, widest, narrow ? "float32" : "float64", narrow ? "use float64 or " : ""));
  }
}

template void check_span<float>(const data_summary&, std::span<const double>);
template void check_span<double>(const data_summary&, std::span<const double>);

namespace {

template <class Scalar>
class scaled_source final : public row_source<Scalar> {
 public:
  scaled_source(const row_source<Scalar>& source, int exponent) : source_(&source), exponent_(exponent) {}
  std::size_t rows() const override { return source_->rows(); }
  std::size_t columns() const override { return source_->columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    thread_local aligned_buffer<Scalar> inner;
    const auto values = source_->read(first, count, inner);
    buffer.grow(count);
    for (std::size_t i = 0; i < count; ++i) buffer[i] = std::ldexp(values(i, 0), exponent_);
    return {buffer.data(), count, 1};
  }
  bool resident() const override { return source_->resident(); }

 private:
  const row_source<Scalar>* source_;
  int exponent_;
};

// Within this range products of a weight, a responsibility and squares cannot leave float32's range on sane data.
constexpr int harmless_exponent = 20;

}  // namespace

std::vector<double> column_variances(const data_summary& summary) {
  std::vector<double> variances = summary.variance;
  for (std::size_t j = 0; j < variances.size(); ++j) {
    if (summary.minimum[j] == summary.maximum[j]) variances[j] = 0;
  }
  return variances;
}

double weight_scale(double largest_weight) {
  const int exponent = std::ilogb(largest_weight);
  return std::abs(exponent) <= harmless_exponent ? 1.0 : std::ldexp(1.0, exponent);
}

template <class Scalar>
scaled_rows<Scalar>::scaled_rows(const row_source<Scalar>& rows, const row_source<Scalar>* weights,
                                 const data_summary& summary)
    : data_{&rows, weights, 1.0} {
  if (weights == nullptr) return;
  const double scale = weight_scale(summary.largest_weight);
  if (scale == 1) return;
  wrapper_ = std::make_unique<scaled_source<Scalar>>(*weights, -std::ilogb(scale));
  data_.weights = wrapper_.get();
  data_.weight_scale = scale;
}

template class scaled_rows<float>;
template class scaled_rows<double>;

}  // namespace shoal
