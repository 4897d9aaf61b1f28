// The report of a k-means fit.
#include "report/kmeans/report.hpp"

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/sections.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

cloud model_cloud(const kmeans::model& model, const fit_data& data) {
  check_columns(data, model.columns);
  if (model.centroids.size() != model.clusters * model.columns)
    throw bad_argument("the model's centroids are not of the size that its clusters and columns ask for");
  cloud out = fitted_cloud(data, model.column_names, "cluster");
  out.mean_word = "centroid";
  for (std::size_t k = 0; k < model.clusters; ++k) {
    const auto centroid = model.centroids.begin() + static_cast<std::ptrdiff_t>(k * model.columns);
    out.shapes.push_back({0, {centroid, centroid + static_cast<std::ptrdiff_t>(model.columns)}, {}});
  }
  return out;
}

}  // namespace

picture fit_picture(const kmeans::model& model, const fit_data& data, std::string title) {
  return draw_cloud(model_cloud(model, data), std::move(title));
}

void add_fit(page& out, const kmeans::fit_result& fit, const fit_data& data) {
  const kmeans::model& model = fit.model;
  const cloud fitted = model_cloud(model, data);
  out.tiles({{"rows", count(fit.rows)},
             {"columns", count(model.columns)},
             {"clusters", count(model.clusters)},
             {"inertia", brief(fit.inertia)},
             {"time in all", duration(fit.seconds)}});
  add_scale_note(out, fit.column_variances, model.column_names);
  const std::string sampled = drawn_words(data);
  out.figure(draw_cloud(fitted, "The data and the centroids"),
             "Crosses are the centroids." + (sampled.empty() ? "" : " " + sampled));
  if (!data.choices.empty())
    out.figure(choice_picture(data.choices, "cluster"),
               fmt::format("Fits with other numbers of clusters; {} chose K = {}.", data.criterion, model.clusters));
  out.figure(
      history_picture(fit.history, "Convergence", "inertia"),
      fmt::format("{} after {}.", fit.converged ? "Converged" : "Stopped", counted(fit.iterations, "iteration")));

  out.section("Clusters");
  std::vector<std::size_t> sizes(model.clusters, 0);
  for (const std::int32_t label : data.labels)
    if (label >= 0 && static_cast<std::size_t>(label) < sizes.size()) ++sizes[static_cast<std::size_t>(label)];
  std::vector<std::vector<std::string>> shares(model.clusters);
  std::vector<std::string> extra;
  if (!data.labels.empty()) {
    extra = {"share of rows"};
    for (std::size_t k = 0; k < model.clusters; ++k)
      shares[k] = {percent(static_cast<double>(sizes[k]) / static_cast<double>(data.labels.size()))};
  }
  table clusters = group_table(fitted, extra, shares);
  clusters.caption = sampled.empty() ? "The centroids." : "The centroids; shares are those of the sampled rows.";
  out.add(clusters);
  if (!data.choices.empty()) {
    out.section("Numbers of clusters tried");
    out.add(choice_table(data.choices, "clusters", "inertia", model.clusters));
  }
  add_agreement(out, data, fitted, model.clusters);
  out.section("The fit");
  // Not defined where there are no more rows than clusters.
  const auto criterion = [](double value) { return std::isfinite(value) ? grouped(value) : std::string("undefined"); };
  std::vector<fact> facts{{"BIC", criterion(fit.bic)},
                          {"AIC", criterion(fit.aic)},
                          {"total weight of the rows", grouped(fit.total_weight)},
                          {"converged", fit.converged ? "yes" : "no"},
                          {"clusters relocated", count(fit.relocated)},
                          {"time to choose the start", duration(fit.seeding_seconds)},
                          {"time in the loop", duration(fit.loop_seconds)}};
  if (fit.loop_iterations > 0)
    facts.push_back({"time an iteration", duration(fit.loop_seconds / static_cast<double>(fit.loop_iterations))});
  if (!fit.hardware.empty()) facts.push_back({"hardware", fit.hardware});
  out.facts(facts);
  add_options(out, data);
}

page fit_page(const kmeans::fit_result& fit, const fit_data& data) {
  page out("k-means clusters of " + title_name(data.name),
           fmt::format("{}, {} × {}", counted(fit.model.clusters, "cluster"), counted(fit.rows, "row"),
                       counted(fit.model.columns, "column")));
  add_fit(out, fit, data);
  return out;
}

}  // namespace shoal::report
