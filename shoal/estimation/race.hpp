// An exponential race among the rows: who draws rows without replacement, in proportion to their weights.
#pragma once

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

}  // namespace shoal
