// Weight, mean and second moments of data, combined without cancellation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <shoal/algebra/compose.hpp>
#include <shoal/algebra/group.hpp>
#include <shoal/algebra/instances/reals.hpp>

namespace shoal::algebra {

/// Total weight, mean and M2 = Σ w(x − mean)² of some numbers.
struct moments_value {
  double weight = 0;
  double mean = 0;
  double squares = 0;

  /// Σ w(x − mean)² / Σ w, the population variance; 0 without weight.
  double variance() const { return weight > 0 ? squares / weight : 0; }

  friend bool operator==(const moments_value&, const moments_value&) = default;
};

/// Moments combined by the rule of Chan, Golub and LeVeque (Updating formulae and a pairwise algorithm for computing
/// sample variances, 1979): δ = μB − μA, μ = μA + δ·nB/n, M2 = M2A + M2B + δ²·nA·nB/n. The mean alone would not
/// associate: it forgets how much weight it stands for.
struct moments {
  using value_type = moments_value;
  static constexpr operation_laws laws = rounded_moments;

  /// One observation.
  static constexpr moments_value of(double x, double weight = 1) { return {weight, x, 0}; }

  constexpr moments_value identity() const { return {}; }
  constexpr void combine_into(moments_value& into, const moments_value& from) const {
    if (from.weight == 0) return;
    if (into.weight == 0) {
      into = from;
      return;
    }
    const double weight = into.weight + from.weight;
    const double shift = from.mean - into.mean;
    const double share = from.weight / weight;
    into.squares += from.squares + shift * shift * (into.weight * share);
    into.mean += shift * share;
    into.weight = weight;
  }

  /// Weights to 4ε relative; means to 16ε of the largest mean; M2 to 16ε of M2 plus what an error of that size in a
  /// mean does to it.
  bool close(const moments_value& left, const moments_value& right, operands_of<moments_value> operands) const {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    double weight = 0, squares = 0, largest = 0;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const moments_value& part : operands) {
      if (part.weight == 0) continue;
      weight += part.weight;
      squares += part.squares;
      largest = std::max(largest, std::abs(part.mean));
      low = std::min(low, part.mean);
      high = std::max(high, part.mean);
    }
    const double range = std::max(0.0, high - low);
    const double mean_error = 16 * epsilon * largest;
    const double squares_error =
        16 * epsilon * (squares + weight * range * range) + weight * mean_error * (range + mean_error);
    return std::abs(left.weight - right.weight) <= 4 * epsilon * weight &&
           std::abs(left.mean - right.mean) <= mean_error && std::abs(left.squares - right.squares) <= squares_error;
  }
};

/// Total weight, mean [d] and scatter matrix Σ w(x − mean)(x − mean)ᵀ [d][d] of some vectors.
struct vector_moments_value {
  double weight = 0;
  std::vector<double> mean;
  std::vector<double> scatter;

  friend bool operator==(const vector_moments_value&, const vector_moments_value&) = default;
};

/// The same rule for vectors of `dimension` numbers, with every product of two components.
class vector_moments {
 public:
  using value_type = vector_moments_value;
  static constexpr operation_laws laws = moments::laws;

  explicit vector_moments(std::size_t dimension) : dimension_(dimension) {}

  std::size_t dimension() const { return dimension_; }
  std::size_t bytes() const { return (1 + dimension_ + dimension_ * dimension_) * sizeof(double); }

  value_type identity() const {
    return {0, std::vector<double>(dimension_), std::vector<double>(dimension_ * dimension_)};
  }
  void reset(value_type& value) const {
    value.weight = 0;
    value.mean.assign(dimension_, 0);
    value.scatter.assign(dimension_ * dimension_, 0);
  }
  /// One observation of `dimension()` numbers.
  value_type of(std::vector<double> x, double weight = 1) const {
    detail::require_size(x.size(), dimension_, "vector_moments: an observation");
    return {weight, std::move(x), std::vector<double>(dimension_ * dimension_)};
  }
  void combine_into(value_type& into, const value_type& from) const {
    detail::require_size(into.mean.size(), dimension_, "vector_moments: the left mean");
    detail::require_size(from.mean.size(), dimension_, "vector_moments: the right mean");
    if (from.weight == 0) return;
    if (into.weight == 0) {
      into = from;
      return;
    }
    const double weight = into.weight + from.weight;
    const double share = from.weight / weight;
    const double both = into.weight * share;
    for (std::size_t i = 0; i < dimension_; ++i) {
      const double shift = from.mean[i] - into.mean[i];
      for (std::size_t j = 0; j < dimension_; ++j) {
        const std::size_t at = i * dimension_ + j;
        into.scatter[at] += from.scatter[at] + both * (shift * (from.mean[j] - into.mean[j]));
      }
    }
    for (std::size_t i = 0; i < dimension_; ++i) into.mean[i] += (from.mean[i] - into.mean[i]) * share;
    into.weight = weight;
  }

