// The report of a self-organizing map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <shoal/som/label_units.hpp>
#include <shoal/som/result.hpp>

#include "report/page.hpp"

namespace shoal::report {

/// How the rows of one given label lie on a map.
struct label_count {
  std::size_t rows = 0;
  std::size_t rows_at_home = 0;  ///< on units whose majority is the label
  std::size_t units = 0;         ///< whose majority is the label
};

/// What the page shows in addition to the fit.
struct map_fit_data {
  std::string name;              ///< the file's name, or what the data are
  std::vector<double> u_matrix;  ///< [units], in the units of the fit
  bool standardized = false;     ///< distances are in standardized units, the codebook in the data's
  std::optional<som::unit_labels> unit_labels;
  std::vector<std::string> label_names;    ///< of the labels, when there are unit_labels
  std::vector<label_count> rows_by_label;  ///< one for each name
  std::vector<fact> options;               ///< what was asked for: the last table
};

/// Counts for `names` labels; `units` and `given` hold one value for each row. Throws bad_argument when one is out of
/// range.
std::vector<label_count> count_rows_by_label(const som::unit_labels& labels, const std::int32_t* units,
                                             std::span<const std::int32_t> given, std::size_t names);

/// A page of one fit: key figures, U-matrix, hits, labels with their purity, component planes, quantization error by
/// epoch, options. Throws bad_argument when data and map do not fit.
page fit_page(const som::fit_result& fit, const map_fit_data& data);

}  // namespace shoal::report
