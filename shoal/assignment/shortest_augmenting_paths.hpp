// The exact method for dense costs: over candidate columns, or over whole rows of small matrices.
#pragma once

#include <cstdint>

#include <shoal/assignment/solution.hpp>
#include <shoal/assignment/wrong_cost.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// The assignment of least cost, n ≤ m unless there is a price. Throws wrong_cost with the first row that has a cost
/// which is not-a-number or larger than `most` in size without being +∞.
template <class T>
solution shortest_augmenting_paths(matrix_view<const T> costs, double price, double most);

extern template solution shortest_augmenting_paths(matrix_view<const float>, double, double);
extern template solution shortest_augmenting_paths(matrix_view<const double>, double, double);
extern template solution shortest_augmenting_paths(matrix_view<const std::int32_t>, double, double);
extern template solution shortest_augmenting_paths(matrix_view<const std::int64_t>, double, double);

}  // namespace shoal::assignment
