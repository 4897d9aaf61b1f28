// k-means as a family of fits.
#include "kmeans/fits.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/model_file.hpp>
#include <shoal/kmeans/predict.hpp>
#include <shoal/kmeans/work.hpp>

#include "common/device.hpp"
#include "common/report_output.hpp"
#include "kmeans/units.hpp"
#include "report/kmeans/report.hpp"

namespace shoal::app {
namespace {

std::string criteria_text(const kmeans::fit_result& result) {
  if (!std::isfinite(result.bic)) return "BIC and AIC need more rows than clusters";
  return fmt::format("BIC {:.8g}, AIC {:.8g}", result.bic, result.aic);
}

// The nearest centroid of each row, in the units that the centroids were fitted in.
template <class Scalar>
void nearest_centroids(const kmeans::model& model, const standardization* units, const row_source<Scalar>& rows,
                       std::int32_t* labels, const kmeans::options& library, const control& control = {},
                       const device_choice& device = {}) {
  in_units_of_fit(model, units, rows, [&](const kmeans::model& there, const row_source<Scalar>& source) {
    return kmeans::predict(there, source, labels, library.threads, library.memory_limit, nullptr, control, device);
  });
}

template <class Scalar>
kmeans::fit_result fit_centroids(const fit_rows<Scalar>& rows, const kmeans_request& request,
                                 const std::string& start_file, const control& control) {
  const standardization* const units = rows.units();
  kmeans::options options = request.library;
  if (request.start) {
    const kmeans::model& start = request.start->model;
    check_start(start_file, start, rows);
    options.centroids = units == nullptr ? start.centroids : to_standard_units(start, *units).centroids;
  }
  kmeans::fit_result result = kmeans::fit(rows.rows(), options, rows.weights(), control);
  if (units != nullptr) result.model = to_data_units(result.model, *units);
  result.model.column_names = rows.data().features.column_names;
  return result;
}

template <class Scalar>
void label_rows_of(const kmeans::model& model, const fit_rows<Scalar>& rows, std::int32_t* labels,
                   const kmeans::options& library, const control& control) {
  nearest_centroids(model, rows.units(), rows.data().rows(), labels, library, control, library.device);
}

template <class Scalar>
void write_report(const fitted<kmeans_types>& fit, const fit_rows<Scalar>& rows, const std::int32_t* labels) {
  const kmeans::fit_result& result = fit.result;
  const auto& features = rows.data().features;
  const drawn_rows drawn = draw_for_report(rows.data(), labels, [&](matrix_view<const double> some, std::int32_t* out) {
    nearest_centroids<double>(result.model, rows.units(), view_source<double>(some), out, fit.library);
  });
  report::fit_page(result, fit_data_for(drawn, fit.words->data.path, features.label_names, result.model.column_names,
                                        fit.agreement, fit.selection, asked_values(kmeans_fits(), fit)))
      .write(fit.words->fit.report);
}

class kmeans_family final : public select_family<kmeans_types> {
 public:
  kmeans::fit_result fit(const fit_rows<float>& rows, const kmeans_request& request, const std::string& start_file,
                         const control& control) const override {
    return fit_centroids(rows, request, start_file, control);
  }
  void label(const kmeans::model& model, const fit_rows<float>& rows, std::int32_t* labels,
             const kmeans::options& library, const control& control) const override {
    label_rows_of(model, rows, labels, library, control);
  }
  void report(const fitted<kmeans_types>& fit, const fit_rows<float>& rows, const std::int32_t* labels) const override {
    write_report(fit, rows, labels);
  }
  kmeans::fit_result fit(const fit_rows<double>& rows, const kmeans_request& request, const std::string& start_file,
                         const control& control) const override {
    return fit_centroids(rows, request, start_file, control);
  }
  void label(const kmeans::model& model, const fit_rows<double>& rows, std::int32_t* labels,
             const kmeans::options& library, const control& control) const override {
    label_rows_of(model, rows, labels, library, control);
  }
  void report(const fitted<kmeans_types>& fit, const fit_rows<double>& rows,
              const std::int32_t* labels) const override {
    write_report(fit, rows, labels);
  }

  const char* noun() const override { return "kmeans"; }
  double objective(const kmeans::fit_result& result) const override { return result.inertia; }
  selection_words selection() const override { return {"cluster", "inertia", "inertia", "{:.8g}"}; }
  std::size_t groups(const kmeans::options& library) const override { return library.clusters; }

  bool starts_from_file(const kmeans_options& words) const override {
    return chosen_init(words.fit, seeding_choices(), kmeans::seeding::centroids) == kmeans::seeding::centroids;
  }

  named_values shape_values(const kmeans::options& library) const override { return {{"clusters", library.clusters}}; }

  named_values option_values(const kmeans_options& words, const kmeans::options& library) const override {
    return {{"init", words.fit.init},
            {"max_iterations", library.max_iterations},
            {"tolerance", library.tolerance},
            {"stop_rule", word_for(stop_rule_choices(), library.stop)},
            {"restarts", library.restarts},
            {"seed", library.seed},
            {"standardize", words.fit.standardize}};
  }

  named_values result_values(const kmeans::fit_result& result, const kmeans::options&) const override {
    const bool from_file = result.init == kmeans::seeding::centroids;
    return joined({{{"seeding", from_file ? "model" : word_for(seeding_choices(), result.init)},
                    {"inertia", result.inertia},
                    {"bic", result.bic},
                    {"aic", result.aic},
                    {"iterations", result.iterations},
                    {"converged", result.converged},
                    {"relocated", result.relocated}},
                   given_values({{"note", scale_note(result.column_variances, result.model.column_names)}})});
  }

  named_values agreement_values(const agreement_type& agreement) const override { return rand_index_values(agreement); }

  fit_time time(const kmeans::fit_result& result, double seconds) const override {
    return {seconds, result.seeding_seconds, result.loop_seconds, result.loop_iterations};
  }

  std::string facts(const fitted<kmeans_types>& fit, const std::string& data, const std::string& time) const override {
    const kmeans::fit_result& result = fit.result;
    return lines(
        {{"k-means", counted(result.model.clusters, "cluster") + ", " + counted(result.model.columns, "column")},
         {"data", data},
         {"inertia", fmt::format("{:.10g}{}; {}", result.inertia,
                                 fit.words->fit.standardize ? " in standardized units" : "", criteria_text(result))},
         {"note", scale_note(result.column_variances, result.model.column_names)},
         {"iterations", iterations_text(result.iterations, result.converged)},
         {"relocated", result.relocated > 0 ? counted(result.relocated, "empty cluster") : ""},
         {"agreement", rand_index_text(fit.agreement, fit.words->data.label_column)},
         {"time", time}});
  }

  std::string model_table(const kmeans::model& model) const override {
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

  estimated_work work(std::size_t rows, std::size_t columns, std::size_t scalar_bytes,
                      const kmeans::options& library) const override {
    return kmeans::work_of_fit(rows, columns, scalar_bytes, library);
  }

  agreement_type agree(const kmeans::model&, const std::int32_t* labels, const std::vector<std::int32_t>& given,
                       std::size_t given_values, const run_options& run) const override {
    return agreement_of(labels, given, given_values, run);
  }

  void save(const std::string& path, const fitted<kmeans_types>& fit, const named_values& values,
            const standardization* units) const override {
    kmeans::save_model(path, fit.result.model, provenance_of(values, fit.result.hardware, units));
  }
};

}  // namespace

const select_family<kmeans_types>& kmeans_fits() {
  static const kmeans_family family;
  return family;
}

}  // namespace shoal::app
