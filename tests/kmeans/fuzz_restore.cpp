// Centroids that are resumed from words that no fit has saved: few, and enough for the search among cells.
#include "../fuzz/resumed_fits.hpp"

#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/fit.hpp>

namespace {

namespace kmeans = shoal::kmeans;

class clustering final : public fuzzing::small_fit<kmeans::options, kmeans::make_backend<double>> {
 public:
  using small_fit::small_fit;
  void run(const std::string& checkpoint, double seconds, const shoal::control& control) const override {
    fuzzing::require_finite(kmeans::fit(rows_, with(checkpoint, seconds), nullptr, control).model.centroids);
  }
  void end(shoal::stepper& steps) override {
    auto& ended = static_cast<kmeans::clustering_stepper&>(steps);
    fuzzing::require_finite(ended.centroids());
    fuzzing::require(!std::isnan(ended.inertia()), "the inertia of finite centroids is a number");
    fuzzing::require_finite(ended.cluster_weights());
  }
};

template <std::size_t Clusters, std::size_t Rows>
std::unique_ptr<clustering> fit() {
  kmeans::options options;
  options.clusters = Clusters;
  options.max_iterations = 4;
  options.tolerance = 0;
  options.restarts = 2;
  return std::make_unique<clustering>(fuzzing::grouped_rows<Rows, 2>(), options);
}

const fuzzing::add_resumed_fits added(fit<4, 45>(), fit<120, 135>());

}  // namespace
