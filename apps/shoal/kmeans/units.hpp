// Centroids carried between standardized units and the data's own.
#pragma once

#include <shoal/kmeans/model.hpp>

#include "common/standardization.hpp"

namespace shoal::app {

kmeans::model to_data_units(const kmeans::model& model, const standardization& units);
kmeans::model to_standard_units(const kmeans::model& model, const standardization& units);

}  // namespace shoal::app
