// Maps between units.
#include "som/units.hpp"

namespace shoal::app {

som::model to_data_units(const som::model& model, const standardization& units) {
  som::model result = model;
  points_to_data_units(result.codebook, units);
  return result;
}

som::model to_standard_units(const som::model& model, const standardization& units) {
  som::model result = model;
  points_to_standard_units(result.codebook, units);
  return result;
}

}  // namespace shoal::app
