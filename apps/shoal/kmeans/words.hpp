// The words for k-means on the command line, and how fitted centroids are described to people and to machines.
#pragma once

#include <optional>
#include <string>

#include <shoal/kmeans/kmeans.hpp>

#include "common/fit_rows.hpp"
#include "common/options.hpp"
#include "common/output.hpp"

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

/// A model file, with the units that its centroids were fitted in when those are not the data's.
struct kmeans_file {
  kmeans::model model;
  std::optional<standardization> units;
};
kmeans_file load_kmeans(const std::string& path);

/// Options of the library, and the start that `--init` names, if any.
struct kmeans_request {
  kmeans::options library;
  std::optional<kmeans_file> start;
};

/// Throws bad_argument when the start has other clusters than were asked for.
kmeans_request library_options(const kmeans_options& options, std::optional<std::size_t> clusters, std::size_t threads);

/// Fits. The centroids come back in the data's own units; inertia is in the units of the fit.
template <class Scalar>
kmeans::fit_result fit_centroids(const fit_rows<Scalar>& rows, const kmeans_request& request,
                                 const std::string& start_file, const control& control);
extern template kmeans::fit_result fit_centroids<float>(const fit_rows<float>&, const kmeans_request&,
                                                        const std::string&, const control&);
extern template kmeans::fit_result fit_centroids<double>(const fit_rows<double>&, const kmeans_request&,
                                                         const std::string&, const control&);

/// The nearest centroid of each row, in the units that the centroids were fitted in. Returns the inertia there.
template <class Scalar>
double assign(const kmeans::model& model, const standardization* units, const row_source<Scalar>& rows,
              std::int32_t* labels, const row_source<Scalar>* weights, std::size_t threads, std::size_t memory_limit,
              const control& control, const device_choice& device = {});
extern template double assign<float>(const kmeans::model&, const standardization*, const row_source<float>&,
                                     std::int32_t*, const row_source<float>*, std::size_t, std::size_t, const control&,
                                     const device_choice&);
extern template double assign<double>(const kmeans::model&, const standardization*, const row_source<double>&,
                                      std::int32_t*, const row_source<double>*, std::size_t, std::size_t,
                                      const control&, const device_choice&);

/// The options and results of a fit that its JSON answer and its model file share; they depend on neither threads nor
/// time.
json describe_fit(const kmeans_options& options, const kmeans::options& library, const kmeans::fit_result& result,
                  shoal::scalar scalar);

/// Writes the model with its provenance, the units of the fit among it.
void save_kmeans(const std::string& path, const kmeans::fit_result& result, const standardization* units,
                 json provenance);

/// The centroids as a table.
std::string model_table(const kmeans::model& model);

}  // namespace shoal::app
