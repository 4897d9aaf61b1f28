#include <shoal/estimation/data_summary.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

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

template void check_shapes(const row_source<float>&, row_weights);
template void check_shapes(const row_source<double>&, row_weights);
template void refuse_weights(const check_statistics&, const row_source<float>&);
template void refuse_weights(const check_statistics&, const row_source<double>&);
template data_summary summarise(const check_statistics&, const row_source<float>&, const row_source<float>*);
template data_summary summarise(const check_statistics&, const row_source<double>&, const row_source<double>*);

}  // namespace shoal
