#include <shoal/estimation/data_check.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/absent_rows.hpp>
#include <shoal/estimation/check_statistics.hpp>
#include <shoal/estimation/weights_in.hpp>
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

void refuse_sum_of_weights(double sum) {
  if (!(sum > 0)) throw bad_data("all weights are zero; at least one row needs a positive weight");
  if (!std::isfinite(sum)) throw bad_data("the sum of the weights is not finite; divide them by a common factor");
}

}  // namespace

template <class Scalar>
void check_shapes(const row_source<Scalar>& rows, row_weights weights) {
  if (rows.rows() == 0) throw bad_data("the data have no rows");
  if (rows.columns() == 0) throw bad_data("the data have no columns");
  if (!weights.given()) return;
  weights.visit([&](const auto& source) {
    if (source.columns() != 1) {
      throw bad_argument(fmt::format("weights must be one column; got {} columns", source.columns()));
    }
    if (source.rows() != rows.rows()) {
      throw bad_argument(
          fmt::format("weights must have one value for each of the {} rows; got {}", rows.rows(), source.rows()));
    }
  });
}

template <class Scalar>
void refuse_weights(const check_statistics& all, const row_source<Scalar>& weights) {
  if (all.bad_weight != no_bad_row) {
    aligned_buffer<Scalar> buffer;
    throw bad_data(fmt::format("the weight of row {} (counting from 0) is {}; weights must be finite and not negative",
                               all.bad_weight, weights.read(all.bad_weight, 1, buffer)(0, 0)));
  }
  refuse_sum_of_weights(all.weight);
}

template <class Scalar>
data_summary summarise(const check_statistics& all, const row_source<Scalar>& rows, const row_source<Scalar>* weights) {
  if (all.bad_row != no_bad_row && all.bad_weight == no_bad_row) refuse_row(rows, all.bad_row);
  if (weights != nullptr) refuse_weights(all, *weights);

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
data_summary check_data(const fold_context& context, const row_source<Scalar>& rows, row_weights weights,
                        bool fingerprint) {
  check_shapes(rows, weights);
  const weights_in<Scalar> held(context, weights);
  const check_statistics all = fold<Scalar>(context, weighted_rows<Scalar>{&rows, held.get(), 1.0},
                                            check_monoid{rows.columns()}, check_body<Scalar>{fingerprint});
  const fetched_rows<Scalar> bad_row(context, rows);
  std::optional<fetched_rows<Scalar>> bad_weight;
  if (held.get() != nullptr) bad_weight.emplace(context, *held.get());
  data_summary summary = summarise<Scalar>(all, bad_row, bad_weight ? &*bad_weight : nullptr);
  held.bring_back(summary);
  find_extremes<Scalar>(context, rows, {}, summary);
  return summary;
}

template void check_shapes(const row_source<float>&, row_weights);
template void check_shapes(const row_source<double>&, row_weights);
template void refuse_weights(const check_statistics&, const row_source<float>&);
template void refuse_weights(const check_statistics&, const row_source<double>&);
template data_summary summarise(const check_statistics&, const row_source<float>&, const row_source<float>*);
template data_summary summarise(const check_statistics&, const row_source<double>&, const row_source<double>*);
template data_summary check_data(const fold_context&, const row_source<float>&, row_weights, bool);
template data_summary check_data(const fold_context&, const row_source<double>&, row_weights, bool);

template <class Scalar>
void check_span(const data_summary& summary, std::span<const double> points) {
  constexpr bool narrow = sizeof(Scalar) == 4;
  constexpr double widest = widest_span<Scalar>;
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

std::vector<double> column_variances(const data_summary& summary) {
  std::vector<double> variances = summary.variance;
  for (std::size_t j = 0; j < variances.size(); ++j) {
    if (summary.minimum[j] == summary.maximum[j]) variances[j] = 0;
  }
  return variances;
}

double weight_scale(double largest_weight) { return std::ldexp(1.0, weight_exponent(largest_weight)); }

template <class Scalar>
scaled_rows<Scalar>::scaled_rows(const row_source<Scalar>& rows, row_weights weights, const data_summary& summary,
                                 bool every_row_as_it_is)
    : data_{&rows, weights.in<Scalar>(), 1.0} {
  if (!weights.given()) return;
  const int exponent = weight_exponent(summary.largest_weight);
  if (exponent != 0 || data_.weights == nullptr) {
    wrapper_ =
        weights.visit([exponent]<class From>(const row_source<From>& source) -> std::unique_ptr<row_source<Scalar>> {
          return std::make_unique<scaled_column<Scalar, From>>(source, -exponent);
        });
    data_.weights = wrapper_.get();
    data_.weight_scale = std::ldexp(1.0, exponent);
  }
  if (every_row_as_it_is || !absent_rows_lie_too_far<Scalar>(summary)) return;
  nearer_ = std::make_unique<nearer_absent_rows<Scalar>>(rows, *data_.weights, summary);
  data_.rows = nearer_.get();
}

template class scaled_rows<float>;
template class scaled_rows<double>;

}  // namespace shoal
