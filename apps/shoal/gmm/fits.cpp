// Mixtures as a family of fits.
#include "gmm/fits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/model_file.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/work.hpp>

#include "common/device.hpp"
#include "common/model_file.hpp"
#include "common/output.hpp"
#include "common/report_output.hpp"
#include "gmm/units.hpp"
#include "report/gmm/report.hpp"

namespace shoal::app {
namespace {

template <class Scalar>
gmm::fit_result fit_mixture(const fit_rows<Scalar>& rows, const gmm_request& request, const std::string& start_file,
                            const control& control) {
  gmm::options options = request.library;
  const standardization* const units = rows.units();
  if (options.init == gmm::initialization::model) {
    check_start(start_file, options.start, rows);
    if (units != nullptr) options.start = to_standard_units(options.start, *units);
  }
  gmm::fit_result result = gmm::fit(rows.rows(), options, rows.weights(), control);
  if (units != nullptr) {
    result.model = to_data_units(result.model, *units);
    const double volume = units->log_volume();
    result.mean_log_likelihood -= volume;
    for (double& figure : result.history) figure -= volume;
    result.bic += 2 * volume * result.total_weight;
    result.aic += 2 * volume * result.total_weight;
  }
  result.model.column_names = rows.data().features.column_names;
  return result;
}

template <class Scalar>
void label_rows_of(const gmm::model& model, const fit_rows<Scalar>& rows, std::int32_t* labels,
                   const gmm::options& library, const control& control) {
  gmm::prediction<Scalar> out;
  out.labels = labels;
  gmm::predict(model, rows.data().rows(), out, library.threads, library.memory_limit, nullptr, control, library.device);
}

template <class Scalar>
void write_report(const fitted<gmm_types>& fit, const fit_rows<Scalar>& rows, const std::int32_t* labels) {
  const gmm::fit_result& result = fit.result;
  const auto& features = rows.data().features;
  const drawn_rows drawn = draw_for_report(rows.data(), labels, [&](matrix_view<const double> some, std::int32_t* out) {
    gmm::predict(result.model, view_source<double>(some), {.labels = out}, fit.library.threads);
  });
  report::fit_page(result, fit_data_for(drawn, fit.words->data.path, features.label_names, result.model.column_names,
                                        fit.agreement, fit.selection, asked_values(gmm_fits(), fit)))
      .write(fit.words->fit.report);
}

class gmm_family final : public select_family<gmm_types> {
 public:
  gmm::fit_result fit(const fit_rows<float>& rows, const gmm_request& request, const std::string& start_file,
                      const control& control) const override {
    return fit_mixture(rows, request, start_file, control);
  }
  void label(const gmm::model& model, const fit_rows<float>& rows, std::int32_t* labels, const gmm::options& library,
             const control& control) const override {
    label_rows_of(model, rows, labels, library, control);
  }
  void report(const fitted<gmm_types>& fit, const fit_rows<float>& rows, const std::int32_t* labels) const override {
    write_report(fit, rows, labels);
  }
  gmm::fit_result fit(const fit_rows<double>& rows, const gmm_request& request, const std::string& start_file,
                      const control& control) const override {
    return fit_mixture(rows, request, start_file, control);
  }
  void label(const gmm::model& model, const fit_rows<double>& rows, std::int32_t* labels, const gmm::options& library,
             const control& control) const override {
    label_rows_of(model, rows, labels, library, control);
  }
  void report(const fitted<gmm_types>& fit, const fit_rows<double>& rows, const std::int32_t* labels) const override {
    write_report(fit, rows, labels);
  }

  const char* noun() const override { return "gmm"; }
  const char* remedy() const override { return "; a larger --regularization may help"; }
  double objective(const gmm::fit_result& result) const override { return result.mean_log_likelihood; }
  selection_words selection() const override {
    return {"component", "mean_log_likelihood", "log-likelihood", "{:.6f}"};
  }
  std::size_t groups(const gmm::options& library) const override { return library.components; }

  bool starts_from_file(const gmm_options& words) const override {
    return chosen_init(words.fit, gmm_initialization_choices(), gmm::initialization::model) ==
           gmm::initialization::model;
  }

  named_values shape_values(const gmm::options& library) const override {
    return {{"components", library.components},
            {"covariance_type", word_for(covariance_choices(), library.covariance_type)}};
  }

