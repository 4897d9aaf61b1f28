// What the solvers do with one row of costs, for all columns at once.
#pragma once

#include <cstddef>

namespace shoal::assignment {

/// The two least of a row's reduced costs; `second` counts an equal one too, and is +∞ for a single column.
struct least_two {
  double least = 0;
  double second = 0;
  std::size_t column = 0;  ///< the first that attains the least
};

/// Of costs[j] − potentials[j]. `columns` ≥ 1.
least_two find_least_two(const double* costs, const double* potentials, std::size_t columns);

}  // namespace shoal::assignment
