// An exponential race among the rows: who draws rows without replacement, in proportion to their weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <shoal/estimation/first_k.hpp>

namespace shoal {

/// A row and when it arrives: an exponential time with the rate of the row's weight.
struct runner {
  double time;
  std::size_t row;
};

/// Of two runners the one that arrives first, and the lower row first among equals.
struct arrives_before {
  bool operator()(const runner& a, const runner& b) const { return a.time != b.time ? a.time < b.time : a.row < b.row; }
};

/// The first runners: the same winners however the rows are cut.
using race_monoid = first_k<runner, arrives_before>;

/// How many runners to wait for, so that the first `winners` of them are almost surely among those that are expected.
inline double enough_runners(std::size_t winners) {
  const auto wanted = static_cast<double>(winners);
  return wanted + 8 * std::sqrt(wanted) + 32;
}

/// Until when so many of `rows` rows of equal weight `weight` arrive, as expected: by time t a share of 1 − exp(−w · t)
/// has. Where that many are not there, all of them but a sixteenth of one.
inline double time_of_arrivals(double arrivals, std::size_t rows, double weight) {
  const double all = static_cast<double>(rows);
  return -std::log1p(-std::min(arrivals, all - 0.0625) / all) / weight;
}

}  // namespace shoal
