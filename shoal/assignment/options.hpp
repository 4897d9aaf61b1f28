// How an assignment is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <shoal/execution/device_choice.hpp>

namespace shoal::assignment {

/// Exact methods prove what they find. The others (random, greedy…) return pairs without potentials, and are not
/// certified.
enum class method {
  automatic,                  ///< shortest_augmenting_paths
  shortest_augmenting_paths,  ///< exact, O(n²m) at worst (Jonker & Volgenant 1987; rectangular: Crouse 2016)
  hungarian,                  ///< exact, by stars, primes and covers (Munkres 1957)
  auction,       ///< exact: ε-scaling on threads (Bertsekas 1988), finished by augmenting paths from its prices
  brute_force,   ///< exact, without potentials: all assignments of at most 12 rows or columns (Heap 1963)
  random,        ///< each assignment equally likely (Fisher & Yates)
  greedy_naive,  ///< the least cost that is left, looked for again and again
  greedy,        ///< the same pairs from sorted costs
  greedy_paths,  ///< greedy, trying all tied minima
};

/// "auto", "greedy-paths" and so on, as the command line names them.
std::string_view method_name(method method);

/// Throws bad_argument with all names when there is none such.
method method_named(std::string_view name);

struct options {
  assignment::method method = assignment::method::automatic;
  bool maximise = false;  ///< the greatest sum instead of the least; +∞ forbids a pair in either case
  /// What a row costs that stays single, so that a pair is made only where it lowers the sum; +∞: as many pairs as the
  /// smaller side has. With `maximise` it is what such a row earns, and −∞ stands for +∞. For shortest augmenting
  /// paths.
  double price = std::numeric_limits<double>::infinity();
  std::uint64_t seed = 0;     ///< of random
  std::size_t paths = 100;    ///< of greedy_paths: assignments that are followed side by side, at least 1
  device_choice device = {};  ///< of auction: where its prices are found; "auto" never needs a GPU
  std::size_t threads = 0;    ///< of auction and batches; 0: all that the process may use. No result depends on it.
};

}  // namespace shoal::assignment
