// The Hungarian method as Munkres (1957) marks it: stars, primes and covers, which can be looked at step by step.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// What the method has before it after a step. Valid during the call alone.
struct hungarian_step {
  std::string_view what;                    ///< what was done, in a few words
  matrix_view<const double> reduced;        ///< [n][m] costs less what was deducted from rows and columns
  const std::vector<std::size_t>& starred;  ///< [n] column of a row's starred zero, or unassigned
  const std::vector<std::size_t>& primed;   ///< [n] column of a row's primed zero, or unassigned
  const std::vector<bool>& row_covered;     ///< [n]
  const std::vector<bool>& column_covered;  ///< [m]
};

using hungarian_visitor = std::function<void(const hungarian_step&)>;

/// The assignment of least cost for checked costs [n][m], n ≤ m, and its potentials. `visit`, where it is given, sees
/// each step. O(n³m) at worst: for reading along; shortest augmenting paths are for solving.
solution hungarian(matrix_view<const double> costs, const hungarian_visitor& visit = {});

}  // namespace shoal::assignment
