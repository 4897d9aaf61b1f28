// The Hungarian method for at most as many rows as columns.
#pragma once

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// The assignment of least cost for costs [n][m], n ≤ m, that have been checked.
solution hungarian(matrix_view<const double> costs);

}  // namespace shoal::assignment
