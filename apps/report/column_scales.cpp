#include "report/column_scales.hpp"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include <shoal/estimation/column_scales.hpp>

#include "report/text.hpp"

namespace shoal::report {

std::string scale_words(const std::vector<double>& variances, const std::vector<std::string>& names) {
  const std::size_t none = variances.size();
  std::size_t most = none, least = none;
  for (std::size_t j = 0; j < variances.size(); ++j) {
    if (!(variances[j] > 0)) continue;
    if (most == none || variances[j] > variances[most]) most = j;
    if (least == none || variances[j] < variances[least]) least = j;
  }
  if (most == none) return {};
  const double ratio = variances[most] / variances[least];
  if (!(ratio > most_alike_scales)) return {};
  const auto title = [&](std::size_t j) { return names.empty() ? fmt::format("column {}", j) : shorten(names[j], 40); };
  return fmt::format("the variance of {} is {} times that of {}, which distances hardly see", title(most),
                     brief(std::round(ratio)), title(least));
}

}  // namespace shoal::report
