// What rows are drawn with: the Cholesky factors of a mixture's covariances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// Keeps the random streams of sample() apart from those of other uses of the same seed: row i has the stream
/// (mix(seed, sampling_stream), i).
inline constexpr std::uint64_t sampling_stream = 0x73616d706c65;  // "sample"

/// Throws bad_argument when rows of `columns` columns cannot be drawn from the model, or its arrays have not the sizes
/// that it states.
void check_sample_sizes(const model& model, std::size_t columns);

/// The factors L_k: of matrices the lower triangle column by column, so that one normal is spent on consecutive
/// elements, else the deviation of each column.
class sample_factors {
 public:
  /// Throws numerical_error for a covariance that is not positive definite, by component.
  explicit sample_factors(const model& model);

  bool triangular() const { return triangular_; }
  std::span<const double> values() const { return values_; }
  /// Elements from one component's factor to the next one's; none when all share one.
  std::size_t stride() const { return size_; }

 private:
  void add_triangle(const model& model, std::size_t k);

  std::size_t columns_;
  bool triangular_;
  std::size_t size_ = 0;
  std::vector<double> values_;
};

}  // namespace shoal::gmm
