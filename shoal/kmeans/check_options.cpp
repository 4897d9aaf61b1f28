#include <shoal/kmeans/check_options.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/check_model.hpp>

namespace shoal::kmeans {

void check_options(const options& options) {
  if (options.clusters == 0) throw bad_argument("clusters must be at least 1; got 0");
  if (options.clusters > most_clusters) {
    throw bad_argument(fmt::format("clusters must be at most {}; got {}", most_clusters, options.clusters));
  }
  if (options.restarts == 0) throw bad_argument("restarts must be at least 1; got 0");
  if (!(options.tolerance >= 0) || !std::isfinite(options.tolerance)) {
    throw bad_argument(fmt::format("tolerance must be finite and not negative; got {}", options.tolerance));
  }
}

}  // namespace shoal::kmeans
