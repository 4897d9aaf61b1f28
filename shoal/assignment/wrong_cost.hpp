// Which costs can be used, and what a method throws when it meets another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// A cost that cannot be used.
struct wrong_cost {
  std::size_t row = 0;  ///< no cost of the rows before it is wrong
};

/// The greatest size of a cost: a potential is a sum of at most n + m differences of costs.
template <class T>
double most_cost(matrix_view<const T> costs) {
  const double sums = 4.0 * static_cast<double>(costs.rows() + costs.columns() + 1);
  if constexpr (std::is_same_v<T, std::int64_t>) return 0x1p53 / sums;
  return std::numeric_limits<double>::max() / sums;
}

}  // namespace shoal::assignment
