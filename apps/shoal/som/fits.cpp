// Maps as a family of fits.
#include "som/fits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <shoal/som/fit.hpp>
#include <shoal/som/model_file.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/schedule.hpp>
#include <shoal/som/u_matrix.hpp>
#include <shoal/som/work.hpp>

#include "common/device.hpp"
#include "common/output.hpp"
#include "common/report_output.hpp"
#include "report/som/report.hpp"
#include "som/units.hpp"

namespace shoal::app {
namespace {

template <class Scalar>
som::fit_result fit_map(const fit_rows<Scalar>& rows, const som_request& request, const std::string& start_file,
                        const control& control) {
  const standardization* const units = rows.units();
  som::options options = request.library;
  if (request.start) {
    const som::model& start = request.start->model;
    check_start(start_file, start, rows);
    options.codebook = units == nullptr ? start.codebook : to_standard_units(start, *units).codebook;
  }
  som::fit_result result = som::fit(rows.rows(), options, rows.weights(), control);
  if (units != nullptr) result.model = to_data_units(result.model, *units);
  result.model.column_names = rows.data().features.column_names;
  return result;
}

template <class Scalar>
void label_rows_of(const som::model& model, const fit_rows<Scalar>& rows, std::int32_t* labels,
                   const som::options& library, const control& control) {
  in_units_of_fit(model, rows.units(), rows.data().rows(),
                  [&](const som::model& map, const row_source<Scalar>& source) {
                    return som::predict(map, source, labels, library.threads, library.memory_limit, nullptr, control,
                                        library.device);
                  });
}

template <class Scalar>
void write_report(const fitted<som_types>& fit, const fit_rows<Scalar>& rows, const std::int32_t* labels) {
  const som::model& model = fit.result.model;
  const auto& features = rows.data().features;
  report::map_fit_data data;
  data.name = fit.words->data.path;
  data.u_matrix = som::u_matrix(rows.units() == nullptr ? model : to_standard_units(model, *rows.units()));
  data.standardized = rows.units() != nullptr;
  data.options = facts_of(asked_values(som_fits(), fit));
  if (fit.agreement) {
    data.unit_labels = *fit.agreement;
    data.label_names = features.label_names;
    data.rows_by_label = report::count_rows_by_label(*fit.agreement, labels, features.labels, data.label_names.size());
  }
  report::fit_page(fit.result, data).write(fit.words->fit.report);
}

class som_family final : public fit_family<som_types> {
 public:
  som::fit_result fit(const fit_rows<float>& rows, const som_request& request, const std::string& start_file,
                      const control& control) const override {
    return fit_map(rows, request, start_file, control);
  }
  void label(const som::model& model, const fit_rows<float>& rows, std::int32_t* labels, const som::options& library,
             const control& control) const override {
    label_rows_of(model, rows, labels, library, control);
  }
  void report(const fitted<som_types>& fit, const fit_rows<float>& rows, const std::int32_t* labels) const override {
    write_report(fit, rows, labels);
  }
  som::fit_result fit(const fit_rows<double>& rows, const som_request& request, const std::string& start_file,
                      const control& control) const override {
    return fit_map(rows, request, start_file, control);
  }
  void label(const som::model& model, const fit_rows<double>& rows, std::int32_t* labels, const som::options& library,
             const control& control) const override {
    label_rows_of(model, rows, labels, library, control);
  }
  void report(const fitted<som_types>& fit, const fit_rows<double>& rows, const std::int32_t* labels) const override {
    write_report(fit, rows, labels);
  }

  named_values shape_values(const som::options& library) const override {
    return {{"width", library.width}, {"height", library.height}};
  }

