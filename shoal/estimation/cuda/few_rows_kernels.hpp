// The kernel of greedy k-means++ among rows all of which are at work at once, from the first step to the last.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/estimation/cuda/coarse_rows.hpp>
#include <shoal/estimation/seeding_passes.hpp>

namespace shoal {

/// Most rows that a step draws, and blocks of rows.
inline constexpr std::size_t most_few_trials = 16;
inline constexpr std::size_t most_few_units = std::size_t{1} << 13;

/// Everything in the device's memory but these counts. Every bit of what blocks say is set before they begin.
template <class Scalar, class Work>
struct few_rows {
  const Scalar* rows;
  const Scalar* weights;       ///< null: all one, or those in float64
  const double* wide_weights;  ///< null: none
  std::size_t count;
  unsigned columns, units;  ///< units: blocks of block_rows rows
  unsigned clusters, trials;
  std::size_t first;                ///< the row that is chosen first
  greedy_draws draws;               ///< for their uniforms
  unsigned long long* said_sums;    ///< [clusters][units][trials] what blocks tell each other: sums of masses of units,
  unsigned long long* said_groups;  ///< [clusters][groups][trials] of groups of draw_group units,
  unsigned long long* said_rows;    ///< [clusters][trials][1 + columns] and the rows that were drawn
  const Work* pairs;                ///< null, or [count][count] distances of all pairs
  coarse_rows coarse;               ///< the rows in bytes, where there are any
  double unit;                      ///< of these bytes
  unsigned long long* chosen;       ///< [1 + clusters] how many were chosen, and which
  double* points;                   ///< [clusters][columns]
};

/// What a block has: one unit, whose rows and distances it keeps, or some, whose rows are in memory.
enum class hold { one_unit, in_memory };

/// How the blocks of a launch share the rows.
struct few_rows_cut {
  unsigned blocks = 0;  ///< none: they cannot be at work at once
  unsigned units = 0;   ///< of each block
  hold how = hold::one_unit;
};

/// On the current device, which has so many multiprocessors.
template <class Scalar, class Work>
few_rows_cut cut_at_once(const few_rows<Scalar, Work>& rows, std::size_t multiprocessors,
                         std::size_t most_shared_bytes);

/// Chooses all of them.
template <class Scalar, class Work>
void choose_at_once(const few_rows<Scalar, Work>& rows, const few_rows_cut& cut, cudaStream_t stream);

}  // namespace shoal
