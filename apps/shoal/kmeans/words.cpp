// Options of k-means, from words to the library.
#include "kmeans/words.hpp"

#include <fmt/format.h>

#include <shoal/kmeans/model_text.hpp>

#include "common/library_options.hpp"

namespace shoal::app {

const choices<kmeans::seeding>& seeding_choices() {
  using seeding = kmeans::seeding;
  static const choices<seeding> known = {{"auto", seeding::automatic},
                                         {"k-means++", seeding::plus_plus},
                                         {"k-means-parallel", seeding::parallel},
                                         {"random-rows", seeding::random_rows}};
  return known;
}

const choices<kmeans::stop_rule>& stop_rule_choices() {
  using rule = kmeans::stop_rule;
  static const choices<rule> known = {{"scikit-learn", rule::scikit_learn}, {"relative-shift", rule::relative_shift}};
  return known;
}

void add_kmeans_options(CLI::App& app, kmeans_options& options) {
  options.fit.init = "auto";
  options.fit.max_iterations = 300;
  options.fit.tolerance = 1e-4;
  add_data_options(app, options.data);
  add_init_option(app, options.fit, words_of(seeding_choices()));
  add_fit_options(app, options.fit);
  add_number(app, "--tolerance", options.fit.tolerance,
             "Stop when the centroids move by less, as --stop-rule counts; 0: when no label changes", 0);
  add_choice(app, "--stop-rule", options.stop_rule, stop_rule_choices(),
             "Squared shift against the variance of the data, or against the shift before", "scikit-learn");
  add_device_options(app, options.run);
  add_run_options(app, options.run);
}

kmeans_request library_options(const kmeans_options& options, std::optional<std::size_t> clusters,
                               std::size_t threads) {
  kmeans_request request;
  kmeans::options& library = request.library;
  library.init = chosen_init(options.fit, seeding_choices(), kmeans::seeding::centroids);
  if (library.init == kmeans::seeding::centroids) {
    request.start = read_model_file(options.fit.init, kmeans::parse_model);
    const std::size_t start_clusters = request.start->model.clusters;
    if (clusters && *clusters != start_clusters) {
      throw bad_argument(
          fmt::format("--clusters is {}, but the model {} has {}", *clusters, options.fit.init, start_clusters));
    }
    clusters = start_clusters;
  }
  if (!clusters) throw bad_argument("--clusters is missing: say how many, as in --clusters 8");
  library.clusters = *clusters;
  library.stop = options.stop_rule;
  set_shared_options(library, options.fit, options.run, threads);
  return request;
}

}  // namespace shoal::app
