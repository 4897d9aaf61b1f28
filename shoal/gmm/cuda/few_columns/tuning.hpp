// Sizes of the mixture kernels for few columns , with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm::few_columns {

/// float32 products of such values stay in range; rows beyond are done in float64.
inline constexpr float most_extent = 1e18F;

/// Most sums of each thread that pass through shared memory at a time when a group ends.
template <class Scalar>
inline constexpr int most_flushed_sums = sizeof(Scalar) == 4 ? 48 : 12;

/// What a kernel asks of a multiprocessor's 65,536 registers: so many blocks of so many threads.
struct kernel_registers {
  int threads;
  int blocks;
  int rows;  ///< rows of a thread at a time in the expectation step, which share the parameters that it loads
};

/// `words` registers hold a thread's sums during all of a group; the expectation step needs as many for its rows and
/// what it loads. Float64 at (2²⁰, 8, 10) takes 0.248 ms with one row of a thread at a time, for each of which all
/// parameters come from shared memory, 0.208 with two, and 0.197 with four and two blocks, one of which reads while the
/// other multiplies.
constexpr kernel_registers registers_for(int words) {
  if (words <= 10) return {256, 3, 2};
  if (words <= 45) return {256, 2, 2};
  if (words <= 78) return {384, 1, 2};
  if (words <= 90) return {128, 2, 4};
  return {256, 1, 1};
}

/// Blocks have a multiple of so many threads: registers are given to so many at a time. Two blocks of 256 take 0.091 ms
/// at (2²⁰, 8, 10), four of 128 0.094.
inline constexpr std::size_t thread_unit = 128;

/// What beginning and ending a group costs, in rows. (46,800, 8, 8) takes 0.0120 ms with a group of 373 rows for each
/// multiprocessor and 0.0136 with two of 179, whose lanes take longer to merge.
inline constexpr double group_cost_rows = 48;

/// How much longer a group takes, for its rows, when there are fewer of them than blocks that a multiprocessor could
/// run at once: float64 diagonal (2¹⁸, 8, 10) takes 0.0375 ms with one for each multiprocessor and 0.0338 with two.
inline constexpr double lone_block = 1.05;

/// How a block of two teams is cut: threads that compute responsibilities, of `rows` rows at a time, and threads that
/// sum the moments of `components` components.
struct team_sizes {
  int rows;
  int expectation_threads;
  int moment_threads;
  int components;
  int moment_unroll;  ///< rows that a thread of the moments has in hand
  int blocks = 1;     ///< of a multiprocessor
};

/// The sums alone take, in float32 at 2²⁰ rows and 10 components, with these sizes and with one team
/// (accumulate): 8 columns, full 0.072 and 0.087 ms, diagonal 0.044 and 0.058, spherical 0.041 and 0.058; full
/// with 12 columns 0.136 and 0.217, with 16 columns 0.234 and 0.349. At 8 columns full covariances take 0.087 with 128
/// + 256 threads and 0.091 with 256 + 128; 0.082 with two rows of a thread at a time.
constexpr team_sizes team_sizes_for(covariance_type type, int columns) {
  if (type != covariance_type::full) return {4, 256, 128, 2, 2};
  if (columns <= 8) return {4, 256, 256, 1, 2};
  if (columns <= 12) return {4, 128, 256, 1, 2};
  return {4, 128, 128, 1, 1};
}

/// Smaller teams, of which a multiprocessor runs several blocks that do not wait for each other; no rows where there
/// are none. They take, and those above: full (5·10⁶, 3, 5) 0.099 and 0.171 ms (two blocks of 256 + 128 threads 0.113),
/// (2·10⁶, 2, 10) 0.049 and 0.070, (10⁶, 5, 8) 0.043 and 0.048; spherical (10⁷, 3, 5) 0.205 and 0.249. With 8 columns,
/// two blocks of 128 + 128 threads take 0.080 ms at (2²⁰, 8, 10), one of 256 + 256 0.076.
constexpr team_sizes small_team_sizes_for(covariance_type type, int columns) {
  if (type == covariance_type::full && columns <= 5) return {4, 128, 128, 1, 2, 3};
  if (type == covariance_type::spherical && columns <= 4) return {4, 256, 128, 2, 2, 2};
  return {};
}

/// Full covariances' rows are moved to one origin if no component's whitened mean is farther from it in any column, in
/// units of √(2 / log2 e) deviations: sums about the origin lose digits with the square of that.
inline constexpr double most_origin_distance = 32;

/// How long a tile of 32 rows takes a warp there while a multiprocessor has one block of two, beside both.
inline constexpr double lone_origin_block = 0.65;

/// So many rows for each multiprocessor are enough for them.
inline constexpr std::size_t least_small_team_rows = 4096;

}  // namespace shoal::gmm::few_columns
