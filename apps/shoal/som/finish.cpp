// Ending the fit of a map.
#include "som/finish.hpp"

#include <fmt/format.h>

#include "common/labels_output.hpp"
#include "common/report_output.hpp"
#include "report/som/report.hpp"

namespace shoal::app {
namespace {

std::string summary(const som_outcome& outcome, const json& object) {
  const som_options& options = *outcome.options;
  const som::fit_result& result = outcome.result;
  std::string text =
      fact("map", fmt::format("{}; {}", shape_words(result.model), counted(result.model.columns, "column")));
  text += fact("data",
               fmt::format("{}: {}{}", options.data.path, counted(result.rows, "row"),
                           options.data.weights.empty() ? std::string()
                                                        : fmt::format(" of total weight {:.8g}", result.total_weight)));
  text += fact("quantization", fmt::format("error {:.10g}, {}{}", result.quality.quantization_error,
                                           word_for(metric_choices(), result.model.metric),
                                           options.fit.standardize ? " in standardized units" : ""));
  text += fact("topographic", fmt::format("error {:.4g}", result.quality.topographic_error));
  text += fact("units", fmt::format("{} of {} match some row best", grouped(object["units_hit"].get<std::size_t>()),
                                    grouped(result.model.units())));
  if (object.contains("purity")) {
    text +=
        fact("purity", fmt::format("{:.4f} with column {}", object["purity"].get<double>(), options.data.label_column));
  }
  text += fact("epochs", std::to_string(result.epochs));
  return printable_lines(text + time_fact(object, "an epoch"));
}

template <class Scalar>
report::map_fit_data report_data(const som_outcome& outcome, const fit_rows<Scalar>& rows,
                                 const std::optional<som::unit_labels>& labels, const std::int32_t* units,
                                 const json& answer) {
  const som::model& model = outcome.result.model;
  report::map_fit_data data;
  data.name = answer["data"].get<std::string>();
  data.u_matrix = som::u_matrix(rows.units() == nullptr ? model : to_standard_units(model, *rows.units()));
  data.standardized = rows.units() != nullptr;
  data.options = option_facts(answer);
  if (labels) {
    data.unit_labels = *labels;
    data.label_names = rows.data().features.label_names;
    data.rows_by_label =
        report::count_rows_by_label(*labels, units, rows.data().features.labels, data.label_names.size());
  }
  return data;
}

}  // namespace

template <class Scalar>
void finish(const som_outcome& outcome, const fit_rows<Scalar>& rows, progress_line& line, const control& control) {
  const som_options& options = *outcome.options;
  const som::options& library = outcome.library;
  const som::fit_result& result = outcome.result;
  const data_set<Scalar>& data = rows.data();
  const bool labelled = !data.features.labels.empty();
  labels_output units(options.fit.labels, data.rows().rows(), labelled);
  if (units.wanted()) {
    in_units_of_the_map(result.model, rows.units(), data.rows(),
                        [&](const som::model& model, const row_source<Scalar>& source) {
                          return som::predict(model, source, units.data(), library.threads, library.memory_limit,
                                              nullptr, control, library.device);
                        });
  }
  line.wipe();

  json object = describe_fit(options, library, result, outcome.scalar);
  if (!options.fit.output.empty()) save_som(options.fit.output, result, rows.units(), object);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - outcome.begin;
  std::optional<som::unit_labels> labels;
  if (labelled) {
    labels = labels_of_units(result.model, units.data(), data.features.labels);
    object["purity"] = labels->overall_purity;
  }
  add_timing(object, result.history, seconds.count(), result.loop_seconds, result.loop_epochs);
  add_machine(object, options.run, library.threads, outcome.scalar, result.hardware);
  add_files(object, {{"output", options.fit.output}, {"labels", options.fit.labels}, {"report", options.fit.report}});
  if (!options.fit.report.empty()) {
    report::fit_page(result, report_data(outcome, rows, labels, units.data(), object)).write(options.fit.report);
  }
  units.commit();
  if (options.run.json) {
    print_json(object);
  } else if (!options.run.quiet) {
    print(summary(outcome, object));
  }
}
template void finish<float>(const som_outcome&, const fit_rows<float>&, progress_line&, const control&);
template void finish<double>(const som_outcome&, const fit_rows<double>&, progress_line&, const control&);

}  // namespace shoal::app
