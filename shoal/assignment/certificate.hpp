// Whether an assignment proves itself. The check knows nothing of how it was found.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/executor.hpp>

namespace shoal::assignment {

/// An assignment of n rows and m columns and its potentials, wherever they are kept.
struct proof {
  const std::size_t* column_of_row = nullptr;  ///< [n]
  const std::size_t* row_of_column = nullptr;  ///< [m]
  const double* row_potentials = nullptr;      ///< [n]
  const double* column_potentials = nullptr;   ///< [m]
  double cost = 0;
};

/// What certify() asks of a feasible solution.
template <class T>
bool proves_itself(matrix_view<const T> costs, const proof& found, double price, executor* threads = nullptr);

extern template bool proves_itself(matrix_view<const double>, const proof&, double, executor*);

/// Whether `found` is one column a row at most, its cost the sum of its pairs and prices, and its potentials a proof: u
/// + v ≤ cost everywhere, equal for the pairs, v ≤ 0 where columns may be left over, zero where they are, and Σu + Σv =
/// cost; all to within (n + m)·2⁻⁵² of the largest potentials, for that many differences of them were rounded. When
/// infeasible, whether the conflict is one. One pass over costs [n][m], n ≤ m unless there is a price; `threads` share
/// it where there are any.
template <class T>
bool certify(matrix_view<const T> costs, const solution& found, double price, executor* threads = nullptr);

extern template bool certify(matrix_view<const float>, const solution&, double, executor*);
extern template bool certify(matrix_view<const double>, const solution&, double, executor*);
extern template bool certify(matrix_view<const std::int32_t>, const solution&, double, executor*);
extern template bool certify(matrix_view<const std::int64_t>, const solution&, double, executor*);

}  // namespace shoal::assignment
