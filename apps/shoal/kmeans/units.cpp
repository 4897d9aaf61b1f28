// Centroids between units.
#include "kmeans/units.hpp"

namespace shoal::app {

kmeans::model to_data_units(const kmeans::model& model, const standardization& units) {
  kmeans::model result = model;
  points_to_data_units(result.centroids, units);
  return result;
}

kmeans::model to_standard_units(const kmeans::model& model, const standardization& units) {
  kmeans::model result = model;
  points_to_standard_units(result.centroids, units);
  return result;
}

}  // namespace shoal::app
