// The kernels of greedy k-means++ on one GPU that holds all rows: steps follow each other without the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/estimation/cuda/coarse_rows.hpp>

namespace shoal {

/// Points that a step measures: the winner of the step before, then its trials.
inline constexpr std::size_t most_greedy_points = 16;

/// The points of one step, in the device's memory.
template <class Work>
struct greedy_points {
  Work* values;                 ///< [most_greedy_points][columns]
  coarse_rows coarse;           ///< most_greedy_points of them
  unsigned long long* indices;  ///< [most_greedy_points] the rows that they are
};

/// Everything in the device's memory but these counts. `coarse` has whole blocks of rows.
template <class Scalar, class Work>
struct greedy_state {
  const Scalar* rows;
  const Scalar* weights;  ///< null: all one
  std::size_t count, columns;
  std::size_t units;  ///< blocks of rows
  coarse_scale scale;
  coarse_rows coarse;
  Work* least;         ///< [count]
  double* warp_sums;   ///< [units · warps of a block] Σ w · least
  double* trial_sums;  ///< [units · warps of a block][most_greedy_points] the same of each warp; null: few rows
  double* group_sums;  ///< [units / draw_group, rounded up][most_greedy_points] and of units; null: few rows
  double* sums;        ///< [units][most_greedy_points] what Σ w · least would be with each trial
  greedy_points<Work> points[2];  ///< of even and of odd steps
  const double* uniforms;         ///< [steps][trials]
  unsigned long long* chosen;     ///< [clusters]
  unsigned* done;                 ///< [0] rows chosen, [1] when the rows ran out the step after
};

/// Fills what depends on the rows alone, and makes `first` the winner and the only trial of step 0.
template <class Scalar, class Work>
void begin_greedy(const greedy_state<Scalar, Work>& state, std::size_t first, cudaStream_t stream);

/// Step `step`, with so many trials: applies the winner of the step before, sums the masses with each trial, keeps the
/// best one, and, unless it is the last step, draws `next_trials` rows for the next.
template <class Scalar, class Work>
void greedy_step(const greedy_state<Scalar, Work>& state, std::size_t step, unsigned trials, unsigned next_trials,
                 cudaStream_t stream);

/// Bytes of shared memory that a draw among so many trials needs.
std::size_t greedy_shared_bytes(std::size_t units, unsigned trials);

}  // namespace shoal
