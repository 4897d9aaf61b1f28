#include <shoal/gmm/maximise.hpp>

#include <algorithm>

#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm {
namespace {

// Q/W − δδᵀ of one component that has a matrix of its own.
void full_covariance(const statistics& sums, std::size_t k, double weight, const double* delta, double regularization,
                     double* covariance) {
  const statistics_layout& layout = sums.layout();
  const std::size_t d = layout.columns();
  const double* const values = sums.values().data();
  for (std::size_t i = 0; i < d; ++i) {
    const double* const row = values + layout.second(k, i, 0);
    for (std::size_t j = i; j < d; ++j) {
      double element = row[j] / weight - delta[i] * delta[j];
      if (i == j) element = std::max(element, 0.0) + regularization;
      covariance[i * d + j] = element;
      covariance[j * d + i] = element;
    }
  }
}

void tied_covariance(const statistics& sums, const std::vector<double>& deltas, const std::vector<double>& weights,
                     double total, double regularization, double* covariance) {
  const statistics_layout& layout = sums.layout();
  const std::size_t d = layout.columns();
  const double* const values = sums.values().data();
  std::vector<double> between(d);
  for (std::size_t i = 0; i < d; ++i) {
    std::fill(between.begin(), between.end(), 0.0);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double* const delta = deltas.data() + k * d;
      const double scale = weights[k] * delta[i];
      for (std::size_t j = i; j < d; ++j) between[j] += scale * delta[j];
    }
    const double* const row = values + layout.second(0, i, 0);
    for (std::size_t j = i; j < d; ++j) {
      double element = (row[j] - between[j]) / total;
      if (i == j) element = std::max(element, 0.0) + regularization;
      covariance[i * d + j] = element;
      covariance[j * d + i] = element;
    }
  }
}

void diagonal_variances(const statistics& sums, std::size_t k, double weight, const double* delta,
                        double regularization, double* variances) {
  for (std::size_t j = 0; j < sums.layout().columns(); ++j) {
    variances[j] = std::max(sums.second(k, j, j) / weight - delta[j] * delta[j], 0.0) + regularization;
  }
}

// Only the sum of the second moments over the columns is looked at.
double spherical_variance(const statistics& sums, std::size_t k, double weight, const double* delta,
                          double regularization) {
  const std::size_t d = sums.layout().columns();
  double sum = 0;
  for (std::size_t j = 0; j < d; ++j) sum += sums.second(k, j, j) / weight - delta[j] * delta[j];
  return std::max(sum, 0.0) / static_cast<double>(d) + regularization;
}

}  // namespace

std::vector<std::size_t> maximise(const statistics& statistics, std::span<const double> centres, double regularization,
                                  model& into, executor* workers) {
  const statistics_layout& layout = statistics.layout();
  const std::size_t K = layout.components();
  const std::size_t d = layout.columns();
  std::vector<double> weights(K);
  std::vector<double> deltas(K * d, 0.0);
  std::vector<std::size_t> empty;
  double total = 0;
  for (std::size_t k = 0; k < K; ++k) {
    weights[k] = std::max(statistics.weight(k), 0.0);
    total += weights[k];
    if (!(weights[k] > least_weight)) {
      empty.push_back(k);
      continue;
    }
    for (std::size_t j = 0; j < d; ++j) {
      deltas[k * d + j] = statistics.first(k, j) / weights[k];
      into.means[k * d + j] = centres[k * d + j] + deltas[k * d + j];
    }
  }
  if (empty.size() == K) return empty;
  for (std::size_t k = 0; k < K; ++k) into.weights[k] = weights[k] / total;

  if (layout.type() == covariance_type::tied) {
    tied_covariance(statistics, deltas, weights, total, regularization, into.covariances.data());
    return empty;
  }
  const auto covariance = [&](std::size_t k) {
    if (!(weights[k] > least_weight)) return;
    const double* const delta = deltas.data() + k * d;
    if (layout.type() == covariance_type::full) {
      full_covariance(statistics, k, weights[k], delta, regularization, into.covariances.data() + k * d * d);
    } else if (layout.type() == covariance_type::diag) {
      diagonal_variances(statistics, k, weights[k], delta, regularization, into.covariances.data() + k * d);
    } else {
      into.covariances[k] = spherical_variance(statistics, k, weights[k], delta, regularization);
    }
  };
  const std::size_t elements = K * (layout.type() == covariance_type::full ? d * d : d);
  if (workers == nullptr || elements < least_shared_elements) {
    for (std::size_t k = 0; k < K; ++k) covariance(k);
  } else {
    workers->run(K, 1, [&](std::size_t k, const team_member&) { covariance(k); });
  }
  return empty;
}

}  // namespace shoal::gmm
