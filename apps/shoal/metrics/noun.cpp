// shoal metrics
#include "metrics/noun.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/error.hpp>
#include <shoal/io/io.hpp>
#include <shoal/metrics/metrics.hpp>

#include "common/answer.hpp"
#include "common/device.hpp"
#include "metrics/label_file.hpp"

namespace shoal::app {
namespace {

constexpr const char* metrics_examples = R"(Examples:
  shoal metrics true.npy found.csv
  shoal metrics true.csv found.csv --data rows.npy --json
  shoal metrics true.csv found.csv --probabilities desired.npy found.npy

TRUE and FOUND have a whole number for each row; what the groups are called does not matter. Files are read piece by
piece. Of --data the silhouette takes time that grows with the square of the rows.)";

constexpr std::size_t rows_at_once = 4096;

struct metrics_command {
  std::string truth;
  std::string found;
  std::string data;
  std::vector<std::string> probabilities;
  run_options run;
};

metrics::contingency_table count_pairs(label_file& truth, label_file& found) {
  metrics::contingency_table table;
  std::vector<std::int32_t> first, second;
  for (std::size_t row = 0; row < truth.rows(); row += rows_at_once) {
    first.resize(std::min(rows_at_once, truth.rows() - row));
    second.resize(first.size());
    truth.read(row, first);
    found.read(row, second);
    metrics::add(table, first, second);
  }
  return table;
}

json matched_groups(const metrics::contingency_table& table, const metrics::matched_labels& matched) {
  json pairs = json::array();
  for (std::size_t a = 0; a < matched.match.size(); ++a) {
    const bool has = matched.match[a] != assignment::unassigned;
    pairs.push_back({{"true", table.first[a]}, {"found", has ? json(table.second[matched.match[a]]) : json()}});
  }
  return pairs;
}

json counts_of(const metrics::contingency_table& table) {
  json rows = json::array();
  for (std::size_t a = 0; a < table.first.size(); ++a) {
    rows.push_back(json::array());
    for (std::size_t b = 0; b < table.second.size(); ++b) rows.back().push_back(table(a, b));
  }
  return rows;
}

named_values agreement_values(const metrics::contingency_table& table) {
  const metrics::v_measure v = metrics::v_measure_of(table);
  return {{"rand_index", metrics::rand_index(table)},
          {"adjusted_rand_index", metrics::adjusted_rand_index(table)},
          {"mutual_information", metrics::mutual_information(table)},
          {"normalized_mutual_information", metrics::normalized_mutual_information(table)},
          {"adjusted_mutual_information", metrics::adjusted_mutual_information(table)},
          {"homogeneity", v.homogeneity},
          {"completeness", v.completeness},
          {"v_measure", v.v},
          {"fowlkes_mallows_index", metrics::fowlkes_mallows_index(table)},
          {"matched_accuracy", metrics::match_labels(table).accuracy}};
}

// Of the groups of FOUND; their means are what both simplified measures take for centroids.
named_values separation_values(const metrics_command& command, label_file& truth, label_file& found) {
  const opened_rows<double> opened = open_rows<double>(command.data);
  if (opened.rows->rows() != found.rows()) {
    throw bad_data(fmt::format("{} has {} rows, and {} has {} labels; give one label for each row", command.data,
                               opened.rows->rows(), command.found, found.rows()));
  }
  const auto labelled_by = [&](label_file& file) {
    return metrics::labelled_rows{
        opened.rows.get(), [&file](std::size_t first, std::span<std::int32_t> labels) { file.read(first, labels); }};
  };
  const metrics::labelled_rows data = labelled_by(found);
  const std::size_t columns = opened.rows->columns();
  const metrics::group_means own = metrics::means_of_groups(data);
  const metrics::group_means desired = metrics::means_of_groups(labelled_by(truth));
  const auto centroids_of = [columns](const metrics::group_means& groups) {
    return matrix_view<const double>(groups.means.data(), groups.labels.size(), columns);
  };
  const metrics::labelled_rows numbered{
      opened.rows.get(), [&](std::size_t first, std::span<std::int32_t> labels) {
        found.read(first, labels);
        for (std::int32_t& label : labels) {
          label = static_cast<std::int32_t>(std::lower_bound(own.labels.begin(), own.labels.end(), label) -
                                            own.labels.begin());
        }
      }};
  return {{"silhouette", metrics::silhouette(data, resolved_threads(command.run))},
          {"simplified_silhouette", metrics::simplified_silhouette(numbered, centroids_of(own))},
          {"davies_bouldin_index", metrics::davies_bouldin_index(data)},
          {"calinski_harabasz_index", metrics::calinski_harabasz_index(data)},
          {"centroid_index", metrics::centroid_index(centroids_of(desired), centroids_of(own))}};
}

named_values modelling_values(const std::vector<std::string>& paths) {
  const opened_rows<double> desired = open_rows<double>(paths[0]);
  const opened_rows<double> found = open_rows<double>(paths[1]);
  const std::size_t rows = desired.rows->rows();
  if (found.rows->rows() != rows) {
    throw bad_data(fmt::format("{} has {} rows, and {} has {}; give the memberships of the same rows", paths[0], rows,
                               paths[1], found.rows->rows()));
  }
  metrics::membership_sums sums(desired.rows->columns(), found.rows->columns());
  aligned_buffer<double> p, q;
  for (std::size_t first = 0; first < rows; first += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, rows - first);
    metrics::add(sums, desired.rows->read(first, count, p), found.rows->read(first, count, q));
  }
  const metrics::modelling_error error = metrics::modelling_error_of(sums);
  json match = json::array();
  for (const std::size_t component : error.match)
    match.push_back(component == assignment::unassigned ? json() : json(component));
  return {{"modelling_error", error.error}, {"matched_components", match}};
}

