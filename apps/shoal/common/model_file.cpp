// What a model file says of its fit.
#include "common/model_file.hpp"

namespace shoal::app {

std::string provenance_of(const named_values& fit, const std::string& hardware, const standardization* units) {
  named_values values = joined({fit, {{"hardware", hardware}, {"program", "shoal " SHOAL_VERSION}}});
  if (units != nullptr) {
    values.emplace_back("standardization", json{{"center", units->center}, {"scale", units->scale}});
  }
  return json_text(object_of(values));
}

}  // namespace shoal::app
