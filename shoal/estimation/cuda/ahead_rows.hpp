// What the kernels of steps that draw ahead (draws_ahead.hpp) share, in the memory of the GPU that holds all rows.
//
// A round is four kernels: the masses of all tiles of rows, a draw for many steps at once, a pass over the rows that
// finds for each drawn row which rows are nearer to it than to all points before, and steps, as many as the rows that
// were drawn are enough for. A step needs nothing but those lists: what a trial would take from the sum of masses is a
// sum over its list. Rounds follow each other without the host.
#pragma once

#include <cstddef>

#include <shoal/estimation/cuda/coarse_rows.hpp>
#include <shoal/estimation/draws_ahead.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {

inline constexpr unsigned most_ahead_trials = 16;
inline constexpr unsigned most_ahead = steps_drawn_ahead * most_ahead_trials;
inline constexpr unsigned most_ahead_shares = 16;  // blocks of the cluster that goes through steps
inline constexpr unsigned ahead_tile = block_rows;

/// A row that is nearer to a drawn one than to all points before.
template <class Work>
struct ahead_hit {
  unsigned row;  ///< of the share
  Work distance;
};

/// Where steps are.
struct ahead_state {
  double total;        ///< Σ mass, at the beginning of a round
  unsigned chosen;     ///< rows
  unsigned next;       ///< drawn rows before it have been trials, or are none
  unsigned step;       ///< that drew them
  unsigned exhausted;  ///< too few are left: draw new ones
  unsigned ended;      ///< all are chosen, or no row has any mass
};

/// Everything in the device's memory but these counts.
template <class Scalar, class Work>
struct ahead_rows {
  const Scalar* rows;
  const Scalar* weights;       ///< null: all one, or those in float64
  const double* wide_weights;  ///< null: none
  std::size_t count;
  unsigned columns;
  unsigned clusters, trials, drawn;  ///< drawn: rows of a draw
  greedy_draws draws;                ///< for their uniforms
  coarse_rows coarse;                ///< the rows in bytes; no values: few columns, which are measured at once
  coarse_scale scale;
  Work* least;            ///< [count] squared distance to the nearest point
  unsigned tiles;         ///< of ahead_tile rows
  double* tile_masses;    ///< [tiles]
  unsigned shares;        ///< blocks that go through steps together
  unsigned share_rows;    ///< of each, whole tiles
  std::size_t step_room;  ///< bytes of shared memory of each
  // Rows that were drawn, and the rows that are nearer to each: hits beyond the capacity are not written down.
  unsigned long long* drawn_rows;  ///< [drawn] which they are
  double* thresholds;              ///< [drawn] the distance below which they are no trials any more
  double* now;                     ///< [drawn] their squared distances to the nearest point
  Work* points;                    ///< [drawn][columns]
  coarse_rows coarse_points;       ///< [drawn]
  Work* pairs;                     ///< [drawn][drawn] their squared distances to each other
  unsigned capacity;               ///< of a list
  unsigned* hit_counts;            ///< [drawn][shares]
  ahead_hit<Work>* hits;           ///< [drawn][shares][capacity]
  ahead_state* state;
  unsigned long long* chosen;  ///< [clusters]
};

#ifdef __CUDACC__
template <class Scalar, class Work>
__device__ double ahead_weight(const ahead_rows<Scalar, Work>& of, std::size_t row) {
  if (of.wide_weights != nullptr) return of.wide_weights[row];
  return of.weights == nullptr ? 1.0 : static_cast<double>(of.weights[row]);
}
#endif

}  // namespace shoal
