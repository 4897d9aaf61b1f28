// How an assignment is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace shoal::assignment {

/// Exact methods prove what they find; the others are quick or simple, and not the best.
enum class method {
  automatic,                  ///< shortest_augmenting_paths
  shortest_augmenting_paths,  ///< exact, O(n²m) at worst (Jonker & Volgenant 1987; rectangular: Crouse 2016)
};

struct options {
  assignment::method method = assignment::method::automatic;
  bool maximise = false;  ///< the greatest sum instead of the least; +∞ forbids a pair in either case
  /// What a row costs that stays single, so that a pair is made only where it lowers the sum; +∞: as many pairs as the
  /// smaller side has. With `maximise` it is what such a row earns, and −∞ stands for +∞.
  double price = std::numeric_limits<double>::infinity();
};

}  // namespace shoal::assignment
