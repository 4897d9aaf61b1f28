// The kernel of greedy k-means++ among rows so few that all of them are at work at once, from the first step to the
// last.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace shoal {

/// Most rows that a step draws, and blocks of rows.
inline constexpr std::size_t most_few_trials = 16;
inline constexpr std::size_t most_few_units = 1024;

/// Everything in the device's memory but these counts. Every bit of `said_sums` and `said_rows` is set.
template <class Scalar, class Work>
struct few_rows {
  const Scalar* rows;
  const Scalar* weights;  ///< null: all one
  std::size_t count;
  unsigned columns, units;  ///< units: blocks of block_rows rows
  unsigned clusters, trials;
  std::size_t first;              ///< the row that is chosen first
  const double* uniforms;         ///< [clusters − 1][trials]
  unsigned long long* said_sums;  ///< [clusters][units][trials] what blocks tell each other: sums of masses
  unsigned long long* said_rows;  ///< [clusters][trials][1 + columns] and the rows that were drawn
  unsigned long long* chosen;     ///< [1 + clusters] how many were chosen, and which
  double* points;                 ///< [clusters][columns]
};

/// Whether all blocks of such rows fit on the current device, which has so many multiprocessors, at once.
template <class Scalar, class Work>
bool fit_at_once(const few_rows<Scalar, Work>& rows, std::size_t multiprocessors, std::size_t most_shared_bytes);

/// Chooses all of them.
template <class Scalar, class Work>
void choose_at_once(const few_rows<Scalar, Work>& rows, cudaStream_t stream);

}  // namespace shoal
