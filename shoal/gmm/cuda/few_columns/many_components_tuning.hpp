// Sizes of the kernels for few columns and many components, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm::few_columns {

inline constexpr int most_many_columns = 8;

/// Most sums of all components: each block keeps a lane of them.
inline constexpr std::size_t most_many_sums = std::size_t{1} << 18;

/// What a kernel asks of a multiprocessor's registers: so many blocks of so many threads.
struct many_sizes {
  int threads;
  int blocks;
};

/// `words` registers hold a component's parameters and sums.
constexpr many_sizes many_sizes_for(int words) {
  if (words <= 10) return {256, 4};
  if (words <= 36) return {256, 3};
  if (words <= 84) return {256, 2};
  if (words <= 130) return {384, 1};
  return {256, 1};
}

/// Most rows of a group, which lie in shared memory, and the least that are worth a group.
inline constexpr std::size_t most_many_rows = 512;

/// What a row and a component cost while moments are summed, for one while components are compared; and what ending a
/// group costs a thread beside its sums, a quarter each.
inline constexpr double many_moment_cost = 1.5, many_flush_cost = 8;

/// Where they are faster than the other rooms' kernels. 10⁶ rows of (columns, components) take with the room that was
/// chosen before and with these (bench/results/many-components-nvidia-h200-2026-11-28.json): full float64 (1, 256) 3.14
/// and 1.21 ms, (1, 100) 0.52 and 0.50, (1, 64) 0.30 and 0.32, (3, 1000) 48.4 and 7.8, (3, 100) 0.68 and 0.81, (5, 100)
/// 1.45 and 1.34, (5, 1000) 48.8 and 12.6, (8, 64) 1.01 and 1.39, (8, 80) 1.98 and 1.76, (8, 256) 13.3 and 5.1; tied
/// (1, 1000) 17.1 and 4.7, (5, 256) 4.8 and 3.0, (8, 256) 4.8 and 4.9; diag (2, 1000) 18.3 and 5.5, (5, 100) 1.07 and
/// 0.90, (8, 1000) 18.5 and 12.3; full float32 (1, 1000) 13.0 and 1.6, (3, 100) 0.31 and 0.29, (3, 1000) 13.2 and 3.7,
/// (5, 1000) 13.2 and 8.4, (8, 1000) 13.2 and 15.8; diag (1, 1000) 3.6 and 1.6, (2, 1000) 3.6 and 2.0, (5, 1000) 3.6
/// and 4.0. Unlike sums in a frame they take as long wherever components lie, and however narrow they are.
///
/// Of 10,000 float64 rows (3, 256) takes 0.057 ms a step with the others and 0.065 with these, 4000 of (3, 1000) 0.126
/// and 0.111.
constexpr bool are_many_faster(std::size_t value_bytes, covariance_type type, std::size_t rows, std::size_t columns,
                               std::size_t components) {
  const bool matrices = type == covariance_type::full || type == covariance_type::tied;
  if (value_bytes == 4) return components >= 100 && columns <= (matrices ? 6 : 4);
  if ((type == covariance_type::tied && columns > 6) || (rows < 30'000 && components < 512)) return false;
  return components >= (columns >= 5 ? 80 : 120);
}

}  // namespace shoal::gmm::few_columns
