// Options of k-means, from words to the library and back.
#include "kmeans/words.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace shoal::app {

const choices<kmeans::seeding>& seeding_choices() {
  using seeding = kmeans::seeding;
  static const choices<seeding> known = {{"k-means++", seeding::plus_plus},
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
  options.fit.init = "k-means++";
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

kmeans_file load_kmeans(const std::string& path) {
  kmeans_file file;
  file.model = kmeans::load_model(path);
  file.units = units_of_fit(path, file.model.columns);
  return file;
}

kmeans_request library_options(const kmeans_options& options, std::optional<std::size_t> clusters,
                               std::size_t threads) {
  kmeans_request request;
  kmeans::options& library = request.library;
  library.init = chosen_init(options.fit, seeding_choices(), kmeans::seeding::centroids);
  if (library.init == kmeans::seeding::centroids) {
    request.start = load_kmeans(options.fit.init);
    const std::size_t start_clusters = request.start->model.clusters;
    if (clusters && *clusters != start_clusters) {
      throw bad_argument(fmt::format("--clusters: {} were asked for, and the model {} has {}", *clusters,
                                     options.fit.init, start_clusters));
    }
    clusters = start_clusters;
  }
  if (!clusters) throw bad_argument("--clusters is missing: say how many, as in --clusters 8");
  library.clusters = *clusters;
  library.max_iterations = options.fit.max_iterations;
  library.tolerance = options.fit.tolerance;
  library.stop = options.stop_rule;
  library.restarts = options.fit.restarts;
  library.seed = options.fit.seed;
  library.threads = threads;
  library.memory_limit = options.run.memory_limit;
  library.device = options.run.device;
  library.checkpoint = options.fit.checkpoint;
  library.checkpoint_seconds = options.fit.checkpoint_seconds;
  return request;
}

template <class Scalar>
kmeans::fit_result fit_centroids(const fit_rows<Scalar>& rows, const kmeans_request& request,
                                 const std::string& start_file, const control& control) {
  const standardization* const units = rows.units();
  kmeans::options options = request.library;
  if (request.start) {
    const kmeans::model& start = request.start->model;
    const std::vector<std::string>& names = rows.data().features.column_names;
    check_start_columns(start_file, start.columns, start.column_names, rows.rows().columns(), names);
    options.centroids = units == nullptr ? start.centroids : to_standard_units(start, *units).centroids;
  }
  kmeans::fit_result result = kmeans::fit(rows.rows(), options, rows.weights(), control);
  if (units != nullptr) result.model = to_data_units(result.model, *units);
  result.model.column_names = rows.data().features.column_names;
  return result;
}
template kmeans::fit_result fit_centroids<float>(const fit_rows<float>&, const kmeans_request&, const std::string&,
                                                 const control&);
template kmeans::fit_result fit_centroids<double>(const fit_rows<double>&, const kmeans_request&, const std::string&,
                                                  const control&);

template <class Scalar>
double assign(const kmeans::model& model, const standardization* units, const row_source<Scalar>& rows,
              std::int32_t* labels, const row_source<Scalar>* weights, std::size_t threads, std::size_t memory_limit,
              const control& control, const device_choice& device) {
  if (units == nullptr) return kmeans::predict(model, rows, labels, threads, memory_limit, weights, control, device);
  const standardized_source<Scalar> standardized(rows, *units);
  return kmeans::predict(to_standard_units(model, *units), standardized, labels, threads, memory_limit, weights,
                         control, device);
}
template double assign<float>(const kmeans::model&, const standardization*, const row_source<float>&, std::int32_t*,
                              const row_source<float>*, std::size_t, std::size_t, const control&, const device_choice&);
template double assign<double>(const kmeans::model&, const standardization*, const row_source<double>&, std::int32_t*,
                               const row_source<double>*, std::size_t, std::size_t, const control&,
                               const device_choice&);

json describe_fit(const kmeans_options& options, const kmeans::options& library, const kmeans::fit_result& result,
                  shoal::scalar scalar) {
  json object;
  describe_data(object, options.data, result.rows, result.model.columns, result.model.column_names);
  object["total_weight"] = result.total_weight;
  object["scalar"] = word_for(scalar_choices(), scalar);
  object["clusters"] = library.clusters;
  object["init"] = options.fit.init;
  object["max_iterations"] = library.max_iterations;
  object["tolerance"] = library.tolerance;
  object["stop_rule"] = word_for(stop_rule_choices(), library.stop);
  object["restarts"] = library.restarts;
  object["seed"] = library.seed;
  object["standardize"] = options.fit.standardize;
  object["inertia"] = result.inertia;
  object["bic"] = result.bic;
  object["aic"] = result.aic;
  object["iterations"] = result.iterations;
  object["converged"] = result.converged;
  object["relocated"] = result.relocated;
  return object;
}

void save_kmeans(const std::string& path, const kmeans::fit_result& result, const standardization* units,
                 json provenance) {
  provenance["hardware"] = result.hardware;
  provenance["program"] = "shoal " SHOAL_VERSION;
  if (units != nullptr) provenance["standardization"] = {{"center", units->center}, {"scale", units->scale}};
  kmeans::save_model(path, result.model, provenance.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string model_table(const kmeans::model& model) {
  constexpr std::size_t most_columns = 6;
  constexpr std::size_t most_clusters = 20;
  const std::size_t d = std::min(model.columns, most_columns);
  const std::vector<std::string> titles = column_titles(model.column_names, model.columns);
  std::vector<std::vector<std::string>> cells(1, {"cluster"});
  for (std::size_t j = 0; j < d; ++j) cells[0].push_back(titles[j]);
  if (d < model.columns) cells[0].push_back(fmt::format("({} more columns)", model.columns - d));
  for (std::size_t k = 0; k < std::min(model.clusters, most_clusters); ++k) {
    cells.push_back({std::to_string(k)});
    for (std::size_t j = 0; j < d; ++j) {
      cells.back().push_back(fmt::format("{:.6g}", model.centroids[k * model.columns + j]));
    }
  }
  std::string text = table(cells);
  if (model.clusters > most_clusters) text += fmt::format("({} more)\n", model.clusters - most_clusters);
  return text;
}

}  // namespace shoal::app
