// What comes out of a run.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <shoal/core/aligned_vector.hpp>

namespace shoal::reaction_diffusion {

/// v and w at the times that were asked for.
template <class Scalar>
struct result {
  std::vector<double> times;
  aligned_vector<Scalar> states;      ///< [times][2][rows][columns]: v, then w
  std::size_t steps = 0;              ///< that were taken since time 0
  std::size_t refused_steps = 0;      ///< TR-BDF2: steps whose error was too large
  std::size_t newton_iterations = 0;  ///< of all implicit steps
  double mean_nodes = 0;              ///< adaptive: nodes in use, mean over the steps
  /// Adaptive: the nodes in use at each of the times, ascending; none at times before a run was resumed.
  std::vector<std::vector<std::size_t>> nodes_in_use;
  double seconds = 0;          ///< of this call; a run that was resumed counts what is left
  std::size_t steps_here = 0;  ///< of this call
};

}  // namespace shoal::reaction_diffusion
