// Maps carried between standardized units and the data's own.
#pragma once

#include <shoal/som/model.hpp>

#include "common/standardization.hpp"

namespace shoal::app {

som::model to_data_units(const som::model& model, const standardization& units);
som::model to_standard_units(const som::model& model, const standardization& units);

}  // namespace shoal::app
