#include <shoal/gmm/sample_factors.hpp>

#include <cmath>

#include <fmt/format.h>
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/core/error.hpp>

namespace shoal::gmm {
namespace {

[[noreturn]] void refuse_covariance(covariance_type type, std::size_t component) {
  const auto which = type == covariance_type::tied ? std::string("the tied covariance")
                                                   : fmt::format("the covariance of component {}", component);
  throw numerical_error(
      fmt::format("sample: {} is not positive definite; correct the model or add to its diagonal", which));
}

}  // namespace

void check_sample_sizes(const model& model, std::size_t columns) {
  const std::size_t k = model.components, d = model.columns;
  if (k == 0 || d == 0) throw bad_argument(fmt::format("sample: the model has {} components in {} columns", k, d));
  if (columns != d) throw bad_argument(fmt::format("sample: the rows have {} columns; the model has {}", columns, d));
  std::size_t expected = 0;
  switch (model.covariance_type) {
    case covariance_type::full:
      expected = k * d * d;
      break;
    case covariance_type::tied:
      expected = d * d;
      break;
    case covariance_type::diag:
      expected = k * d;
      break;
    case covariance_type::spherical:
      expected = k;
      break;
  }
  if (model.weights.size() != k || model.means.size() != k * d || model.covariances.size() != expected)
    throw bad_argument(
        fmt::format("sample: the model says {} components in {} columns but holds {} weights, {} means and {} "
                    "covariance elements",
                    k, d, model.weights.size(), model.means.size() / d, model.covariances.size()));
}

sample_factors::sample_factors(const model& model)
    : columns_(model.columns),
      triangular_(model.covariance_type == covariance_type::full || model.covariance_type == covariance_type::tied) {
  const std::size_t d = columns_;
  if (triangular_) {
    const std::size_t matrices = model.covariances.size() / (d * d);
    for (std::size_t k = 0; k < matrices; ++k) add_triangle(model, k);
    size_ = matrices == 1 ? 0 : d * (d + 1) / 2;
  } else {
    const bool spherical = model.covariance_type == covariance_type::spherical;
    for (std::size_t i = 0; i < model.components * d; ++i) {
      const double variance = model.covariances[spherical ? i / d : i];
      if (!(variance > 0) || !std::isfinite(variance)) refuse_covariance(model.covariance_type, i / d);
      values_.push_back(std::sqrt(variance));
    }
    size_ = d;
  }
}

void sample_factors::add_triangle(const model& model, std::size_t k) {
  const auto d = static_cast<Eigen::Index>(columns_);
  const Eigen::Map<const Eigen::MatrixXd> covariance(model.covariances.data() + k * columns_ * columns_, d, d);
  const Eigen::LLT<Eigen::MatrixXd> factorisation(covariance);
  const Eigen::MatrixXd factor = factorisation.matrixL();
  if (factorisation.info() != Eigen::Success || !factor.allFinite()) refuse_covariance(model.covariance_type, k);
  for (Eigen::Index j = 0; j < d; ++j)
    for (Eigen::Index i = j; i < d; ++i) values_.push_back(factor(i, j));
}

}  // namespace shoal::gmm
