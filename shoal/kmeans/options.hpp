// How a clustering is fitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <shoal/execution/device_choice.hpp>

namespace shoal::kmeans {

/// How the first centroids are chosen.
enum class seeding {
  plus_plus,    ///< greedy k-means++ (Arthur & Vassilvitskii 2007) with 2 + floor(ln K) trials a step
  parallel,     ///< k-means‖ (Bahmani et al. 2012)
  random_rows,  ///< distinct rows, drawn in proportion to their weights
  centroids,    ///< exactly options::centroids
  automatic,    ///< parallel for many clusters of many rows, where it is much cheaper at equal quality; else plus_plus
};

/// When the iteration stops. Each rule also stops when no label changed and at max_iterations.
enum class stop_rule {
  scikit_learn,  ///< Σ‖Δc‖² ≤ tolerance · mean over columns of the variance of the rows
  relative_shift,  ///< Σ‖Δc‖² ≤ tolerance · the previous Σ‖Δc‖² (the rule of the source; 0.001 there on threads, 0.01
                   ///< on a GPU)
};

struct options {
  std::size_t clusters = 8;
  seeding init = seeding::automatic;
  std::vector<double> centroids;  ///< [clusters][columns], for seeding::centroids
  std::size_t max_iterations = 300;
  double tolerance = 1e-4;  ///< 0: until no label changes, or max_iterations
  stop_rule stop = stop_rule::scikit_learn;
  std::size_t restarts = 1;  ///< the fit with the least inertia is kept
  std::uint64_t seed = 0;
  std::size_t threads = 0;        ///< 0: default_threads()
  std::size_t memory_limit = 0;   ///< bytes for row buffers of sources that are not resident; 0: no limit
  std::string checkpoint;         ///< file; empty: none
  double checkpoint_seconds = 1;  ///< least time between two checkpoints
  device_choice device;           ///< where the fit runs; the host's processor unless chosen (choose_device)
};

}  // namespace shoal::kmeans
