// From open rows and a fit to the report's data.
#include "common/report_output.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "common/output.hpp"

namespace shoal::app {

std::optional<metrics::contingency_table> agreement_of(const std::int32_t* fitted,
                                                       const std::vector<std::int32_t>& given, std::size_t given_values,
                                                       const run_options& run) {
  // The table has a cell for each pair of labels: a column of names or of measurements is no label column.
  constexpr std::size_t most_values = 10000;
  if (given.empty()) return std::nullopt;
  if (given_values > most_values) {
    warn(run, fmt::format("--label-column has {} values; no agreement is computed with more than {}",
                          grouped(given_values), grouped(most_values)));
    return std::nullopt;
  }
  return metrics::contingency({fitted, given.size()}, given);
}

template <class Scalar>
drawn_rows draw_for_report(const data_set<Scalar>& data, const std::int32_t* labels, const label_rows& label) {
  drawn_rows drawn;
  drawn.sample = report::sample_rows(data.rows());
  const std::vector<std::size_t>& indices = drawn.sample.indices;
  drawn.labels.resize(indices.size());
  if (labels == nullptr) {
    label(drawn.sample.rows(), drawn.labels.data());
  } else {
    for (std::size_t i = 0; i < indices.size(); ++i) drawn.labels[i] = labels[indices[i]];
  }
  if (!data.features.labels.empty()) {
    for (const std::size_t index : indices) drawn.given.push_back(data.features.labels[index]);
  }
  return drawn;
}
template drawn_rows draw_for_report<float>(const data_set<float>&, const std::int32_t*, const label_rows&);
template drawn_rows draw_for_report<double>(const data_set<double>&, const std::int32_t*, const label_rows&);

std::vector<report::fact> facts_of(const named_values& values) {
  std::vector<report::fact> facts;
  for (const auto& [key, value] : values) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return facts;
}

report::fit_data fit_data_for(const drawn_rows& drawn, const std::string& name,
                              const std::vector<std::string>& given_names, const std::vector<std::string>& column_names,
                              const std::optional<metrics::contingency_table>& agreement, const selection& selection,
                              const named_values& asked) {
  report::fit_data data;
  data.name = name;
  data.rows = drawn.sample.rows();
  data.rows_in_all = drawn.sample.rows_in_all;
  data.labels = drawn.labels;
  data.given = drawn.given;
  data.given_names = given_names;
  data.column_names = column_names;
  data.agreement = agreement;
  data.options = facts_of(asked);
  if (!selection.candidates.empty()) {
    data.criterion = selection.criterion;
    for (char& c : data.criterion) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const candidate& one : selection.candidates) {
      if (one.failure.empty()) data.choices.push_back({one.groups, one.objective, one.bic, one.aic});
    }
  }
  return data;
}

named_values rand_index_values(const std::optional<metrics::contingency_table>& agreement) {
  if (!agreement) return {};
  return {{"adjusted_rand_index", metrics::adjusted_rand_index(*agreement)}};
}

std::string rand_index_text(const std::optional<metrics::contingency_table>& agreement,
                            const std::string& label_column) {
  if (!agreement) return {};
  return fmt::format("adjusted Rand index {:.4f} with column {}", metrics::adjusted_rand_index(*agreement),
                     label_column);
}

}  // namespace shoal::app
