// The study as JSON and as text.
#include <cmath>

#include <fmt/format.h>

#include "gmm/study/study.hpp"
#include "gmm/words.hpp"

namespace shoal::app {
namespace {

json passes_json(const std::vector<std::optional<std::size_t>>& passes) {
  json list = json::array();
  for (const auto& one : passes) list.push_back(one ? json(*one) : json(nullptr));
  return list;
}

json median_json(const std::vector<std::optional<std::size_t>>& passes) {
  const auto middle = median_of(passes);
  return middle ? json(*middle) : json(nullptr);
}

json describe(const overlap_result& degree) {
  json object;
  object["spread_of_means"] = degree.spread;
  object["confusion"] = degree.confusion;
  object["rows"] = degree.rows;
  object["columns"] = degree.columns;
  object["components"] = degree.components;
  object["starts"] = degree.starts;
  object["starts_of_curves"] = degree.curve_starts;
  object["algorithms"] = json::array();
  for (const overlap_row& row : degree.algorithms) {
    json one;
    one["algorithm"] = row.algorithm;
    one["median_passes"] = median_json(row.passes);
    one["passes"] = passes_json(row.passes);
    if (row.convergence) {
      one["order"] = row.convergence->order;
      one["constant"] = row.convergence->constant;
      one["line"] = {{"before", row.convergence->before}, {"after", row.convergence->after}};
    }
    one["curve"] = {{"passes", row.seen}, {"deficit", row.deficit}, {"modelling_error", row.modelling_error}};
    object["algorithms"].push_back(std::move(one));
  }
  return object;
}

json describe(const speed_result& speed) {
  json object;
  object["iterations"] = json::array();
  for (const speed_row& row : speed.iterations) {
    object["iterations"].push_back({{"rows", row.rows},
                                    {"components", row.components},
                                    {"columns", row.columns},
                                    {"covariance_type", word_for(covariance_choices(), row.covariance_type)},
                                    {"algorithm", row.algorithm},
                                    {"device", row.device},
                                    {"seconds", row.seconds}});
  }
  object["reach"] = json::array();
  for (const reach_row& row : speed.reach) {
    object["reach"].push_back({{"rows", row.rows},
                               {"components", row.components},
                               {"columns", row.columns},
                               {"algorithm", row.algorithm},
                               {"device", row.device},
                               {"passes", row.passes ? json(*row.passes) : json(nullptr)},
                               {"seconds", row.passes ? json(row.seconds) : json(nullptr)}});
  }
  return object;
}

json describe(const mean_and_deviation& figure) { return {{"mean", figure.mean}, {"deviation", figure.deviation}}; }

json describe(const data_result& data) {
  json object;
  object["data"] = data.name;
  object["rows"] = data.rows;
  object["columns"] = data.columns;
  object["components"] = data.components;
  object["starts"] = data.starts;
  object["covariance_type"] = word_for(covariance_choices(), data.covariance_type);
  object["regularization"] = data.regularization;
  object["tolerance"] = data.tolerance;
  object["algorithms"] = json::array();
  for (const data_row& row : data.algorithms) {
    object["algorithms"].push_back({{"algorithm", row.algorithm},
                                    {"device", row.device},
                                    {"iterations", describe(row.iterations)},
                                    {"negative_log_likelihood", describe(row.negative_log_likelihood)},
                                    {"seconds", describe(row.seconds)},
                                    {"not_converged", row.not_converged},
                                    {"failed", row.failed},
                                    {"median_passes", median_json(row.passes)},
                                    {"passes", passes_json(row.passes)}});
  }
  return object;
}

std::string passes_text(const std::vector<std::optional<std::size_t>>& passes) {
  const auto middle = median_of(passes);
  return middle ? fmt::to_string(*middle) : passes.empty() ? "" : "more";
}

std::string plus_minus(const mean_and_deviation& figure, const char* format) {
  return fmt::format("{} ± {}", fmt::format(fmt::runtime(format), figure.mean),
                     fmt::format(fmt::runtime(format), figure.deviation));
}

}  // namespace

named_values study_values(const study_result& study) {
  json overlap = json::array();
  for (const overlap_result& degree : study.overlap) overlap.push_back(describe(degree));
  json data = json::array();
  for (const data_result& set : study.data) data.push_back(describe(set));
  return {{"overlap", overlap}, {"speed", describe(study.speed)}, {"data", data}, {"skipped", study.skipped}};
}

std::vector<std::string> study_paragraphs(const study_result& study) {
  std::vector<std::string> paragraphs;
  if (!study.overlap.empty()) {
    std::vector<std::vector<std::string>> rows{{"overlap", "spread", "confusion", "passes", "order", "constant"}};
    for (const overlap_result& degree : study.overlap) {
      for (const overlap_row& row : degree.algorithms) {
        rows.push_back({row.algorithm, fmt::format("{}", degree.spread),
                        fmt::format("{:.1f} %", 100 * degree.confusion), passes_text(row.passes),
                        row.convergence ? fmt::format("{:.3f}", row.convergence->order) : "",
                        row.convergence ? fmt::format("{:.3g}", row.convergence->constant) : ""});
      }
    }
    paragraphs.push_back(table(rows));
  }
  if (!study.speed.iterations.empty()) {
    std::vector<std::vector<std::string>> rows{{"iteration", "rows", "K", "d", "covariance", "device", "ms"}};
    for (const speed_row& row : study.speed.iterations) {
      rows.push_back({row.algorithm, grouped(row.rows), fmt::to_string(row.components), fmt::to_string(row.columns),
                      word_for(covariance_choices(), row.covariance_type), row.device,
                      fmt::format("{:.4g}", 1e3 * row.seconds)});
    }
    paragraphs.push_back(table(rows));
    rows = {{"near the end", "rows", "K", "d", "device", "passes", "ms"}};
    for (const reach_row& row : study.speed.reach) {
      rows.push_back({row.algorithm, grouped(row.rows), fmt::to_string(row.components), fmt::to_string(row.columns),
                      row.device, row.passes ? fmt::to_string(*row.passes) : "more",
                      row.passes ? fmt::format("{:.4g}", 1e3 * row.seconds) : ""});
    }
    paragraphs.push_back(table(rows));
  }
  for (const data_result& data : study.data) {
    std::vector<std::vector<std::string>> rows{
        {data.name, "device", "iterations", "-log-likelihood", "seconds", "passes", "failed"}};
    for (const data_row& row : data.algorithms) {
      rows.push_back({row.algorithm, row.device, plus_minus(row.iterations, "{:.1f}"),
                      plus_minus(row.negative_log_likelihood, "{:.3f}"), plus_minus(row.seconds, "{:.3g}"),
                      passes_text(row.passes), fmt::to_string(row.failed)});
    }
    paragraphs.push_back(table(rows));
  }
  std::string sentences;
  for (const std::string& sentence : study.skipped) sentences += sentence + "\n";
  paragraphs.push_back(sentences);
  return paragraphs;
}

}  // namespace shoal::app
