// Mixtures that are resumed from words that no fit has saved, by every algorithm.
#include "../fuzz/resumed_fits.hpp"

#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/check_resolution.hpp>
#include <shoal/gmm/fit.hpp>

namespace {

namespace gmm = shoal::gmm;

class mixture final : public fuzzing::small_fit<gmm::options, gmm::make_backend<double>> {
 public:
  using small_fit::small_fit;
  void run(const std::string& checkpoint, double seconds, const shoal::control& control) const override {
    require_finite(gmm::fit(rows_, with(checkpoint, seconds), nullptr, control).model);
  }
  void end(shoal::stepper& steps) override {
    const gmm::model& fitted = static_cast<gmm::mixture_stepper&>(steps).current();
    gmm::check_resolution<double>(fitted, backend().summary(), options_.regularization);
    require_finite(fitted);
  }

 private:
  static void require_finite(const gmm::model& model) {
    fuzzing::require_finite(model.weights);
    fuzzing::require_finite(model.means);
    fuzzing::require_finite(model.covariances);
  }
};

std::unique_ptr<mixture> fit(gmm::algorithm algorithm, gmm::covariance_type type,
                             gmm::acceleration acceleration = gmm::acceleration::none) {
  gmm::options options;
  options.components = 3;
  options.covariance_type = type;
  options.algorithm = algorithm;
  options.acceleration = acceleration;
  options.init = gmm::initialization::random_rows;
  options.max_iterations = 4;
  options.tolerance = 0;
  options.restarts = 2;
  options.chunks.rows = 30;
  return std::make_unique<mixture>(fuzzing::grouped_rows<45, 2>(), options);
}

using enum gmm::algorithm;
using enum gmm::covariance_type;
const fuzzing::add_resumed_fits added(fit(batch, full), fit(batch, spherical),
                                      fit(batch, diag, gmm::acceleration::squarem), fit(incremental, tied),
                                      fit(asynchronous, full), fit(stepwise, diag));

}  // namespace
