#include <shoal/gmm/statistics_layout.hpp>

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

}  // namespace shoal::gmm
