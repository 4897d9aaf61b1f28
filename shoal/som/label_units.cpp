// What the labels of rows say about the units of a map.
#include <shoal/som/label_units.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/som/model.hpp>

namespace shoal::som {

unit_labels label_units(const model& model, const std::int32_t* units, const std::int64_t* labels, std::size_t rows) {
  std::vector<std::pair<std::int32_t, std::int64_t>> pairs(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (units[i] < 0 || static_cast<std::size_t>(units[i]) >= model.units()) {
      throw bad_argument(
          fmt::format("row {}: unit {} is not in a map of {} x {} units", i, units[i], model.width, model.height));
    }
    if (labels[i] < 0) throw bad_argument(fmt::format("row {}: a label must not be negative; got {}", i, labels[i]));
    pairs[i] = {units[i], labels[i]};
  }
  std::sort(pairs.begin(), pairs.end());

  unit_labels found{std::vector<std::int64_t>(model.units(), -1), std::vector<double>(model.units()), 0};
  std::vector<std::size_t> most(model.units()), all(model.units());
  for (std::size_t first = 0; first < rows;) {
    std::size_t end = first;
    while (end < rows && pairs[end] == pairs[first]) ++end;
    const auto unit = static_cast<std::size_t>(pairs[first].first);
    all[unit] += end - first;
    if (end - first > most[unit]) {
      most[unit] = end - first;
      found.majority[unit] = pairs[first].second;
    }
    first = end;
  }
  std::size_t agreeing = 0;
  for (std::size_t u = 0; u < model.units(); ++u) {
    if (all[u] > 0) found.purity[u] = static_cast<double>(most[u]) / static_cast<double>(all[u]);
    agreeing += most[u];
  }
  if (rows > 0) found.overall_purity = static_cast<double>(agreeing) / static_cast<double>(rows);
  return found;
}

}  // namespace shoal::som
