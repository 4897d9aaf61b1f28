// Sections that the reports of all families share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/chart.hpp"
#include "report/fit_report.hpp"

namespace shoal::report {

/// The cloud of the drawn rows by fitted label.
cloud fitted_cloud(const fit_data& data, const std::vector<std::string>& model_columns, std::string group_word);

/// The same rows by given label; a label that matches a group has the group's colour.
cloud given_cloud(const cloud& fitted, const fit_data& data, const metrics::contingency_table& counts,
                  std::size_t groups, std::vector<std::int32_t>& relabelled);

/// Fitted against given labels: data.agreement, or counted from the drawn rows.
metrics::contingency_table agreement_counts(const fit_data& data);

/// A figure by iteration, or by what `step` names.
picture history_picture(const std::vector<double>& history, std::string title, std::string y_label,
                        std::string step = "iteration");

/// One row a group: colour, extra cells, then its mean in up to eight columns.
table group_table(const cloud& data, const std::vector<std::string>& extra_headings,
                  const std::vector<std::vector<std::string>>& extra_cells);

/// What the caption says when only some of the rows are drawn; else empty.
std::string drawn_words(const fit_data& data);

/// The section on given labels, when there are any.
void add_agreement(page& out, const fit_data& data, const cloud& fitted, std::size_t groups);

/// The section on options, when there are any.
void add_options(page& out, const fit_data& data);

/// The table by which K was chosen.
table choice_table(const std::vector<choice>& choices, std::string group_heading, std::string objective_heading,
                   std::size_t chosen);

/// BIC and AIC against K, the least of each marked.
picture choice_picture(const std::vector<choice>& choices, const std::string& group_word);

/// A paragraph on columns whose variances lie far apart, where they do.
void add_scale_note(page& out, const std::vector<double>& variances, const std::vector<std::string>& names);

/// The data's name without its folders.
std::string title_name(const std::string& name);

/// Throws bad_argument when the drawn rows do not have the model's columns.
void check_columns(const fit_data& data, std::size_t columns);

}  // namespace shoal::report
