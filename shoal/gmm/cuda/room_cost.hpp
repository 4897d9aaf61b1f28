// What a room of kernels does for a shape, of each kind, and what one of each costs: the rows of cost_table.hpp.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/cuda/room_name.hpp>

namespace shoal::gmm {

/// What a room does of each kind for a shape, counted as its kernels pad it; or, as coefficients, the milliseconds that
/// one of them takes. Rows count in millions, and products and sums of each row and component in thousands.
struct cost_terms {
  double launch = 0;           ///< 1
  double rows = 0;             ///< N
  double row_bytes = 0;        ///< that are read
  double moved = 0;            ///< terms of rows by column, written for the moments
  double terms = 0;            ///< N·K
  double padded_terms = 0;     ///< the same with whole tiles of components
  double densities = 0;        ///< products of the log-densities
  double half_densities = 0;   ///< the same as three of float16 terms
  double moments = 0;          ///< sums of the moments
  double half_moments = 0;     ///< the same by products of float16 terms
  double team_moments = 0;     ///< the same by a team of warps for each component
  double thread_moments = 0;   ///< sums that the slowest thread of a block takes
  double spilled_moments = 0;  ///< sums that a thread has no registers for
  double framed_moments = 0;   ///< the same about the centre that all components share
  double flushes = 0;          ///< sums of threads that a block alone adds up when a group of rows ends
  double model = 0;            ///< numbers of a model
};

/// A room's coefficients, and the shapes that were timed for it: from so many rows on, of so many columns and
/// components.
struct room_cost {
  room_name room;
  std::size_t value_bytes;     ///< of a row's values
  covariance_type first_type;  ///< of the types in the order of covariance_type
  covariance_type last_type;
  std::size_t least_rows;
  std::size_t least_columns;
  std::size_t most_columns;
  std::size_t least_components;
  std::size_t most_components;
  cost_terms milliseconds;
};

}  // namespace shoal::gmm
