// The auction algorithm with ε-scaling, whose bids are made on threads.
#pragma once

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/executor.hpp>

namespace shoal::assignment {

/// The assignment of least cost for checked costs [n][m], n ≤ m. All rows without a column bid at once by the same
/// prices; of equal bids the first row's counts, so that no result depends on the threads. Steps fall to below 1/n for
/// whole costs, which is exact; augmenting paths from the last prices finish other costs. n < m takes a copy [m][m].
solution auction(matrix_view<const double> costs, executor& threads);

}  // namespace shoal::assignment