void run(const metrics_command& command) {
  label_file truth(command.truth);
  label_file found(command.found);
  if (truth.rows() != found.rows()) {
    throw bad_data(fmt::format("{} has {} labels, and {} has {}; give one label for each row", command.truth,
                               truth.rows(), command.found, found.rows()));
  }
  const metrics::contingency_table table = count_pairs(truth, found);
  named_values indices = agreement_values(table);
  if (!command.data.empty()) indices = joined({indices, separation_values(command, truth, found)});
  const named_values modelling =
      command.probabilities.empty() ? named_values{} : modelling_values(command.probabilities);
  std::vector<std::vector<std::string>> shown = {{"index", "value"}};
  for (const auto& [name, value] : joined({indices, modelling})) {
    if (value.is_number()) shown.push_back({name, fmt::format("{:.6g}", value.get<double>())});
  }
  give({.values =
            joined({{{"rows", table.rows}, {"true_groups", table.first.size()}, {"found_groups", table.second.size()}},
                    indices,
                    modelling,
                    {{"matched_groups", matched_groups(table, metrics::match_labels(table))},
                     {"true_labels", table.first},
                     {"found_labels", table.second},
                     {"counts", counts_of(table)}}}),
        .paragraphs = {lines({{"rows", counted(table.rows, "row")},
                              {"groups", fmt::format("{} true, {} found", table.first.size(), table.second.size())}}),
                       app::table(shown)}},
       command.run);
}

void declare(CLI::App& program, verb& selected) {
  const auto command = std::make_shared<metrics_command>();
  CLI::App& app = *add_verb(program, "metrics", "How well two clusterings agree, and how well one keeps its rows apart",
                            metrics_examples, selected, [command] { run(*command); });
  add_file(app, "TRUE", command->truth, "", "Labels as they should be, one a row: .npy or .csv", presence::required);
  add_file(app, "FOUND", command->found, "", "Labels that were found", presence::required);
  add_file(app, "--data", command->data, "X", "The rows: adds how far the found groups lie apart");
  add_two_files(app, "--probabilities", command->probabilities, "P Q",
                "Desired and found memberships of the rows: adds the modelling error");
  add_run_options(app, command->run, false);
}

}  // namespace

noun metrics_noun() { return {.name = "metrics", .title = {}, .example = {}, .verbs = {}, .alone = declare}; }

}  // namespace shoal::app
