// From the options that all fits share to those of a family in the library.
#pragma once

#include <cstddef>

#include "common/options.hpp"

namespace shoal::app {

template <class Library>
void set_shared_options(Library& library, const fit_options& fit, const run_options& run, std::size_t threads) {
  library.seed = fit.seed;
  library.threads = threads;
  library.memory_limit = run.memory_limit;
  library.device = run.device;
  library.checkpoint = fit.checkpoint;
  library.checkpoint_seconds = fit.checkpoint_seconds;
  // Of families whose fits are restarted, and end when they converge.
  if constexpr (requires { library.restarts; }) {
    library.max_iterations = fit.max_iterations;
    library.tolerance = fit.tolerance;
    library.restarts = fit.restarts;
  }
}

}  // namespace shoal::app
