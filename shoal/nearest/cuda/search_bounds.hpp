// What a search on a GPU must know of all centroids to prove its labels.
#pragma once

namespace shoal {

/// Upper bounds over all centroids that the search's proof needs, as bits so that a maximum may be atomic.
struct search_bounds {
  unsigned long long largest_norm = 0;  ///< of ‖c′‖², a float64
  unsigned long long largest_residual = 0;  ///< of ‖c′ − ĉ′‖², a float64, where ĉ′ is c′ as the products take it
};

}  // namespace shoal
