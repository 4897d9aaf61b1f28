// Sizes and thresholds of the mixture kernels on GPUs, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

namespace shoal::gmm {

// ---- few columns (small_*) ----

/// float32 products of such values stay in range; rows beyond are done in float64.
inline constexpr float most_extent = 1e18F;

/// Most sums of each thread that pass through shared memory at a time when a group ends.
template <class Scalar>
inline constexpr int most_flushed_sums = sizeof(Scalar) == 4 ? 48 : 12;

/// How many threads share a multiprocessor's 65,536 registers, in blocks of a multiple of 128.
struct small_registers {
  int threads;
  bool hold_parameters;  ///< a component's parameters stay in registers; else they are read again for every 16 bytes
};

/// `sums`, `parameters` and `rows` are the 4-byte words of a thread's sums, of a component's parameters, and of the rows
/// that are worked on at a time when parameters do not stay.
constexpr small_registers registers_for(int sums, int parameters, int rows) {
  constexpr int others = 26;
  const bool hold = sums + parameters + others <= 232;
  const int needed = sums + others + (hold ? parameters : rows);
  if (needed <= 64) return {1024, hold};
  if (needed <= 80) return {768, hold};
  if (needed <= 96) return {640, hold};
  if (needed <= 128) return {512, hold};
  if (needed <= 168) return {384, hold};
  return {256, hold};
}

/// Blocks have a multiple of so many threads: registers are given to so many at a time.
inline constexpr std::size_t small_thread_unit = 128;

/// Rows that a thread has of one stage, if memory allows: between two stages the block waits for all of its threads.
inline constexpr std::size_t small_slice_rows = 28;
inline constexpr std::size_t least_stage_rows = 32;

/// Rounds of components whose parameters do not fit into shared memory together.
inline constexpr std::size_t most_rounds = 16;

/// Fewest rows of a group, and what beginning and ending one costs, in rows of a thread.
inline constexpr std::size_t least_group_rows = 32;
inline constexpr std::size_t group_cost = 4;

/// How much longer a block takes when it is alone on its multiprocessor, for its share of the registers.
inline constexpr double lone_block = 1.1;

}  // namespace shoal::gmm
