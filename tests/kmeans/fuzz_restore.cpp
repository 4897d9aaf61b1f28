// Centroids that are resumed from words that no fit has saved: few, and enough for the search among cells.
#include "../fuzz/resumed_fits.hpp"

#include <shoal/kmeans/fit.hpp>

namespace {

template <std::size_t Clusters>
void fit(const std::string& checkpoint, double seconds, const shoal::control& control) {
  shoal::kmeans::options options;
  options.clusters = Clusters;
  options.max_iterations = 4;
  options.tolerance = 0;
  options.restarts = 2;
  options.threads = 1;
  options.checkpoint = checkpoint;
  options.checkpoint_seconds = seconds;
  const auto rows = fuzzing::grouped_rows<600, 2>();
  fuzzing::require_finite(shoal::kmeans::fit(rows, options, nullptr, control).model.centroids);
}

const fuzzing::add_resumed_fits added{fit<4>, fit<120>};

}  // namespace
