// Fits a mixture to rows.
#pragma once

#include <shoal/core/matrix_view.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/result.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal::gmm {

/// Fits rows (optionally weighted: one column of weights ≥ 0, as many rows). Throws bad_argument, bad_data (not finite,
/// fewer rows than components), numerical_error (a covariance that is not positive definite, by component),
/// interrupted, io_error.
fit_result fit(const row_source<float>& rows, const options& options, row_weights weights = {},
               const control& control = {});
fit_result fit(const row_source<double>& rows, const options& options, row_weights weights = {},
               const control& control = {});
fit_result fit(matrix_view<const float> rows, const options& options);
fit_result fit(matrix_view<const double> rows, const options& options);

}  // namespace shoal::gmm