  named_values option_values(const som_options& words, const som::options& library) const override {
    named_values values = {{"lattice", word_for(lattice_choices(), library.lattice)},
                           {"toroidal", library.toroidal},
                           {"metric", word_for(metric_choices(), library.metric)},
                           {"neighborhood", word_for(neighborhood_choices(), library.neighborhood)}};
    if (library.cutoff > 0) values.emplace_back("cutoff", library.cutoff);
    const som::range radius = som::radius_range(library);
    values.emplace_back("radius", json::array({radius.first, radius.last}));
    values.emplace_back("decay", word_for(decay_choices(), library.radius_decay));
    values.emplace_back("training", word_for(training_choices(), library.training));
    if (library.training == som::training::online) {
      values.emplace_back("rate", json::array({library.rate.first, library.rate.last}));
      values.emplace_back("rate_decay", word_for(decay_choices(), library.rate_decay));
    }
    return joined({values,
                   {{"init", words.fit.init},
                    {"epochs", library.epochs},
                    {"seed", library.seed},
                    {"standardize", words.fit.standardize}}});
  }

  named_values result_values(const som::fit_result& result, const som::options&) const override {
    return joined({{{"quantization_error", result.quality.quantization_error},
                    {"topographic_error", result.quality.topographic_error},
                    {"units_hit", units_hit(result.quality)},
                    {"iterations", result.epochs}},
                   given_values({{"note", scale_note(result.column_variances, result.model.column_names)}})});
  }

  named_values agreement_values(const agreement_type& labels) const override { return purity_values(labels); }

  fit_time time(const som::fit_result& result, double seconds) const override {
    return {seconds, result.seeding_seconds, result.loop_seconds, result.loop_epochs, "an epoch"};
  }

  std::string facts(const fitted<som_types>& fit, const std::string& data, const std::string& time) const override {
    const som::fit_result& result = fit.result;
    return lines({{"map", fmt::format("{}; {}", shape_words(result.model), counted(result.model.columns, "column"))},
                  {"data", data},
                  {"quantization", fmt::format("error {:.10g}, {}{}", result.quality.quantization_error,
                                               word_for(metric_choices(), result.model.metric),
                                               fit.words->fit.standardize ? " in standardized units" : "")},
                  {"topographic", fmt::format("error {:.4g}", result.quality.topographic_error)},
                  {"units", fmt::format("{} of {} match some row best", grouped(units_hit(result.quality)),
                                        grouped(result.model.units()))},
                  {"purity", purity_text(fit.agreement, fit.words->data.label_column)},
                  {"note", scale_note(result.column_variances, result.model.column_names)},
                  {"epochs", std::to_string(result.epochs)},
                  {"time", time}});
  }

  void settle(run_options& run, const estimated_work& work, const som::options& library) const override {
    // Online training runs on one thread of the host: there is no choice.
    if (library.training == som::training::online && run.device_word == "auto") return;
    settle_device(run, work, library.threads);
  }

  estimated_work work(std::size_t rows, std::size_t columns, std::size_t scalar_bytes,
                      const som::options& library) const override {
    return som::work_of_fit(rows, columns, scalar_bytes, library);
  }

  agreement_type agree(const som::model& model, const std::int32_t* labels, const std::vector<std::int32_t>& given,
                       std::size_t, const run_options&) const override {
    return labels_of_units(model, labels, given);
  }

  void save(const std::string& path, const fitted<som_types>& fit, const named_values& values,
            const standardization* units) const override {
    som::save_model(path, fit.result.model, provenance_of(values, fit.result.hardware, units));
  }
};

}  // namespace

const fit_family<som_types>& som_fits() {
  static const som_family family;
  return family;
}

som::unit_labels labels_of_units(const som::model& model, const std::int32_t* units,
                                 const std::vector<std::int32_t>& given) {
  const std::vector<std::int64_t> labels(given.begin(), given.end());
  return som::label_units(model, units, labels.data(), labels.size());
}

std::size_t units_hit(const som::quality& quality) {
  return static_cast<std::size_t>(
      std::count_if(quality.hits.begin(), quality.hits.end(), [](double weight) { return weight > 0; }));
}

named_values purity_values(const std::optional<som::unit_labels>& labels) {
  if (!labels) return {};
  return {{"purity", labels->overall_purity}};
}

std::string purity_text(const std::optional<som::unit_labels>& labels, const std::string& label_column) {
  return labels ? fmt::format("{:.4f} with column {}", labels->overall_purity, label_column) : std::string();
}

}  // namespace shoal::app
