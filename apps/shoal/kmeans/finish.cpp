// Ending a fit of centroids.
#include "kmeans/finish.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/labels_output.hpp"
#include "common/report_output.hpp"
#include "report/kmeans/report.hpp"

namespace shoal::app {
namespace {

json described(const kmeans_candidate& candidate) {
  json row;
  row["clusters"] = candidate.clusters;
  row["inertia"] = candidate.inertia;
  row["bic"] = candidate.bic;
  row["aic"] = candidate.aic;
  row["iterations"] = candidate.iterations;
  row["converged"] = candidate.converged;
  row["seconds"] = candidate.seconds;
  return row;
}

// Not defined where there are no more rows than clusters.
std::string criterion(double value) { return std::isfinite(value) ? fmt::format("{:.2f}", value) : "-"; }

std::string criteria(const kmeans::fit_result& result) {
  if (!std::isfinite(result.bic)) return "BIC and AIC are of more rows than clusters";
  return fmt::format("BIC {:.8g}, AIC {:.8g}", result.bic, result.aic);
}

std::string summary(const kmeans_outcome& outcome, const json& object) {
  const kmeans_options& options = *outcome.options;
  const kmeans::fit_result& result = outcome.result;
  const kmeans::model& model = result.model;
  std::string text;
  if (!outcome.candidates.empty()) {
    std::vector<std::vector<std::string>> cells(1, {"clusters", "inertia", "BIC", "AIC", "iterations", ""});
    for (const kmeans_candidate& candidate : outcome.candidates) {
      cells.push_back({std::to_string(candidate.clusters), fmt::format("{:.8g}", candidate.inertia),
                       criterion(candidate.bic), criterion(candidate.aic), std::to_string(candidate.iterations),
                       candidate.clusters == model.clusters ? "chosen" : ""});
    }
    text += table(cells) + "\n";
  }
  text += fact("k-means", counted(model.clusters, "cluster") + ", " + counted(model.columns, "column"));
  text += fact("data",
               fmt::format("{}: {}{}", options.data.path, counted(result.rows, "row"),
                           options.data.weights.empty() ? std::string()
                                                        : fmt::format(" of total weight {:.8g}", result.total_weight)));
  text += fact("inertia", fmt::format("{:.10g}{}; {}", result.inertia,
                                      options.fit.standardize ? " in standardized units" : "", criteria(result)));
  text +=
      fact("iterations", fmt::format("{}, {}", result.iterations, result.converged ? "converged" : "not converged"));
  if (result.relocated > 0) text += fact("relocated", counted(result.relocated, "empty cluster"));
  if (object.contains("adjusted_rand_index")) {
    text += fact("agreement", fmt::format("adjusted Rand index {:.4f} with column {}",
                                          object["adjusted_rand_index"].get<double>(), options.data.label_column));
  }
  text += time_fact(object);
  return printable_lines(text + "\n" + model_table(model));
}

}  // namespace

template <class Scalar>
void finish(const kmeans_outcome& outcome, const fit_rows<Scalar>& rows, progress_line& line, const control& control) {
  const kmeans_options& options = *outcome.options;
  const kmeans::options& library = outcome.library;
  const kmeans::fit_result& result = outcome.result;
  const data_set<Scalar>& data = rows.data();
  labels_output labels(options.fit.labels, data.rows().rows(), !data.features.labels.empty());
  if (labels.wanted()) {
    assign<Scalar>(result.model, rows.units(), data.rows(), labels.data(), nullptr, library.threads,
                   library.memory_limit, control, library.device);
  }
  line.wipe();

  json object = describe_fit(options, library, result, outcome.scalar);
  if (!options.fit.output.empty()) save_kmeans(options.fit.output, result, rows.units(), object);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - outcome.begin;
  const auto agreement =
      agreement_of(labels.data(), data.features.labels, data.features.label_names.size(), options.run);
  if (agreement) object["adjusted_rand_index"] = metrics::adjusted_rand_index(*agreement);
  add_timing(object, result.history, seconds.count(), result.loop_seconds, result.loop_iterations);
  add_machine(object, options.run, library.threads, outcome.scalar, result.hardware);
  add_files(object, {{"output", options.fit.output}, {"labels", options.fit.labels}, {"report", options.fit.report}});
  if (!outcome.candidates.empty()) {
    object["criterion"] = outcome.criterion;
    object["candidates"] = json::array();
    for (const kmeans_candidate& candidate : outcome.candidates) object["candidates"].push_back(described(candidate));
  }
  if (!options.fit.report.empty()) {
    const drawn_rows drawn =
        draw_for_report(data, labels.data(), [&](matrix_view<const double> some, std::int32_t* out) {
          assign<double>(result.model, rows.units(), view_source<double>(some), out, nullptr, library.threads, 0, {});
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
template void finish<float>(const kmeans_outcome&, const fit_rows<float>&, progress_line&, const control&);
template void finish<double>(const kmeans_outcome&, const fit_rows<double>&, progress_line&, const control&);

}  // namespace shoal::app
