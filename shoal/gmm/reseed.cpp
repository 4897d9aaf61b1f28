#include <shoal/gmm/reseed.hpp>

#include <algorithm>

#include <shoal/gmm/first_model.hpp>

namespace shoal::gmm {

void reseed(const std::vector<std::vector<double>>& worst, const data_summary& summary, double regularization,
            const std::vector<std::size_t>& empty, model& next) {
  const std::size_t columns = next.columns;
  const model fresh = pooled_model(next.covariance_type, std::vector<double>(columns, 0.0), summary, regularization);
  for (std::size_t i = 0; i < empty.size(); ++i) {
    const std::size_t k = empty[i];
    std::copy(worst[i % worst.size()].begin(), worst[i % worst.size()].end(),
              next.means.begin() + static_cast<std::ptrdiff_t>(k * columns));
    if (next.covariance_type != covariance_type::tied) {
      std::copy(fresh.covariances.begin(), fresh.covariances.end(),
                next.covariances.begin() + static_cast<std::ptrdiff_t>(k * fresh.covariances.size()));
    }
    next.weights[k] = 1.0 / static_cast<double>(summary.positive_rows);
  }
  double sum = 0;
  for (const double weight : next.weights) sum += weight;
  for (double& weight : next.weights) weight /= sum;
}

}  // namespace shoal::gmm
