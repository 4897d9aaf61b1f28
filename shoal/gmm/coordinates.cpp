#include <shoal/gmm/coordinates.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/gmm/refusals.hpp>

namespace shoal::gmm {
namespace {

using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::size_t matrices_of(const model& model) {
  return model.covariance_type == covariance_type::tied ? 1 : model.components;
}

std::size_t triangle(std::size_t d) { return d * (d + 1) / 2; }

// Factors of fewer multiply-adds than this are quicker made on one thread.
constexpr std::size_t least_shared_work = std::size_t{1} << 18;

template <class Task>
void for_each_matrix(executor* workers, const model& model, const Task& task) {
  const std::size_t count = matrices_of(model), d = model.columns;
  if (workers == nullptr || count < 2 || count * d * d * d < least_shared_work) {
    for (std::size_t m = 0; m < count; ++m) task(m);
  } else {
    workers->run(count, 1, [&](std::size_t m, const team_member&) { task(m); });
  }
}

bool has_matrices(const model& model) {
  return model.covariance_type == covariance_type::full || model.covariance_type == covariance_type::tied;
}

}  // namespace

std::vector<double> coordinate_scales(const data_summary& summary) {
  std::vector<double> scale(summary.columns, 1.0);
  for (std::size_t j = 0; j < scale.size(); ++j) {
    if (summary.variance[j] > 0) scale[j] = std::sqrt(summary.variance[j]);
  }
  return scale;
}

double common_coordinate_scale(const std::vector<double>& scale) {
  double sum = 0;
  for (const double deviation : scale) sum += deviation * deviation;
  return std::sqrt(sum / static_cast<double>(scale.size()));
}

std::vector<double> coordinates_of(const model& model, const data_summary& summary, executor* workers) {
  const std::size_t d = model.columns;
  const std::vector<double> scale = coordinate_scales(summary);
  std::vector<double> point;
  for (const double weight : model.weights) point.push_back(std::log(weight));
  for (std::size_t i = 0; i < model.means.size(); ++i) {
    point.push_back((model.means[i] - summary.mean[i % d]) / scale[i % d]);
  }
  if (!has_matrices(model)) {
    const double common = common_coordinate_scale(scale);
    const bool diagonal = model.covariance_type == covariance_type::diag;
    for (std::size_t i = 0; i < model.covariances.size(); ++i) {
      point.push_back(0.5 * std::log(model.covariances[i]) - std::log(diagonal ? scale[i % d] : common));
    }
    return point;
  }
  const std::size_t means_end = point.size();
  point.resize(means_end + matrices_of(model) * triangle(d));
  for_each_matrix(workers, model, [&](std::size_t m) {
    const auto size = static_cast<Eigen::Index>(d);
    const Eigen::LLT<row_major> cholesky(Eigen::Map<const row_major>(model.covariances.data() + m * d * d, size, size));
    const row_major& factor = cholesky.matrixLLT();
    if (cholesky.info() != Eigen::Success || !factor.diagonal().allFinite()) {
      refuse_covariance(model.covariance_type, m, not_positive_definite);
    }
    double* at = &point[means_end + m * triangle(d)];
    for (Eigen::Index i = 0; i < size; ++i) {
      const double unit = scale[static_cast<std::size_t>(i)];
      for (Eigen::Index j = 0; j < i; ++j) *at++ = factor(i, j) / unit;
      *at++ = std::log(factor(i, i) / unit);
    }
  });
  return point;
}

void place_at(const std::vector<double>& coordinates, const data_summary& summary, model& into, executor* workers) {
  const std::size_t d = into.columns;
  const std::vector<double> scale = coordinate_scales(summary);
  const double* at = coordinates.data();
  const double greatest = *std::max_element(at, at + into.components);
  double sum = 0;
  for (double& weight : into.weights) sum += weight = std::exp(*at++ - greatest);
  for (double& weight : into.weights) weight /= sum;
  for (std::size_t i = 0; i < into.means.size(); ++i) into.means[i] = summary.mean[i % d] + *at++ * scale[i % d];
  if (!has_matrices(into)) {
    const double common = common_coordinate_scale(scale);
    const bool diagonal = into.covariance_type == covariance_type::diag;
    for (std::size_t i = 0; i < into.covariances.size(); ++i) {
      const double deviation = std::exp(*at++) * (diagonal ? scale[i % d] : common);
      into.covariances[i] = deviation * deviation;
    }
    return;
  }
  for_each_matrix(workers, into, [&](std::size_t m) {
    const auto size = static_cast<Eigen::Index>(d);
    row_major factor = row_major::Zero(size, size);
    const double* from = at + m * triangle(d);
    for (Eigen::Index i = 0; i < size; ++i) {
      const double unit = scale[static_cast<std::size_t>(i)];
      for (Eigen::Index j = 0; j < i; ++j) factor(i, j) = *from++ * unit;
      factor(i, i) = std::exp(*from++) * unit;
    }
    Eigen::Map<row_major>(into.covariances.data() + m * d * d, size, size) = factor * factor.transpose();
  });
}

}  // namespace shoal::gmm
