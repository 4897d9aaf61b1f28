// Holds the statistics that estimators fold with to the laws that folding rests on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/algebra/adapt.hpp>
#include <shoal/algebra/laws.hpp>

namespace statistics_laws {

/// The monoid of a fold, by the laws that it declares, with the equality and the bound that they are judged by.
template <shoal::algebra::commutative_monoid Monoid, class Same, class Close>
auto structure(const Monoid& monoid, Same same, Close close) {
  return shoal::algebra::with_closeness(shoal::algebra::with_equality(monoid, std::move(same)), std::move(close));
}

/// What a fold needs in addition to the laws: reset is back to the identity.
template <class Structure, class Value>
void expect_reset(const Structure& structure, const std::vector<Value>& samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Value value = samples[i];
    structure.reset(value);
    EXPECT_TRUE(shoal::algebra::equal(structure, value, structure.identity())) << "reset of sample " << i;
  }
}

/// A sum of three terms rounds twice, and so does the sum that it is compared with: half an ε of a partial sum each.
inline bool sums_agree(double left, double right, double magnitude) {
  return left == right || std::abs(left - right) <= 2 * std::numeric_limits<double>::epsilon() * magnitude;
}

/// Mean and Σ w (x − mean)² of one column.
struct column_moments {
  double weight;
  double mean;
  double second;
};

/// Whether the moments of a union agree, whatever its parts were joined by. Joining rounds a mean by some ε of the
/// largest mean m, and so the square of a distance between means, at most r, by some ε of r² + r·m, times its weight.
inline bool moments_agree(const column_moments& left, const column_moments& right,
                          std::span<const column_moments> parts) {
  constexpr double some_epsilon = 8 * std::numeric_limits<double>::epsilon();
  double weight = 0, largest = 0, second = 0;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const column_moments& part : parts) {
    if (part.weight == 0) continue;
    weight += part.weight;
    second += part.second;
    largest = std::max(largest, std::abs(part.mean));
    low = std::min(low, part.mean);
    high = std::max(high, part.mean);
  }
  if (weight == 0) return left.weight == 0 && right.weight == 0 && left.second == 0 && right.second == 0;
  const double range = high - low;
  // Written so that a NaN does not agree.
  return sums_agree(left.weight, right.weight, weight) && std::abs(left.mean - right.mean) <= some_epsilon * largest &&
         std::abs(left.second - right.second) <= some_epsilon * (second + weight * range * (range + largest));
}

}  // namespace statistics_laws
