#include <shoal/kmeans/information_criteria.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace shoal::kmeans {

criteria information_criteria(std::span<const double> cluster_weights, std::size_t columns, double inertia) {
  const auto clusters = static_cast<double>(cluster_weights.size());
  const auto d = static_cast<double>(columns);
  double total = 0;
  double mixing = 0;
  for (const double weight : cluster_weights) {
    total += weight;
    if (weight > 0) mixing += weight * std::log(weight);
  }
  if (!(total > clusters)) {
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  }
  const double freedom = (total - clusters) * d;
  const double variance = std::fmax(inertia / freedom, std::numeric_limits<double>::min());
  const double log_likelihood = mixing - total * std::log(total) -
                                total * d / 2 * (std::log(2 * std::numbers::pi) + std::log(variance)) - freedom / 2;
  const double parameters = (clusters - 1) + clusters * d + 1;
  return {-2 * log_likelihood + parameters * std::log(total), -2 * log_likelihood + 2 * parameters};
}

}  // namespace shoal::kmeans
