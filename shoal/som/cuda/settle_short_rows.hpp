// settle() for rows of few columns by the Euclidean metric, and their search.
#pragma once

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// Rows of so few columns are searched by threads, by the Euclidean metric, beside any number of units, and float32
/// ones of more beside few; float64 ones in float32, and what that leaves open in float64 (10⁶ rows × 2 columns on 4096
/// units take 1.02 ms an epoch on an H200 instead of 3.49). An epoch of 10⁶ float32 rows × 3 columns on 30 × 30 units
/// takes 0.529 ms on an H200, and 0.650 where tensor cores search. The steps before that: README.md of
/// bench/ladder/som.
template <class Scalar>
inline constexpr int most_short_columns = sizeof(Scalar) == 4 ? 8 : 16;
template <class Scalar>
inline constexpr int most_columns_beside_few = sizeof(Scalar) == 4 ? 24 : 16;

/// Beside more units than that products on tensor cores take less time, where there are some for so many columns: 10⁷
/// float32 rows × 8 columns on 4096 units 17.6 ms instead of 28.0, 10⁶ float64 rows × 16 columns 6.4 instead of 8.6; on
/// 1000 units 12.7 instead of 5.3, and 2.6 instead of 2.1.
/// Float32 rows of 9 to 24 columns beside few units: 10⁷ × 17 on 2 units 1.33 ms instead of 2.42, × 16 on 33 1.38
/// instead of 1.76, 10⁶ × 24 on 2 0.22 instead of 0.29, 10⁴ × 17 on 10 0.032 instead of 0.039, but 1000 × 17 on 10
/// 0.031 instead of 0.024 (bench/results/cliffs-nvidia-h200-2026-11-28.json).
template <class Scalar>
constexpr bool are_short(std::size_t rows, std::size_t units, std::size_t columns) {
  constexpr std::size_t most_units = 2048, least_of_products = sizeof(Scalar) == 4 ? 5 : 16, few_units = 33;
  constexpr std::size_t least_rows = 5000;
  if (columns > std::size_t{most_short_columns<Scalar>}) {
    return columns <= std::size_t{most_columns_beside_few<Scalar>} && units <= few_units && rows >= least_rows;
  }
  return columns < least_of_products || units <= most_units;
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
