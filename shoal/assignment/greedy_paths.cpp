// Greedy assignments side by side, one for each choice among equal minima.
#include <shoal/assignment/greedy_paths.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace shoal::assignment {
namespace {

struct path {
  double cost = 0;
  std::vector<std::size_t> column_of_row;
  std::vector<bool> taken;
};

using pair = std::pair<std::size_t, std::size_t>;

// All free pairs of least cost, in row order.
std::vector<pair> tied_minima(matrix_view<const double> costs, const path& from) {
  std::vector<pair> tied;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    if (from.column_of_row[i] != unassigned) continue;
    for (std::size_t j = 0; j < costs.columns(); ++j) {
      if (from.taken[j] || costs(i, j) > least || costs(i, j) == std::numeric_limits<double>::infinity()) continue;
      if (costs(i, j) < least) tied.clear();
      least = costs(i, j);
      tied.emplace_back(i, j);
    }
  }
  return tied;
}

}  // namespace

std::vector<std::size_t> greedy_paths(matrix_view<const double> costs, std::size_t paths) {
  std::vector<path> going = {
      {0, std::vector<std::size_t>(costs.rows(), unassigned), std::vector<bool>(costs.columns(), false)}};
  for (std::size_t pairs = std::min(costs.rows(), costs.columns()); pairs > 0; --pairs) {
    std::vector<path> next;
    std::set<std::vector<std::size_t>> seen;  // the same pairs, taken in another order
    for (const path& from : going) {
      for (const auto& [row, column] : tied_minima(costs, from)) {
        path one = from;
        one.cost += costs(row, column);
        one.column_of_row[row] = column;
        one.taken[column] = true;
        if (seen.insert(one.column_of_row).second) next.push_back(std::move(one));
      }
    }
    if (next.empty()) break;
    std::stable_sort(next.begin(), next.end(), [](const path& a, const path& b) { return a.cost < b.cost; });
    if (next.size() > paths) next.resize(paths);
    going = std::move(next);
  }
  return going.front().column_of_row;
}

}  // namespace shoal::assignment
