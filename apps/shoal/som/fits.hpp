// Self-organizing maps as a family of fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <shoal/som/label_units.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/result.hpp>

#include "common/fitted.hpp"
#include "som/words.hpp"

namespace shoal::app {

struct som_types {
  using words = som_options;
  using library = som::options;
  using request = som_request;
  using model = som::model;
  using result = som::fit_result;
  using agreement = std::optional<som::unit_labels>;
};

const fit_family<som_types>& som_fits();

/// What given labels say of the units of all rows; `units` are one for each row.
som::unit_labels labels_of_units(const som::model& model, const std::int32_t* units,
                                 const std::vector<std::int32_t>& given);

/// The units that match some row best.
std::size_t units_hit(const som::quality& quality);

/// What an answer says of the purity: nothing without labels.
named_values purity_values(const std::optional<som::unit_labels>& labels);
std::string purity_text(const std::optional<som::unit_labels>& labels, const std::string& label_column);

}  // namespace shoal::app
