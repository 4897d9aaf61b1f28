// What the fit of k-means needs of an executor's Lloyd iteration apart from its steps.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/estimation/fit_loop.hpp>

namespace shoal::kmeans {

class clustering_stepper : public stepper {
 public:
  virtual const std::vector<double>& centroids() const = 0;  ///< [clusters][columns], after the last reported step
  virtual std::size_t relocated() const = 0;                 ///< empty clusters that got the farthest row so far
  /// Of the present centroids; a fold when they are not known yet. Weights are in the caller's units.
  virtual double inertia() = 0;
  virtual std::vector<double> cluster_weights() = 0;
};

}  // namespace shoal::kmeans
