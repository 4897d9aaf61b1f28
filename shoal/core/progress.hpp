// How a long computation tells its caller where it is, and how the caller stops it.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string_view>

namespace shoal {

/// Where a computation is. `step` of at most `steps` has ended in `phase`; `objective` is the figure that the phase
/// improves (mean log-likelihood, inertia), or NaN where it has none.
struct progress {
  std::string_view phase;
  std::size_t step = 0;
  std::size_t steps = 0;
  double objective = 0;
};

class communicator;  // shoal/execution/communicator.hpp

/// What a caller hands to a long computation: `report` (may be empty) is called between steps on the calling thread;
/// when `stop` is requested the computation ends with shoal::interrupted within one chunk of rows. `ranks` are the
/// processes that share the rows, each of which makes the same call; null: this one has them all. Of several, rank 0
/// alone reports, and reads and writes checkpoints.
struct control {
  std::function<void(const progress&)> report = {};
  std::stop_token stop = {};
  communicator* ranks = nullptr;
};

}  // namespace shoal
