// Ending a fit of a mixture.
#include "gmm/finish.hpp"

#include <fmt/format.h>

#include "common/labels_output.hpp"
#include "common/report_output.hpp"
#include "report/gmm/report.hpp"

namespace shoal::app {
namespace {

json described(const gmm_candidate& candidate) {
  json row;
  row["components"] = candidate.components;
  if (!candidate.failure.empty()) {
    row["error"] = candidate.failure;
    return row;
  }
  row["mean_log_likelihood"] = candidate.mean_log_likelihood;
  row["bic"] = candidate.bic;
  row["aic"] = candidate.aic;
  row["iterations"] = candidate.iterations;
  row["converged"] = candidate.converged;
  row["seconds"] = candidate.seconds;
  return row;
}

std::string candidates_table(const gmm_selection& selection, std::size_t best) {
  std::vector<std::vector<std::string>> cells(1, {"components", "log-likelihood", "BIC", "AIC", "iterations", ""});
  for (const gmm_candidate& candidate : selection.candidates) {
    if (!candidate.failure.empty()) {
      cells.push_back({std::to_string(candidate.components), "failed"});
      continue;
    }
    cells.push_back({std::to_string(candidate.components), fmt::format("{:.6f}", candidate.mean_log_likelihood),
                     fmt::format("{:.2f}", candidate.bic), fmt::format("{:.2f}", candidate.aic),
                     std::to_string(candidate.iterations), candidate.components == best ? "chosen" : ""});
  }
  return table(cells);
}

std::string summary(const gmm_outcome& outcome, const json& object) {
  const gmm_options& options = *outcome.options;
  const gmm::fit_result& result = outcome.result;
  const gmm::model& model = result.model;
  std::string text;
  if (!outcome.selection.candidates.empty()) {
    text += candidates_table(outcome.selection, model.components) + "\n";
  }
  text += fact("mixture", fmt::format("{}, {} covariances, {}", counted(model.components, "component"),
                                      word_for(covariance_choices(), outcome.library.covariance_type),
                                      counted(model.columns, "column")));
  text += fact("data",
               fmt::format("{}: {}{}", options.data.path, counted(result.rows, "row"),
                           options.data.weights.empty() ? std::string()
                                                        : fmt::format(" of total weight {:.8g}", result.total_weight)));
  text += fact("log-likelihood",
               fmt::format("{:.10g} mean; BIC {:.8g}, AIC {:.8g}", result.mean_log_likelihood, result.bic, result.aic));
  text +=
      fact("iterations", fmt::format("{}, {}", result.iterations, result.converged ? "converged" : "not converged"));
  if (result.reseeded > 0) text += fact("reseeded", counted(result.reseeded, "empty component"));
  if (object.contains("adjusted_rand_index")) {
    text += fact("agreement", fmt::format("adjusted Rand index {:.4f} with column {}",
                                          object["adjusted_rand_index"].get<double>(), options.data.label_column));
  }
  text += time_fact(object);
  return printable_lines(text + "\n" + model_table(model));
}

}  // namespace

template <class Scalar>
void finish(const gmm_outcome& outcome, const data_set<Scalar>& data, progress_line& line, const control& control) {
  const gmm_options& options = *outcome.options;
  const gmm::options& library = outcome.library;
  const gmm::fit_result& result = outcome.result;
  const std::size_t rows = data.rows().rows();
  const bool compared = !data.features.labels.empty();
  labels_output labels(options.fit.labels, rows, compared);
  if (labels.wanted()) {
    gmm::prediction<Scalar> out;
    out.labels = labels.data();
    gmm::predict(result.model, data.rows(), out, library.threads, library.memory_limit, nullptr, control,
                 library.device);
  }
  line.wipe();

  json object = describe_fit(options, library, result, outcome.scalar);
  if (!options.fit.output.empty()) {
    json provenance = object;
    provenance["hardware"] = result.hardware;
    provenance["program"] = "shoal " SHOAL_VERSION;
    gmm::save_model(options.fit.output, result.model, provenance.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - outcome.begin;
  const auto agreement =
      agreement_of(labels.data(), data.features.labels, data.features.label_names.size(), options.run);
  if (agreement) object["adjusted_rand_index"] = metrics::adjusted_rand_index(*agreement);
  object["weights"] = result.model.weights;
  object["model_covariance_type"] = word_for(covariance_choices(), result.model.covariance_type);
  add_timing(object, result.history, seconds.count(), result.loop_seconds, result.loop_iterations);
  add_machine(object, options.run, library.threads, outcome.scalar, result.hardware);
  add_files(object, {{"output", options.fit.output}, {"labels", options.fit.labels}, {"report", options.fit.report}});
  if (!outcome.selection.candidates.empty()) {
    object["criterion"] = outcome.selection.criterion;
    object["candidates"] = json::array();
    for (const gmm_candidate& candidate : outcome.selection.candidates) {
      object["candidates"].push_back(described(candidate));
    }
  }
  if (!options.fit.report.empty()) {
    const drawn_rows drawn =
        draw_for_report(data, labels.data(), [&](matrix_view<const double> some, std::int32_t* out) {
          gmm::predict(result.model, view_source<double>(some), {.labels = out}, library.threads);
        });
    const report::fit_data material =
        fit_data_for(drawn, data.features.label_names, result.model.column_names, agreement, object);
    report::fit_page(result, material).write(options.fit.report);
  }
  labels.commit();
  if (options.run.json) {
    print_json(object);
  } else if (!options.run.quiet) {
    print(summary(outcome, object));
  }
}
template void finish<float>(const gmm_outcome&, const data_set<float>&, progress_line&, const control&);
template void finish<double>(const gmm_outcome&, const data_set<double>&, progress_line&, const control&);

}  // namespace shoal::app
