// Do rows in float32 say enough of a covariance?
#pragma once

#include <shoal/estimation/data_summary.hpp>
#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// Throws numerical_error naming the first component whose matrix is singular but for the regularization, having no
/// more rows than columns, where rounding of the sums in Scalar outweighs that: whether such a matrix is positive
/// definite would be chance, and another one on every device. The fitted model decides, on the host. Diagonal and
/// spherical covariances are not concerned, nor are small shares of many rows, which leave no direction without
/// variance.
template <class Scalar>
void check_resolution(const model& fitted, const data_summary& summary, double regularization);
extern template void check_resolution<float>(const model&, const data_summary&, double);
extern template void check_resolution<double>(const model&, const data_summary&, double);

}  // namespace shoal::gmm
