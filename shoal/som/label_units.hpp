// What the labels of rows say about the units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/som/model.hpp>

namespace shoal::som {

/// What the labels of the rows say about the units that match them best.
struct unit_labels {
  std::vector<std::int64_t> majority;  ///< [units] the label of most rows, the least of equals; -1 where there are none
  std::vector<double> purity;          ///< [units] the share of the rows that have it; 0 where there are none
  double overall_purity = 0;           ///< the share of all rows that have the label of their unit
};

/// `units` and `labels` hold one value for each of the rows. Throws bad_argument for a unit that is not in the map,
/// and for a label below 0.
unit_labels label_units(const model& model, const std::int32_t* units, const std::int64_t* labels, std::size_t rows);

}  // namespace shoal::som
