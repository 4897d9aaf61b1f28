// Where the sums of a mixture's statistics lie.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm {

/// Where each sum lies in the one buffer of the statistics.
class statistics_layout {
 public:
  statistics_layout() = default;
  statistics_layout(covariance_type type, std::size_t components, std::size_t columns);

  covariance_type type() const { return type_; }
  std::size_t components() const { return components_; }
  std::size_t columns() const { return columns_; }
  bool has_matrices() const { return type_ == covariance_type::full || type_ == covariance_type::tied; }
  /// Elements of the buffer.
  std::size_t size() const { return size_; }

  /// Σ w ln p(x), Σ w, and the number of rows that were done again in float64.
  static constexpr std::size_t log_likelihood() { return 0; }
  static constexpr std::size_t total_weight() { return 1; }
  static constexpr std::size_t far_rows() { return 2; }

  /// Wₖ = Σ w r.
  std::size_t weight(std::size_t component) const;
  /// Sₖ = Σ w r (x − c), its element `column`.
  std::size_t first(std::size_t component, std::size_t column) const;
  /// Qₖ = Σ w r (x − c)(x − c)ᵀ, its element (row, column), row <= column; the diagonal only for diag and spherical;
  /// the sum over all components, whatever `component` is, for tied.
  std::size_t second(std::size_t component, std::size_t row, std::size_t column) const;

  /// Start of what belongs to one component alone.
  std::size_t component(std::size_t component) const { return header_ + component * component_size_; }
  /// Start of row `row` of a packed upper triangle of `order` columns, counted so that element (row, column) lies at
  /// triangle_row(order, row) + column.
  static constexpr std::size_t triangle_row(std::size_t order, std::size_t row) {
    return row * order - row * (row + 1) / 2;
  }
  /// Start of the triangle that tied components share.
  std::size_t shared() const { return header_ + components_ * component_size_; }

 private:
  static constexpr std::size_t header_ = 4;
  covariance_type type_ = covariance_type::full;
  std::size_t components_ = 0;
  std::size_t columns_ = 0;
  std::size_t component_size_ = 0;
  std::size_t size_ = header_;
};

}  // namespace shoal::gmm
