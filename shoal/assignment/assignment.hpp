// Linear assignment: which column each row takes, so that the sum of their costs is least. The door to this room.
#pragma once

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// How the assignment is found.
enum class method {
  /// The Hungarian method by shortest augmenting paths with potentials (Jonker & Volgenant 1987; rectangular: Crouse
  /// 2016). Exact, O(n²m) for n rows and m ≥ n columns.
  hungarian,
};

/// The assignment of least cost for `costs` [n][m]; +∞ forbids a pair. Among assignments of equal cost the one that is
/// found depends on the costs alone. On top of the costs, O(n + m) memory, and a transposed copy when n > m. Throws
/// bad_data with the row and column of a cost that is not-a-number, −∞, or so large that sums of costs overflow.
solution solve(matrix_view<const double> costs, assignment::method method = method::hungarian);

}  // namespace shoal::assignment
