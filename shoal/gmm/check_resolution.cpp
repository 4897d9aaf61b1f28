#include <shoal/gmm/check_resolution.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/gmm/refusals.hpp>

namespace shoal::gmm {
namespace {

// Of the norm of a matrix of rounding errors, each of half an epsilon of a variance and averaged over the rows.
constexpr double margin = 4;

// Whether every direction of a covariance [d][d] has a variance above `least`. Rows that a component takes but a little
// of can be many more than their responsibilities add up to.
bool has_full_rank(const double* covariance, std::size_t d, double least) {
  const auto size = static_cast<Eigen::Index>(d);
  Eigen::MatrixXd rest = Eigen::Map<const Eigen::MatrixXd>(covariance, size, size);
  rest.diagonal().array() -= least;
  return Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>>(rest).info() == Eigen::Success;
}

}  // namespace

template <class Scalar>
void check_resolution(const model& fitted, const data_summary& summary, double regularization) {
  const bool tied = fitted.covariance_type == covariance_type::tied;
  if (!tied && fitted.covariance_type != covariance_type::full) return;
  const std::size_t d = fitted.columns;
  const auto columns = static_cast<double>(d);
  for (std::size_t k = 0; k < (tied ? 1 : fitted.components); ++k) {
    const double rows = std::max((tied ? 1.0 : fitted.weights[k]) * static_cast<double>(summary.positive_rows), 1.0);
    if (rows > columns) continue;
    double trace = 0;
    for (std::size_t j = 0; j < d; ++j) trace += fitted.covariances[(k * d + j) * d + j];
    const double rounding =
        margin * std::numeric_limits<Scalar>::epsilon() / 2 * std::sqrt(columns / rows) * trace / columns;
    if (regularization >= rounding || has_full_rank(&fitted.covariances[k * d * d], d, regularization + rounding))
      continue;
    refuse_covariance(
        fitted.covariance_type, k,
        fmt::format("has about {:.0f} rows for {} columns and is singular but for the regularization, which "
                    "rounding in {} outweighs below {:.1e}{}",
                    rows, d, sizeof(Scalar) == 4 ? "float32" : "float64", rounding,
                    sizeof(Scalar) == 4 ? ": use float64" : ""));
  }
}

template void check_resolution<float>(const model&, const data_summary&, double);
template void check_resolution<double>(const model&, const data_summary&, double);

}  // namespace shoal::gmm
