// Shortest augmenting paths that look at whole rows: for small matrices, and where candidates do not help.
#pragma once

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// The assignment of least cost for costs [n][m], n ≤ m, that have been checked.
solution dense_paths(matrix_view<const double> costs);

}  // namespace shoal::assignment
