#include <shoal/estimation/data_check.hpp>

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/absent_rows.hpp>
#include <shoal/estimation/check_spread.hpp>
#include <shoal/estimation/check_statistics.hpp>
#include <shoal/estimation/weights_in.hpp>
#include <shoal/execution/rank_rows.hpp>

namespace shoal {
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

template data_summary check_data(const fold_context&, const row_source<float>&, row_weights, bool);
template data_summary check_data(const fold_context&, const row_source<double>&, row_weights, bool);

template <class Scalar>
void check_span(const data_summary& summary, std::span<const double> points) {
  constexpr bool narrow = sizeof(Scalar) == 4;
  constexpr double widest = widest_span<Scalar>;
  const std::vector<double> spans = column_spans(summary, points);
  for (std::size_t j = 0; j < summary.columns; ++j) {
    const double span = spans[j];
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
