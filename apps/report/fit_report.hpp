// What the report of a fit shows in addition to the fit, whatever the family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/metrics/agreement.hpp>

#include "report/page.hpp"

namespace shoal::report {

/// One line of the table by which K was chosen.
struct choice {
  std::size_t groups = 0;          ///< components or clusters
  double mean_log_likelihood = 0;  ///< or inertia, for k-means
  double bic = 0;
  double aic = 0;
};

/// Rows to draw and what is known of them. Views: what they see outlives the call.
struct fit_data {
  std::string name;                      ///< the file's name, or what the data are
  matrix_view<const double> rows;        ///< [drawn][d], about 4,000 at most: sample_rows()
  std::size_t rows_in_all = 0;           ///< of the data; 0: as many as `rows`
  std::span<const std::int32_t> labels;  ///< [drawn] fitted labels; empty: dots of one colour
  std::span<const std::int32_t> given;   ///< [drawn] labels that came with the data, ≥ 0; empty: none
  std::vector<std::string> given_names;  ///< of the given labels; empty: numbers
  /// Fitted (first) against given (second) labels of all rows; without it the drawn rows are counted.
  std::optional<metrics::contingency_table> agreement;
  std::vector<std::string> column_names;  ///< [d]; empty: the model's, or numbers
  std::vector<double> known_weights;      ///< by given label, for data whose mixture is known; empty: unknown
  std::vector<fact> options;              ///< what was asked for: the last table
  std::vector<choice> choices;            ///< K tried; empty: K was given
  std::string criterion = "BIC";          ///< what chose: "BIC" or "AIC"
};

/// The table of fitted against given labels, with the adjusted Rand index; the most frequent 24 of each are shown.
table agreement_table(const metrics::contingency_table& counts, const std::string& group_word,
                      const std::vector<std::string>& given_names);

/// For each group below `groups`, the given label that shares most rows with it, each label taken once, pairs with most
/// rows first; −1 where none is left.
std::vector<std::int32_t> match_groups(const metrics::contingency_table& counts, std::size_t groups);

}  // namespace shoal::report