  named_values option_values(const gmm_options& words, const gmm::options& library) const override {
    const gmm::chunk_options& chunks = library.chunks;
    named_values values = {{"algorithm", word_for(algorithm_choices(), library.algorithm)},
                           {"acceleration", word_for(acceleration_choices(), library.acceleration)}};
    if (words.async_em_2013) values.emplace_back("async_em_2013", true);
    if (chunks.rows != 0) values.emplace_back("chunk_rows", chunks.rows);
    if (chunks.superchunks != 0) values.emplace_back("superchunks", chunks.superchunks);
    if (chunks.threshold > 0) values.emplace_back("threshold", chunks.threshold);
    const bool from_file = library.init == gmm::initialization::model;
    return joined({values,
                   {{"init", from_file ? words.fit.init : word_for(gmm_initialization_choices(), library.init)},
                    {"max_iterations", library.max_iterations},
                    {"tolerance", library.tolerance},
                    {"regularization", library.regularization},
                    {"restarts", library.restarts},
                    {"seed", library.seed},
                    {"standardize", words.fit.standardize}}});
  }

  named_values result_values(const gmm::fit_result& result, const gmm::options& library) const override {
    return {
        {"mean_log_likelihood", result.mean_log_likelihood},
        {"lower_bound", result.history.empty() ? json() : json(result.history.back())},
        {"bic", result.bic},
        {"aic", result.aic},
        {"free_parameters", gmm::free_parameters(library.covariance_type, library.components, result.model.columns)},
        {"iterations", result.iterations},
        {"converged", result.converged},
        {"reseeded", result.reseeded}};
  }

  named_values model_values(const gmm::model& model) const override {
    return {{"weights", model.weights},
            {"model_covariance_type", word_for(covariance_choices(), model.covariance_type)}};
  }

  named_values agreement_values(const agreement_type& agreement) const override { return rand_index_values(agreement); }

  fit_time time(const gmm::fit_result& result, double seconds) const override {
    return {seconds, result.seeding_seconds, result.loop_seconds, result.loop_iterations};
  }

  std::string facts(const fitted<gmm_types>& fit, const std::string& data, const std::string& time) const override {
    const gmm::fit_result& result = fit.result;
    return lines({{"mixture", fmt::format("{}, {} covariances, {}", counted(result.model.components, "component"),
                                          word_for(covariance_choices(), fit.library.covariance_type),
                                          counted(result.model.columns, "column"))},
                  {"data", data},
                  {"log-likelihood", fmt::format("{:.10g} mean; BIC {:.8g}, AIC {:.8g}", result.mean_log_likelihood,
                                                 result.bic, result.aic)},
                  {"iterations", iterations_text(result.iterations, result.converged)},
                  {"reseeded", result.reseeded > 0 ? counted(result.reseeded, "empty component") : ""},
                  {"agreement", rand_index_text(fit.agreement, fit.words->data.label_column)},
                  {"time", time}});
  }

  std::string model_table(const gmm::model& model) const override {
    constexpr std::size_t most_columns = 6;
    constexpr std::size_t most_components = 20;
    const std::size_t d = std::min(model.columns, most_columns);
    const std::vector<std::string> titles = column_titles(model.column_names, model.columns);
    std::vector<std::vector<std::string>> cells(1, {"component", "weight"});
    for (std::size_t j = 0; j < d; ++j) cells[0].push_back("mean " + titles[j]);
    if (d < model.columns) cells[0].push_back(fmt::format("({} more columns)", model.columns - d));
    for (std::size_t k = 0; k < std::min(model.components, most_components); ++k) {
      cells.push_back({std::to_string(k), fmt::format("{:.4f}", model.weights[k])});
      for (std::size_t j = 0; j < d; ++j)
        cells.back().push_back(fmt::format("{:.6g}", model.means[k * model.columns + j]));
    }
    std::string text = table(cells);
    if (model.components > most_components) text += fmt::format("({} more)\n", model.components - most_components);
    return text;
  }

  void settle(run_options& run, const estimated_work& work, const gmm::options& library) const override {
    // A GPU fits models of blocks for some shapes only: there the host is no choice.
    if (run.device_word == "auto" && library.chunks.local_models) return;
    settle_device(run, work, library.threads);
  }

  estimated_work work(std::size_t rows, std::size_t columns, std::size_t scalar_bytes,
                      const gmm::options& library) const override {
    return gmm::work_of_fit(rows, columns, scalar_bytes, library);
  }

  agreement_type agree(const gmm::model&, const std::int32_t* labels, const std::vector<std::int32_t>& given,
                       std::size_t given_values, const run_options& run) const override {
    return agreement_of(labels, given, given_values, run);
  }

  // The model is in the data's own units, whatever it was fitted in.
  void save(const std::string& path, const fitted<gmm_types>& fit, const named_values& values,
            const standardization*) const override {
    gmm::save_model(path, fit.result.model, provenance_of(values, fit.result.hardware, nullptr));
  }
};

}  // namespace

const select_family<gmm_types>& gmm_fits() {
  static const gmm_family family;
  return family;
}

}  // namespace shoal::app
