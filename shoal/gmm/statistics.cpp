#include <shoal/gmm/statistics.hpp>

#include <algorithm>

namespace shoal::gmm {

statistics_layout::statistics_layout(covariance_type type, std::size_t components, std::size_t columns)
    : type_(type), components_(components), columns_(columns) {
  switch (type) {
    case covariance_type::full:
      component_size_ = (columns + 1) * (columns + 2) / 2;
      break;
    case covariance_type::tied:
      component_size_ = 1 + columns;
      break;
    case covariance_type::diag:
    case covariance_type::spherical:
      component_size_ = 1 + 2 * columns;
      break;
  }
  size_ = shared() + (type == covariance_type::tied ? columns * (columns + 1) / 2 : 0);
}

std::size_t statistics_layout::weight(std::size_t k) const {
  if (type_ == covariance_type::full) return component(k) + triangle_row(columns_ + 1, columns_) + columns_;
  return type_ == covariance_type::tied ? component(k) + columns_ : component(k);
}

std::size_t statistics_layout::first(std::size_t k, std::size_t column) const {
  if (type_ == covariance_type::full) return component(k) + triangle_row(columns_ + 1, column) + columns_;
  return type_ == covariance_type::tied ? component(k) + column : component(k) + 1 + column;
}

std::size_t statistics_layout::second(std::size_t k, std::size_t row, std::size_t column) const {
  switch (type_) {
    case covariance_type::full:
      return component(k) + triangle_row(columns_ + 1, row) + column;
    case covariance_type::tied:
      return shared() + triangle_row(columns_, row) + column;
    default:
      return component(k) + 1 + columns_ + column;
  }
}

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
