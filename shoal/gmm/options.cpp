#include <shoal/gmm/options.hpp>

namespace shoal::gmm {

void set_async_em_2013(options& options) {
  options.algorithm = algorithm::asynchronous;
  options.acceleration = acceleration::none;
  options.chunks.rows = std::size_t{128} * 4;
  options.chunks.superchunks = 128;
  options.chunks.threshold = 0.01;
  options.chunks.memberships = true;
  options.chunks.local_models = true;
  options.init = initialization::kmeans_of_tenth;
  options.max_iterations = 100;
  options.tolerance = 0;
}

}  // namespace shoal::gmm
