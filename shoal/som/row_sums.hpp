// Rows added to the sums of their units, and their distances to them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/execution/fold.hpp>
#include <shoal/som/statistics.hpp>

namespace shoal::som {

/// Adds each row of `block` to its unit, whose number stands in `best`: w(x − centre) and w. Of several `members`, the
/// one of this rank adds to the units u with u % members == rank, so that the order within a unit stays. The bits are
/// the same for every instruction set.
template <class Scalar>
void add_rows(const row_block<Scalar>& block, const std::int32_t* best, const double* centre, std::size_t rank,
              std::size_t members, statistics& into);

/// distances[i] = ‖x_i − w_best[i]‖ for `units` [units][columns], in float64: eight sums of columns j, j + 8, …, added
/// in a fixed tree, and then the columns that are left. The bits are the same for every instruction set.
template <class Scalar>
void measure_rows(matrix_view<const Scalar> rows, const std::int32_t* best, const double* units, double* distances);

}  // namespace shoal::som
