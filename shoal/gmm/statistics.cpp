#include <shoal/gmm/statistics.hpp>

#include <algorithm>

namespace shoal::gmm {

void statistics_group::reset(statistics& value) const {
  const std::span<double> values = value.values();
  std::fill(values.begin(), values.end(), 0.0);
}

void statistics_group::combine_into(statistics& into, const statistics& from) const {
  double* const sum = into.values().data();
  const double* const term = from.values().data();
  for (std::size_t i = 0; i < layout_.size(); ++i) sum[i] += term[i];
}

void statistics_group::subtract_from(statistics& into, const statistics& from) const {
  double* const sum = into.values().data();
  const double* const term = from.values().data();
  for (std::size_t i = 0; i < layout_.size(); ++i) sum[i] -= term[i];
}

statistics statistics_group::inverse(statistics value) const {
  for (double& element : value.values()) element = -element;
  return value;
}

void translate(statistics& value, std::span<const double> from, std::span<const double> to) {
  const statistics_layout& layout = value.layout();
  const std::size_t columns = layout.columns();
  double* const values = value.values().data();
  std::vector<double> delta(columns);
  for (std::size_t k = 0; k < layout.components(); ++k) {
    for (std::size_t i = 0; i < columns; ++i) delta[i] = from[k * columns + i] - to[k * columns + i];
    const double weight = values[layout.weight(k)];
    for (std::size_t i = 0; i < columns; ++i) {
      const double first_i = values[layout.first(k, i)];
      const std::size_t last = layout.has_matrices() ? columns : i + 1;
      for (std::size_t j = i; j < last; ++j) {
        const double first_j = values[layout.first(k, j)];
        values[layout.second(k, i, j)] += first_i * delta[j] + delta[i] * first_j + weight * delta[i] * delta[j];
      }
    }
    for (std::size_t i = 0; i < columns; ++i) values[layout.first(k, i)] += weight * delta[i];
  }
}

}  // namespace shoal::gmm
