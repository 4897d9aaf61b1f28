// Linear assignment: which column each row takes, so that the sum of their costs is least. The door to this room.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// How the assignment is found.
enum class method {
  /// The Hungarian method by shortest augmenting paths with potentials (Jonker & Volgenant 1987; rectangular: Crouse
  /// 2016). Exact, O(n²m) for n rows and m ≥ n columns.
  hungarian,
};

/// In place of a column or a row where there is none.
inline constexpr std::size_t unassigned = static_cast<std::size_t>(-1);

/// An assignment with its proof. With n ≤ m every row has a column of its own; with n > m every column has a row.
struct solution {
  bool feasible = true;                    ///< false: every assignment needs a forbidden pair
  double cost = 0;                         ///< Σ of the pairs' costs, in row order; +∞ when infeasible
  std::vector<std::size_t> column_of_row;  ///< [n], or unassigned; empty when infeasible
  std::vector<std::size_t> row_of_column;  ///< [m], or unassigned; empty when infeasible

  /// Potentials of rows and columns: u + v ≤ cost for every pair, with equality for the assigned ones, and zero for
  /// what is unassigned, so that Σu + Σv = cost and no assignment costs less. On the larger side they are ≤ 0.
  /// Exact for whole costs that sum to less than 2⁵³, else to rounding. Empty when infeasible.
  std::vector<double> row_potentials;     ///< [n]
  std::vector<double> column_potentials;  ///< [m]

  /// Why it is infeasible: n ≤ m: these rows have no allowed pair outside these columns, which are one fewer; n > m:
  /// these columns none outside these rows, which are one fewer. Ascending; empty when feasible.
  std::vector<std::size_t> conflicting_rows;
  std::vector<std::size_t> conflicting_columns;
};

/// The assignment of least cost for `costs` [n][m]; +∞ forbids a pair. Among assignments of equal cost the one that is
/// found depends on the costs alone. On top of the costs, O(n + m) memory, and a transposed copy when n > m. Throws
/// bad_data with the row and column of a cost that is not-a-number, −∞, or so large that sums of costs overflow.
solution solve(matrix_view<const double> costs, assignment::method method = method::hungarian);

}  // namespace shoal::assignment
