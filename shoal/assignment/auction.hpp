// The auction algorithm with ε-scaling, whose bids are made on threads or on a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/executor.hpp>

namespace shoal::assignment {

/// What bidding leads to.
struct prices {
  std::vector<double> potentials;          ///< of the columns: minus the prices, near the best
  std::vector<std::size_t> column_of_row;  ///< or empty; if not, the assignment is the best, and so are the potentials
};

/// For checked costs [n][n].
using find_prices = std::function<prices(matrix_view<const double> costs)>;

/// By bidding on threads. All rows without a column bid at once by the same prices; of equal bids the first row's
/// counts, so that no result depends on the threads. Steps fall to below 1/n for whole costs.
prices host_prices(matrix_view<const double> costs, executor& threads);

/// The assignment of least cost for checked costs [n][m], n ≤ m: augmenting paths begin at the prices that `find`
/// gives, whatever these are, unless the assignment comes with them. n < m takes a copy [m][m]. Where the potentials
/// outweigh the costs of all pairs so far that they have no digits left for these, paths begin again from no prices.
solution auction(matrix_view<const double> costs, const find_prices& find, executor& threads);

}  // namespace shoal::assignment
