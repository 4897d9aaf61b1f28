// What the command line hands to the report of a fit of groups, and how fitted and given labels agree.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <shoal/metrics/agreement.hpp>

#include "common/answer.hpp"
#include "common/rows.hpp"
#include "common/selection.hpp"
#include "report/fit_report.hpp"
#include "report/subsample.hpp"

namespace shoal::app {

/// Fitted against given labels of all rows, where there is a label column of not too many values.
std::optional<metrics::contingency_table> agreement_of(const std::int32_t* fitted,
                                                       const std::vector<std::int32_t>& given, std::size_t given_values,
                                                       const run_options& run);

/// The rows that a report draws, with their labels.
struct drawn_rows {
  report::row_sample sample;
  std::vector<std::int32_t> labels;
  std::vector<std::int32_t> given;
};

/// Labels some rows that are held in float64.
using label_rows = std::function<void(matrix_view<const double>, std::int32_t*)>;

/// Draws a few thousand rows. `labels` are those of all rows, or null: then `label` labels the drawn ones.
template <class Scalar>
drawn_rows draw_for_report(const data_set<Scalar>& data, const std::int32_t* labels, const label_rows& label);
extern template drawn_rows draw_for_report<float>(const data_set<float>&, const std::int32_t*, const label_rows&);
extern template drawn_rows draw_for_report<double>(const data_set<double>&, const std::int32_t*, const label_rows&);

/// Named values as facts of a report.
std::vector<report::fact> facts_of(const named_values& values);

/// The report's view of a fit of groups; `drawn` must outlive it. `asked` are the facts that end it.
report::fit_data fit_data_for(const drawn_rows& drawn, const std::string& name,
                              const std::vector<std::string>& given_names, const std::vector<std::string>& column_names,
                              const std::optional<metrics::contingency_table>& agreement, const selection& selection,
                              const named_values& asked);

/// What an answer says of the agreement: nothing without labels to agree with.
named_values rand_index_values(const std::optional<metrics::contingency_table>& agreement);
std::string rand_index_text(const std::optional<metrics::contingency_table>& agreement,
                            const std::string& label_column);

}  // namespace shoal::app