  /// The bound of moments; for an element (i, j) of the scatter, the geometric mean of what its two columns allow.
  bool close(const value_type& left, const value_type& right, operands_of<value_type> operands) const {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    double weight = 0;
    std::vector<double> squares(dimension_), largest(dimension_), low(dimension_), high(dimension_);
    for (const value_type& part : operands) {
      if (part.weight == 0) continue;
      for (std::size_t i = 0; i < dimension_; ++i) {
        squares[i] += part.scatter[i * dimension_ + i];
        largest[i] = std::max(largest[i], std::abs(part.mean[i]));
        low[i] = weight == 0 ? part.mean[i] : std::min(low[i], part.mean[i]);
        high[i] = weight == 0 ? part.mean[i] : std::max(high[i], part.mean[i]);
      }
      weight += part.weight;
    }
    std::vector<double> mean_error(dimension_), spread(dimension_);
    for (std::size_t i = 0; i < dimension_; ++i) {
      mean_error[i] = 16 * epsilon * largest[i];
      spread[i] = std::sqrt(squares[i] + weight * (high[i] - low[i]) * (high[i] - low[i]));
      if (!(std::abs(left.mean[i] - right.mean[i]) <= mean_error[i])) return false;
    }
    for (std::size_t i = 0; i < dimension_; ++i) {
      for (std::size_t j = 0; j < dimension_; ++j) {
        const double by_mean_i = std::sqrt(weight) * mean_error[i], by_mean_j = std::sqrt(weight) * mean_error[j];
        const double allowed = 16 * epsilon * spread[i] * spread[j] + by_mean_i * spread[j] + by_mean_j * spread[i] +
                               by_mean_i * by_mean_j;
        const std::size_t at = i * dimension_ + j;
        if (!(std::abs(left.scatter[at] - right.scatter[at]) <= allowed)) return false;
      }
    }
    return std::abs(left.weight - right.weight) <= 4 * epsilon * weight;
  }

 private:
  std::size_t dimension_;
};

/// Σ w, Σ w(x − c) and Σ w(x − c)² about a centre that all values share.
struct centred_sums_value {
  double weight = 0;
  double sum = 0;
  double squares = 0;

  friend bool operator==(const centred_sums_value&, const centred_sums_value&) = default;
};

/// Sums about a common centre: unlike moments an abelian group, so that an old contribution can be taken out again.
class centred_sums {
 public:
  using value_type = centred_sums_value;
  static constexpr operation_laws laws = real_addition<double>::laws;

  explicit centred_sums(double centre) : centre_(centre) {}

  double centre() const { return centre_; }
  value_type of(double x, double weight = 1) const {
    const double deviation = x - centre_;
    return {weight, weight * deviation, weight * deviation * deviation};
  }
  value_type identity() const { return {-0.0, -0.0, -0.0}; }
  void combine_into(value_type& into, const value_type& from) const {
    into.weight += from.weight;
    into.sum += from.sum;
    into.squares += from.squares;
  }
  value_type inverse(const value_type& a) const { return {-a.weight, -a.sum, -a.squares}; }
  /// The bound of real_addition for each of the three.
  bool close(const value_type& left, const value_type& right, operands_of<value_type> operands) const {
    value_type size;
    for (const value_type& part : operands) {
      size.weight += std::abs(part.weight);
      size.sum += std::abs(part.sum);
      size.squares += std::abs(part.squares);
    }
    constexpr double bound = 4 * std::numeric_limits<double>::epsilon();
    return std::abs(left.weight - right.weight) <= bound * size.weight &&
           std::abs(left.sum - right.sum) <= bound * size.sum &&
           std::abs(left.squares - right.squares) <= bound * size.squares;
  }
  /// Weight, mean and M2 about the mean. Cancels when the mean is far from the centre in standard deviations.
  moments_value to_moments(const value_type& sums) const {
    if (sums.weight == 0) return {};
    const double shift = sums.sum / sums.weight;
    return {sums.weight, centre_ + shift, sums.squares - shift * sums.sum};
  }

 private:
  double centre_;
};

}  // namespace shoal::algebra
