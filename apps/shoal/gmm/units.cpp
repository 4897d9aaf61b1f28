// Mixtures between units.
#include "gmm/units.hpp"

#include <shoal/core/error.hpp>

namespace shoal::app {
namespace {

// The model after its columns were scaled by `factor`; the means are the caller's.
gmm::model scaled_covariances(const gmm::model& model, const std::vector<double>& factor) {
  const std::size_t d = model.columns;
  gmm::model result = model;
  switch (model.covariance_type) {
    case gmm::covariance_type::full:
    case gmm::covariance_type::tied:
      for (std::size_t i = 0; i < model.covariances.size(); ++i) {
        result.covariances[i] = model.covariances[i] * (factor[i / d % d] * factor[i % d]);
      }
      break;
    case gmm::covariance_type::diag:
      for (std::size_t i = 0; i < model.covariances.size(); ++i) {
        result.covariances[i] = model.covariances[i] * (factor[i % d] * factor[i % d]);
      }
      break;
    case gmm::covariance_type::spherical:
      result.covariance_type = gmm::covariance_type::diag;
      result.covariances.resize(model.components * d);
      for (std::size_t i = 0; i < result.covariances.size(); ++i) {
        result.covariances[i] = model.covariances[i / d] * (factor[i % d] * factor[i % d]);
      }
      break;
  }
  return result;
}

}  // namespace

gmm::model to_data_units(const gmm::model& model, const standardization& units) {
  gmm::model result = scaled_covariances(model, units.scale);
  points_to_data_units(result.means, units);
  return result;
}

gmm::model to_standard_units(const gmm::model& model, const standardization& units) {
  if (model.covariance_type == gmm::covariance_type::spherical) {
    throw bad_argument(
        "--init: a spherical model in the data's units is not spherical in standardized ones; leave --standardize out "
        "or start from another kind of model");
  }
  std::vector<double> factor(units.scale.size());
  for (std::size_t j = 0; j < factor.size(); ++j) factor[j] = 1 / units.scale[j];
  gmm::model result = scaled_covariances(model, factor);
  points_to_standard_units(result.means, units);
  return result;
}

}  // namespace shoal::app
