// What the solvers do with one row of costs, for all columns at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::assignment {

/// The two least of a row's reduced costs; `second` counts an equal one too, and is +∞ for a single column.
struct least_two {
  double least = 0;
  double second = 0;
  std::size_t column = 0;  ///< the first that attains the least
};

/// Of costs[j] − potentials[j]. `columns` ≥ 1.
least_two find_least_two(const double* costs, const double* potentials, std::size_t columns);

/// distances[j] ← min(distances[j], costs[j] − potentials[j] + shift), and predecessors[j] ← row wherever that is less
/// than before. A potential of −∞ leaves its column alone. Returns the least distance.
double relax(const double* costs, const double* potentials, double shift, std::uint64_t row, double* distances,
             std::uint64_t* predecessors, std::size_t columns);

/// Appends the columns whose distance is at most `bound`, ascending.
void append_reached(const double* distances, double bound, std::size_t columns, std::vector<std::size_t>& out);

}  // namespace shoal::assignment
