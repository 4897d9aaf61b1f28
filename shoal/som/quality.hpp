// How well a map stands for rows.
#pragma once

#include <vector>

namespace shoal::som {

/// How well a map stands for rows of weights w.
struct quality {
  double quantization_error = 0;  ///< Σ w·(distance to the best-matching unit) / Σ w, in the map's metric
  double topographic_error = 0;  ///< the share of Σ w whose two best-matching units are not neighbours; 0 for one unit
  std::vector<double> hits;      ///< [units] Σ w of the rows that each unit matches best
};

}  // namespace shoal::som
