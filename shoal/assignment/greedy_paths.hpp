// Greedy assignment that tries all tied minima.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// The best of the greedy assignments that differ in which of equal minima they take, at most `paths` of them side by
/// side: of more, those of least cost so far go on, of equal ones those that took earlier pairs.
std::vector<std::size_t> greedy_paths(matrix_view<const double> costs, std::size_t paths);

}  // namespace shoal::assignment
