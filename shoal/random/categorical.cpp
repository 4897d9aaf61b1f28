// The cumulative sums and the guide table of a categorical distribution.
#include <shoal/random/categorical.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::random {

categorical::categorical(std::span<const double> weights) : cumulative_(weights.size()), guide_(weights.size()) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i]))
      throw bad_argument(fmt::format("weight {} is {}; weights are finite and not negative", i, weights[i]));
    if (weights[i] > 0) last_ = i;
    cumulative_[i] = sum += weights[i];
  }
  if (!(sum > 0) || !std::isfinite(sum))
    throw bad_argument(
        fmt::format("{} weights sum to {}; at least one must be positive and the sum finite", weights.size(), sum));
  std::size_t index = 0;
  for (std::size_t cell = 0; cell < guide_.size(); ++cell) {
    const double target = static_cast<double>(cell) / static_cast<double>(guide_.size()) * sum;
    while (index < last_ && cumulative_[index] <= target) ++index;
    guide_[cell] = index;
  }
}

}  // namespace shoal::random
