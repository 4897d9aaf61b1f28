// Draws of an index with given weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <shoal/random/stream.hpp>

namespace shoal::random {

/// Index i with probability weight[i] / Σ weights, by inversion of the cumulative sums: one uniform for each draw, a
/// greater uniform never gives a smaller index, an index of weight zero is never drawn. A guide table (Chen and Asau,
/// AIIE Transactions 6(2), 1974) makes a draw take constant time on average.
class categorical {
 public:
  /// Throws bad_argument for no weights, one that is negative or not finite (by its index), or a sum that is not
  /// positive and finite.
  explicit categorical(std::span<const double> weights);

  std::size_t operator()(stream& bits) const { return at(bits.uniform()); }

  /// The index at a uniform in (0, 1): the first whose cumulative weight exceeds uniform·Σ.
  std::size_t at(double uniform) const {
    const double target = uniform * cumulative_.back();
    std::size_t index = guide_[static_cast<std::size_t>(uniform * static_cast<double>(guide_.size()))];
    while (index < last_ && cumulative_[index] <= target) ++index;
    return index;
  }

  // What at() goes by, for those that draw elsewhere.
  std::span<const double> cumulative() const { return cumulative_; }
  std::span<const std::size_t> guide() const { return guide_; }
  std::size_t last() const { return last_; }

 private:
  std::vector<double> cumulative_;
  std::vector<std::size_t> guide_;  // the index at the start of each of as many equal intervals of the uniform
  std::size_t last_ = 0;            // the last index of positive weight, which rounding must not pass
};

}  // namespace shoal::random
