// What a fit of k-means returns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shoal/kmeans/model.hpp>
#include <shoal/kmeans/options.hpp>

namespace shoal::kmeans {

struct fit_result {
  kmeans::model model;
  double inertia = 0;           ///< Σ w‖x − c‖² of the returned centroids
  std::vector<double> history;  ///< inertia of the centroids that each iteration started from
  std::size_t iterations = 0;   ///< of the fit that was kept
  bool converged = false;
  std::size_t relocated = 0;            ///< empty clusters that were given the farthest row
  std::vector<double> cluster_weights;  ///< [K] Σ w of the rows nearest to each of the returned centroids
  std::size_t rows = 0;
  double total_weight = 0;  ///< Σ w; the number of rows without weights
  double seconds = 0;       ///< seeding, loop and final labels
  /// The loop alone, and the iterations that it was spent in: of all restarts, but without what was done before a fit
  /// was resumed. One iteration takes their quotient.
  double loop_seconds = 0;
  std::size_t loop_iterations = 0;
  seeding init = seeding::plus_plus;  ///< how the first centroids were chosen; never automatic
  double seeding_seconds = 0;         ///< choosing where to start, of all restarts; part of `seconds`
  double bic = 0;                     ///< spherical model of docs/choosing-k.md
  double aic = 0;
  std::vector<double> column_variances;  ///< [columns] of the rows as they were fitted; zero where none differ
  std::string hardware;                  ///< the instruction set or the GPUs that computed it; same bits hold per kind
};

}  // namespace shoal::kmeans
