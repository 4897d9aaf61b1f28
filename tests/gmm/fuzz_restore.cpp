// Mixtures that are resumed from words that no fit has saved, by every algorithm.
#include "../fuzz/resumed_fits.hpp"

#include <shoal/gmm/fit.hpp>

namespace {

namespace gmm = shoal::gmm;

template <gmm::algorithm Algorithm, gmm::covariance_type Type, gmm::acceleration Acceleration = gmm::acceleration::none>
void fit(const std::string& checkpoint, double seconds, const shoal::control& control) {
  gmm::options options;
  options.components = 3;
  options.covariance_type = Type;
  options.algorithm = Algorithm;
  options.acceleration = Acceleration;
  options.init = gmm::initialization::random_rows;
  options.max_iterations = 4;
  options.tolerance = 0;
  options.restarts = 2;
  options.threads = 1;
  options.chunks.rows = 512;
  options.checkpoint = checkpoint;
  options.checkpoint_seconds = seconds;
  const auto rows = fuzzing::grouped_rows<600, 2>();
  const gmm::fit_result fitted = gmm::fit(rows, options, nullptr, control);
  fuzzing::require_finite(fitted.model.weights);
  fuzzing::require_finite(fitted.model.means);
  fuzzing::require_finite(fitted.model.covariances);
}

using enum gmm::algorithm;
using enum gmm::covariance_type;
const fuzzing::add_resumed_fits added{
    fit<batch, full>,       fit<batch, spherical>,   fit<batch, diag, gmm::acceleration::squarem>,
    fit<incremental, tied>, fit<asynchronous, full>, fit<stepwise, diag>};

}  // namespace
