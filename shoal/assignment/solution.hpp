// An assignment with its proof.
#pragma once

#include <cstddef>
#include <vector>

namespace shoal::assignment {

/// In place of a column or a row where there is none.
inline constexpr std::size_t unassigned = static_cast<std::size_t>(-1);

/// An assignment with its proof. With n ≤ m every row has a column of its own; with n > m every column has a row. With
/// a price, rows may stay single.
struct solution {
  bool feasible = true;                    ///< false: every assignment needs a forbidden pair
  bool certified = false;                  ///< an independent check has found the proof valid (certificate.hpp)
  double cost = 0;                         ///< Σ of the pairs' costs and of prices paid; +∞ when infeasible
  std::vector<std::size_t> column_of_row;  ///< [n], or unassigned; empty when infeasible
  std::vector<std::size_t> row_of_column;  ///< [m], or unassigned; empty when infeasible

  /// Potentials of rows and columns: u + v ≤ cost for every pair, with equality for the assigned ones, and zero for
  /// what is unassigned, so that Σu + Σv = cost and no assignment costs less. On the larger side they are ≤ 0. With a
  /// price, u ≤ price and v ≤ 0, and u = price for a row that stays single. Maximising turns all these around.
  /// Exact for whole costs that sum to less than 2⁵³, else to rounding. Empty when infeasible.
  std::vector<double> row_potentials;     ///< [n]
  std::vector<double> column_potentials;  ///< [m]

  /// Why it is infeasible: n ≤ m: these rows have no allowed pair outside these columns, which are one fewer; n > m:
  /// these columns none outside these rows, which are one fewer. Ascending; empty when feasible.
  std::vector<std::size_t> conflicting_rows;
  std::vector<std::size_t> conflicting_columns;
};

}  // namespace shoal::assignment
