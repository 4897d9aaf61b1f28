// The report of a fitted mixture.
#include "report/gmm/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/sections.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

std::string_view type_name(gmm::covariance_type type) {
  switch (type) {
    case gmm::covariance_type::full:
      return "full";
    case gmm::covariance_type::tied:
      return "tied";
    case gmm::covariance_type::diag:
      return "diagonal";
    case gmm::covariance_type::spherical:
      return "spherical";
  }
  throw bad_argument("the model's covariance type is not one of full, tied, diag and spherical");
}

cloud model_cloud(const gmm::model& model, const fit_data& data) {
  check_columns(data, model.columns);
  if (model.weights.size() != model.components || model.means.size() != model.components * model.columns ||
      model.covariances.size() != gmm::covariance_size(model.covariance_type, model.components, model.columns))
    throw bad_argument(
        "the model's weights, means and covariances are not of the sizes that its components and columns ask for");
  cloud out = fitted_cloud(data, model.column_names, "component");
  for (std::size_t k = 0; k < model.components; ++k) {
    const auto mean = model.means.begin() + static_cast<std::ptrdiff_t>(k * model.columns);
    out.shapes.push_back(
        {model.weights[k], {mean, mean + static_cast<std::ptrdiff_t>(model.columns)}, component_covariance(model, k)});
  }
  return out;
}

picture weights_picture(const gmm::model& model, const fit_data& data) {
  bar_chart chart;
  chart.title = "Weights of the components";
  chart.x_label = "component";
  chart.y_label = "weight";
  for (std::size_t k = 0; k < model.components; ++k) chart.names.push_back(std::to_string(k));
  chart.series.push_back({"fitted", model.weights, 0});
  if (!data.known_weights.empty()) {
    const std::vector<std::int32_t> match = match_groups(agreement_counts(data), model.components);
    bar_series known{"true", {}, 7};
    for (const std::int32_t label : match)
      known.values.push_back(label >= 0 && static_cast<std::size_t>(label) < data.known_weights.size()
                                 ? data.known_weights[static_cast<std::size_t>(label)]
                                 : 0);
    chart.title = "Weights, true and fitted";
    chart.series.insert(chart.series.begin(), std::move(known));
  }
  const auto [least, greatest] = std::minmax_element(model.weights.begin(), model.weights.end());
  if (model.components > 0)
    chart.description =
        fmt::format("{} weights from {} to {}.", model.components, number(*least, 4), number(*greatest, 4));
  return draw(chart);
}

}  // namespace

std::vector<double> component_covariance(const gmm::model& model, std::size_t component) {
  const std::size_t d = model.columns;
  std::vector<double> out(d * d, 0);
  const std::vector<double>& stored = model.covariances;
  switch (model.covariance_type) {
    case gmm::covariance_type::full:
      std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(component * d * d), d * d, out.begin());
      break;
    case gmm::covariance_type::tied:
      out = stored;
      break;
    case gmm::covariance_type::diag:
      for (std::size_t j = 0; j < d; ++j) out[j * d + j] = stored[component * d + j];
      break;
    case gmm::covariance_type::spherical:
      for (std::size_t j = 0; j < d; ++j) out[j * d + j] = stored[component];
      break;
  }
  return out;
}

picture fit_picture(const gmm::model& model, const fit_data& data, std::string title) {
  return draw_cloud(model_cloud(model, data), std::move(title));
}

void add_fit(page& out, const gmm::fit_result& fit, const fit_data& data) {
  const gmm::model& model = fit.model;
  const cloud fitted = model_cloud(model, data);
  const std::size_t rows = fit.rows;
  const double row_rate = fit.loop_seconds > 0
                              ? static_cast<double>(rows) * static_cast<double>(fit.loop_iterations) / fit.loop_seconds
                              : 0;
  std::vector<fact> figures{{"rows", count(rows)},
                            {"columns", count(model.columns)},
                            {"components", count(model.components)},
                            {"mean log-likelihood", number(fit.mean_log_likelihood, 7)},
                            {"BIC", brief(fit.bic)},
                            {"time in all", duration(fit.seconds)}};
  if (row_rate > 0) figures.push_back({"rows per second", brief(std::round(row_rate))});
  out.tiles(figures);

  std::string caption = "Crosses are the means; contours hold 39 % (1σ) and 86 % (2σ) of a component's rows.";
  if (model.columns == 1) caption = "The mixture's density over a histogram of the rows.";
  if (model.columns > 2) caption += " Dots below the diagonal, each column's density on it, contours above it.";
  const std::string sampled = drawn_words(data);
  out.figure(draw_cloud(fitted, "The data and the mixture"), caption + (sampled.empty() ? "" : " " + sampled));
  if (!data.choices.empty())
    out.figure(
        choice_picture(data.choices, "component"),
        fmt::format("Fits with other numbers of components; {} chose K = {}.", data.criterion, model.components));
  out.figure(
      history_picture(fit.history, "Convergence", "mean log-likelihood (nats per row)"),
      fmt::format("{} after {}.", fit.converged ? "Converged" : "Stopped", counted(fit.iterations, "iteration")));
  out.figure(weights_picture(model, data),
             data.known_weights.empty() ? "The share of the rows that each component explains."
                                        : "Each fitted component next to the true one that shares most rows with it.");

  out.section("Components");
  std::vector<std::vector<std::string>> weights;
  for (const double weight : model.weights) weights.push_back({percent(weight)});
  table components = group_table(fitted, {"weight"}, weights);
  components.caption = "Weight, and mean ± standard deviation in each column.";
  out.add(components);
  if (!data.choices.empty()) {
    out.section("Numbers of components tried");
    out.add(choice_table(data.choices, "components", "mean log-likelihood", model.components));
  }
  add_agreement(out, data, fitted, model.components);
  out.section("The fit");
  std::vector<fact> facts{
      {"covariances", std::string(type_name(model.covariance_type))},
      {"free parameters", number(gmm::free_parameters(model.covariance_type, model.components, model.columns), 12)},
      {"AIC", grouped(fit.aic)},
      {"total weight of the rows", grouped(fit.total_weight)},
      {"converged", fit.converged ? "yes" : "no"},
      {"components reseeded", count(fit.reseeded)},
      {"time to choose the start", duration(fit.seeding_seconds)},
      {"time in the loop", duration(fit.loop_seconds)}};
  if (fit.loop_iterations > 0)
    facts.push_back({"time an iteration", duration(fit.loop_seconds / static_cast<double>(fit.loop_iterations))});
  if (!fit.hardware.empty()) facts.push_back({"hardware", fit.hardware});
  out.facts(facts);
  add_options(out, data);
}

page fit_page(const gmm::fit_result& fit, const fit_data& data) {
  page out("Gaussian mixture of " + title_name(data.name),
           fmt::format("{}, {} covariances, {} × {}", counted(fit.model.components, "component"),
                       type_name(fit.model.covariance_type), counted(fit.rows, "row"),
                       counted(fit.model.columns, "column")));
  add_fit(out, fit, data);
  return out;
}

}  // namespace shoal::report
