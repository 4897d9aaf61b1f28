// settle() for rows of few columns by the Euclidean metric, and their search.
#pragma once

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// Rows of so few columns are searched by threads, by the Euclidean metric. An epoch of 10⁶ float32 rows × 3 columns on
/// 30 × 30 units takes 0.529 ms on an H200, and 0.650 where tensor cores search. The steps before that: README.md of
/// bench/ladder/som.
template <class Scalar>
inline constexpr int most_short_columns = sizeof(Scalar) == 4 ? 8 : 16;

/// Beside more units than that products on tensor cores take less time, where there are some for so many columns: 10⁷
/// float32 rows × 8 columns on 4096 units 17.6 ms instead of 28.0, 10⁶ float64 rows × 16 columns 6.4 instead of 8.6; on
/// 1000 units 12.7 instead of 5.3, and 2.6 instead of 2.1.
template <class Scalar>
constexpr bool are_short(std::size_t units, std::size_t columns) {
  constexpr std::size_t most_units = 2048, least_of_products = sizeof(Scalar) == 4 ? 5 : 16;
  return columns <= std::size_t{most_short_columns<Scalar>} && (columns < least_of_products || units <= most_units);
}

/// Whether settle_short_rows() adds so many rows to the sums of its blocks in less time than sum_by_label() takes: 10⁶
/// float32 rows × 3 columns on 33 units 0.072 instead of 0.088 ms. What rounding leaves of a number goes to the sums of
/// all blocks one by one, and the more rows there are the more numbers leave some: 10⁷ rows 2.17 instead of 0.55 ms.
template <class Scalar>
bool adds_up_itself(std::size_t count, const device_units<Scalar>& units) {
  return sizeof(Scalar) == 4 && units.columns <= 4 && units.units <= 1024 && count <= std::size_t{1} << 22;
}

/// As settle(), for the best-matching units alone: to.shape is null.
template <class Scalar>
void settle_short_rows(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const settled_rows& to,
                       std::size_t multiprocessors, cudaStream_t stream);

}  // namespace shoal::som
