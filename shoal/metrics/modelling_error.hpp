// How far the memberships of rows under a fitted mixture lie from those that they should have.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/core/matrix_view.hpp>

namespace shoal::metrics {

/// What the modelling error must know of all rows: with p the desired and q the found memberships of a row, the sums of
/// p_k·q_l, of ‖p‖² and of ‖q‖². Sums of disjoint rows add up.
struct membership_sums {
  membership_sums(std::size_t desired_components, std::size_t found_components);

  std::size_t desired_components = 0;  ///< K
  std::size_t found_components = 0;    ///< L
  std::vector<double> products;        ///< [K][L]
  double desired_squares = 0;
  double found_squares = 0;
  std::size_t rows = 0;
};

/// Adds rows, given their memberships `desired` [rows][K] and `found` [rows][L]: probabilities that sum to one over a
/// row. Throws bad_argument when the sizes do not match.
void add(membership_sums& sums, matrix_view<const double> desired, matrix_view<const double> found);

/// The modelling error, and which found component stands for which desired one.
struct modelling_error {
  double error = 0;                ///< in [0, 2]: 0 when all memberships are as desired
  std::vector<std::size_t> match;  ///< [K] found component, each at most once, or assignment::unassigned
};

/// The mean over the rows of Σ_k (p_k − q_match(k))², the squared error of found and desired memberships (Altinigneli,
/// Plant & Böhm 2013, section 5.1), for the match that makes it least, by exact linear assignment. A component without
/// a match counts against memberships of zero. Zero when no row was added.
modelling_error modelling_error_of(const membership_sums& sums);

}  // namespace shoal::metrics
