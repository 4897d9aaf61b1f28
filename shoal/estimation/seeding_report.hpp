// How a seeding that takes a while says where it is.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

#include <shoal/execution/fold.hpp>

namespace shoal {

/// Takes the steps done, and how many there are.
using seeding_report = std::function<void(std::size_t step, std::size_t steps)>;

/// Products of a row's column with a centroid's from which a seeding is long enough to be told of: about a tenth of a
/// second of greedy k-means++ on one thread.
inline constexpr double told_seeding = 0x1p27;

/// What hands the steps of a seeding on to the caller, as phase "seeding"; does nothing where the seeding is short or
/// nobody listens. A matter of shapes alone, so that the same fit reports the same steps every time.
inline seeding_report seeding_report_of(const fold_context& context, std::size_t rows, std::size_t columns,
                                        std::size_t clusters) {
  const double products = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(clusters);
  if (!context.report || products < told_seeding) return [](std::size_t, std::size_t) {};
  return [report = context.report](std::size_t step, std::size_t steps) {
    report({"seeding", step, steps, std::numeric_limits<double>::quiet_NaN()});
  };
}

}  // namespace shoal
