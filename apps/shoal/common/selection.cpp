// Describing a choice among several fits.
#include "common/selection.hpp"

#include <cmath>

#include <fmt/format.h>

namespace shoal::app {
namespace {

std::string groups_of(const selection_words& words) { return std::string(words.group) + "s"; }

json described(const candidate& one, const selection_words& words) {
  if (!one.failure.empty()) return object_of({{groups_of(words), one.groups}, {"error", one.failure}});
  return object_of({{groups_of(words), one.groups},
                    {words.objective, one.objective},
                    {"bic", one.bic},
                    {"aic", one.aic},
                    {"iterations", one.iterations},
                    {"converged", one.converged},
                    {"seconds", one.seconds}});
}

// Of k-means not defined where there are no more rows than clusters.
std::string criterion_text(double value) { return std::isfinite(value) ? fmt::format("{:.2f}", value) : "-"; }

}  // namespace

named_values selection_values(const selection& selection, const selection_words& words) {
  if (selection.candidates.empty()) return {};
  json candidates = json::array();
  for (const candidate& one : selection.candidates) candidates.push_back(described(one, words));
  return {{"criterion", selection.criterion}, {"candidates", candidates}};
}

std::string selection_table(const selection& selection, const selection_words& words, std::size_t chosen) {
  if (selection.candidates.empty()) return {};
  std::vector<std::vector<std::string>> cells(1, {groups_of(words), words.heading, "BIC", "AIC", "iterations", ""});
  for (const candidate& one : selection.candidates) {
    if (!one.failure.empty()) {
      cells.push_back({std::to_string(one.groups), "failed"});
      continue;
    }
    cells.push_back({std::to_string(one.groups), fmt::format(fmt::runtime(words.objective_format), one.objective),
                     criterion_text(one.bic), criterion_text(one.aic), std::to_string(one.iterations),
                     one.groups == chosen ? "chosen" : ""});
  }
  return table(cells);
}

}  // namespace shoal::app
