// Sizes of the mixture kernels for few columns and few components, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

namespace shoal::gmm::few_columns {

/// Rows that a thread of the kernels for few components has at a time: they share the parameters that it loads.
inline constexpr int register_rows = 2;

/// Threads of a block, one of a multiprocessor, that has registers for so many words of each. Full (5·10⁶, 3, 5), 88
/// words, takes 0.060 ms with 384 threads and 0.071 with 512, whose compiled code uses all of its 128 registers.
constexpr int register_threads(int words) {
  if (words <= 40) return 768;
  if (words <= 82) return 512;
  return words <= 128 ? 384 : 256;
}

/// For so many components there is a kernel; others take the next one.
constexpr bool has_register_kernel(int components) {
  return components <= 6 || components == 8 || components == 10 || components == 12 || components == 16;
}

/// Where there are such kernels, they were faster than all others in each of the cells that were timed, from 1000 rows
/// to 10⁷ (bench/results/few-column-registers-nvidia-h200-2026-11-24.json). Expected: the two teams' 65.9 million
/// instructions of warps at full (5·10⁶, 3, 5) become 31 million, for rows, responsibilities and sums that stay in
/// registers pass no shared memory; so 0.098 ms become at best 0.041. They are 32.3 million, an instruction in 72 % of
/// the cycles, and 0.060 ms: warps wait for multiply-adds and for parameters from shared memory. (10⁶, 5, 3) takes
/// 0.022 ms for 0.034, spherical (10⁷, 3, 5) 0.076 for 0.204.
///
/// Tried for more sums than a thread has registers for: each lane of a warp has a component, its parameters and its
/// sums, and rows go to as many lanes as there are components. Full (2²⁰, 8, 10) takes 133 instructions for three rows
/// and 50 million in all, for 52.6 million of two teams, but 0.116 ms for 0.076, and 0.091 with two rows at a time:
/// issue slots are 46 % busy, for each stage of a warp waits for its rows, although they were asked for a stage before.
/// In float64 0.193 ms for 0.196: of two warps of a scheduler the float64 units are 46 % busy.
inline constexpr int most_register_columns = 8;
inline constexpr int most_register_components = 16;
inline constexpr int most_register_sums = 96;  ///< of all components

/// Words of a bit for each row of a warp's group.
inline constexpr std::size_t register_group_words = 128;

/// What beginning and ending a group costs a warp, in rows.
inline constexpr double register_group_rows = 96;

/// Warps of a multiprocessor that take as long as fewer.
inline constexpr std::size_t register_busy_warps = 8;

}  // namespace shoal::gmm::few_columns
