// Shortest augmenting paths over whole rows of costs, for small matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// Where a result goes.
struct pairs_and_potentials {
  std::size_t* column_of_row = nullptr;  ///< [n]
  std::size_t* row_of_column = nullptr;  ///< [m]
  double* row_potentials = nullptr;      ///< [n]
  double* column_potentials = nullptr;   ///< [m]
};

/// What solving needs besides, to be used again for as many problems as there are.
struct dense_memory {
  std::vector<double> potentials;    // of columns, −∞ for closed ones during a search
  std::vector<double> distances;     // of open columns, +∞ for closed ones
  std::vector<double> predecessors;  // rows, which are exact in float64, so that vectors of both have equal lengths
  std::vector<std::size_t> waiting;
  std::vector<std::size_t> left;
  std::vector<std::size_t> closed;  // columns that a search has closed, and at which distance
  std::vector<double> closed_distances;
};

/// The assignment of least cost of checked costs [n][m], n ≤ m. Returns whether there is one; else `memory.closed` has
/// all columns that the row `memory.left.front()` can have, directly or by way of these columns' rows, and
/// `row_of_column` their rows.
bool dense_paths(matrix_view<const double> costs, dense_memory& memory, const pairs_and_potentials& out);

/// Whether every cost is at most `most` in size, or +∞.
bool all_valid(matrix_view<const double> costs, double most);

/// Whether costs − column potentials ≥ row potentials − slack for all pairs; not-a-number is not.
bool all_feasible(matrix_view<const double> costs, const double* row_potentials, const double* column_potentials,
                  double slack);

}  // namespace shoal::assignment
