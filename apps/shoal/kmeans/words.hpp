// The words for k-means on the command line.
#pragma once

#include <optional>
#include <string>

#include <shoal/kmeans/model.hpp>
#include <shoal/kmeans/options.hpp>

#include "common/model_file.hpp"
#include "common/options.hpp"

namespace shoal::app {

const choices<kmeans::seeding>& seeding_choices();
const choices<kmeans::stop_rule>& stop_rule_choices();

/// The options of `kmeans fit` and `kmeans select`.
struct kmeans_options {
  data_options data;
  run_options run;
  fit_options fit;
  kmeans::stop_rule stop_rule = kmeans::stop_rule::scikit_learn;
};

/// Declares them, but for `--clusters`.
void add_kmeans_options(CLI::App& app, kmeans_options& options);

/// Options of the library, and the start that `--init` names, if any.
struct kmeans_request {
  kmeans::options library;
  std::optional<model_file<kmeans::model>> start;
};

/// Throws bad_argument when the start has other clusters than were asked for.
kmeans_request library_options(const kmeans_options& options, std::optional<std::size_t> clusters, std::size_t threads);

}  // namespace shoal::app
