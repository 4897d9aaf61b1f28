// Mixtures carried between standardized units and the data's own.
#pragma once

#include <shoal/gmm/model.hpp>

#include "common/standardization.hpp"

namespace shoal::app {

/// The same density in the data's own units. A spherical mixture becomes a diagonal one, since one variance for all
/// columns is not one variance after each was scaled by its own factor; the other types stay.
gmm::model to_data_units(const gmm::model& model, const standardization& units);

/// The same density in standardized units. Throws bad_argument for a spherical mixture.
gmm::model to_standard_units(const gmm::model& model, const standardization& units);

}  // namespace shoal::app
