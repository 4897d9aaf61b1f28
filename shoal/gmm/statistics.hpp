// What a mixture's next parameters depend on: weighted counts, first and second moments about the components' centres.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include <shoal/algebra/group.hpp>
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

/// The sums of some rows, all float64, in one buffer. They are about centres that whoever made them knows
/// (parameters::centres); values combine only about the same centres.
///
/// Full covariances keep for each component the upper triangle of Σ w r (x−c, 1)(x−c, 1)ᵀ, whose last column is S and
/// whose last element is W. Tied ones keep S, W for each component, diag and spherical ones W, S, Q; of a spherical Q
/// only the sum over the columns means anything.
class statistics {
 public:
  statistics() = default;
  explicit statistics(const statistics_layout& layout) : layout_(layout), values_(layout.size(), 0.0) {}

  const statistics_layout& layout() const { return layout_; }
  std::span<double> values() { return values_; }
  std::span<const double> values() const { return values_; }

  double log_likelihood() const { return values_[layout_.log_likelihood()]; }
  double total_weight() const { return values_[layout_.total_weight()]; }
  double far_rows() const { return values_[layout_.far_rows()]; }
  double weight(std::size_t component) const { return values_[layout_.weight(component)]; }
  double first(std::size_t component, std::size_t column) const { return values_[layout_.first(component, column)]; }
  double second(std::size_t component, std::size_t row, std::size_t column) const {
    return row <= column ? values_[layout_.second(component, row, column)]
                         : values_[layout_.second(component, column, row)];
  }

 private:
  statistics_layout layout_;
  std::vector<double> values_;
};

/// The statistics of one shape as a commutative group under addition, up to the rounding of float64: what a fold needs
/// (identity, combine) and what incremental EM needs in addition (inverse).
class statistics_group {
 public:
  using value_type = statistics;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums_with_inverse;
  static auto parts(auto& value) { return std::tuple(value.values()); }

  explicit statistics_group(const statistics_layout& layout) : layout_(layout) {}

  const statistics_layout& layout() const { return layout_; }
  statistics identity() const { return statistics(layout_); }
  void reset(statistics& value) const;
  void combine_into(statistics& into, const statistics& from) const;
  /// Takes `from` out of `into` again.
  void subtract_from(statistics& into, const statistics& from) const;
  statistics inverse(statistics value) const;
  std::size_t bytes() const { return layout_.size() * sizeof(double); }

 private:
  statistics_layout layout_;
};

/// Moves statistics about centres `from` to centres `to` (both [K][d]) by the parallel-axis rule: with Δ = from − to,
/// S′ = S + WΔ and Q′ = Q + SΔᵀ + ΔSᵀ + WΔΔᵀ.
void translate(statistics& value, std::span<const double> from, std::span<const double> to);

}  // namespace shoal::gmm
