// Trains a map on rows.
#pragma once

#include <shoal/core/matrix_view.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>
#include <shoal/som/options.hpp>
#include <shoal/som/result.hpp>

namespace shoal::som {

/// Trains a map on rows (optionally weighted: one column of weights ≥ 0, as many rows). A batch epoch moves unit i by
/// Σⱼ hᵢⱼ(Sⱼ − nⱼwᵢ) / Σⱼ|hᵢⱼ|nⱼ, where Sⱼ = Σ w·x and nⱼ = Σ w over the rows that unit j matches best: to the mean of
/// the rows weighted by h where h is not negative. An online step moves unit i by rate·hᵢ of the way to the row; a row
/// of weight w counts as w visits. Throws bad_argument, bad_data (not finite, no rows), interrupted, io_error.
fit_result fit(const row_source<float>& rows, const options& options, row_weights weights = {},
               const control& control = {});
fit_result fit(const row_source<double>& rows, const options& options, row_weights weights = {},
               const control& control = {});
fit_result fit(matrix_view<const float> rows, const options& options);
fit_result fit(matrix_view<const double> rows, const options& options);

}  // namespace shoal::som
