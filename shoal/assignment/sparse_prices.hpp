// The prices of an auction for pairs that are listed.
#pragma once

#include <vector>

#include <shoal/assignment/sparse_costs.hpp>

namespace shoal::assignment {

/// Column potentials near the best, for checked costs of as many rows as columns. Rows bid one after the other, with
/// steps that fall as those of host_prices().
std::vector<double> sparse_prices(const sparse_costs& costs);

}  // namespace shoal::assignment
