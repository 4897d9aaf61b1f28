// Linear assignment: which column each row takes, so that the sum of their costs is least. The door to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <shoal/assignment/batch_solution.hpp>
#include <shoal/assignment/options.hpp>
#include <shoal/assignment/solution.hpp>
#include <shoal/assignment/sparse_costs.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// The assignment of least cost for `costs` [n][m]; +∞ forbids a pair, and no rows or no columns are legal. Among
/// assignments of equal cost the one that is found depends on costs and options alone. Sums are float64: exact for
/// whole costs that sum to less than 2⁵³. On top of the costs, O(n + m) memory, a transposed copy when n > m, and a
/// copy in float64 when maximising or for up to 256 columns. Throws bad_data with the row and column of a cost that is
/// not-a-number, −∞, or so large that sums of costs overflow (for int64: are not exact), and bad_argument for options
/// that do not go together.
solution solve(matrix_view<const float> costs, const options& options = {});
solution solve(matrix_view<const double> costs, const options& options = {});
solution solve(matrix_view<const std::int32_t> costs, const options& options = {});
solution solve(matrix_view<const std::int64_t> costs, const options& options = {});

/// The same for pairs that are listed; all others are forbidden. Exact; throws bad_argument with the row where the
/// lists are not ascending columns in range.
solution solve(const sparse_costs& costs, const options& options = {});

/// Many problems of one shape, costs [problems][rows][columns], over threads. Each result is what `solve` gives. Throws
/// bad_data with the problem as well as its row and column.
batch_solution solve_batch(std::span<const double> costs, std::size_t rows, std::size_t columns,
                           const options& options = {});

}  // namespace shoal::assignment
