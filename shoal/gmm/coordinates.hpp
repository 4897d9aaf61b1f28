// Mixtures as points of a space in which every point is a mixture: where models can be extrapolated.
#pragma once

#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// The deviations that means and factors are measured in, [columns], and the one that a spherical variance is.
std::vector<double> coordinate_scales(const data_summary& summary);
double common_coordinate_scale(const std::vector<double>& scales);

/// ln πₖ; the means in deviations of each column from its mean over the rows; of each covariance, in the same units,
/// the lower Cholesky factor with the logarithms of its diagonal (diag and spherical: the logarithms of the
/// deviations). Columns that do not vary count as if their deviation were one. Every weight must be positive. Throws
/// numerical_error for a covariance that is not positive definite, by component. Large factors are shared among the
/// workers, when there are any.
std::vector<double> coordinates_of(const model& model, const data_summary& summary, executor* workers = nullptr);

/// Puts the mixture at these coordinates into `into`, which has its type and sizes. Weights are scaled to sum to one.
void place_at(const std::vector<double>& coordinates, const data_summary& summary, model& into,
              executor* workers = nullptr);

}  // namespace shoal::gmm
