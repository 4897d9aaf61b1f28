// Shortest augmenting paths over sparse costs.
#pragma once

#include <shoal/assignment/solution.hpp>
#include <shoal/assignment/sparse_costs.hpp>

namespace shoal::assignment {

/// The assignment of least cost, or of the greatest, and `certified` from a pass over the pairs. Throws bad_argument
/// with the row where the lists are not ascending columns in range, and bad_data for a cost that is none. `by_auction`
/// begins at the prices of an auction, and needs as many rows as columns.
solution solve_sparse(const sparse_costs& costs, bool maximise, double price, bool by_auction);

}  // namespace shoal::assignment
