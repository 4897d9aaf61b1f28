// Greedy assignment from sorted costs. Where a mesh of links would strike the row and column of a pair from the queue,
// an entry here is found to be struck when its turn comes: the same order, without the links.
#include <shoal/assignment/greedy.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace shoal::assignment {
namespace {

struct entry {
  double cost = 0;
  std::size_t row = 0;
  std::size_t column = 0;
};

bool comes_first(const entry& a, const entry& b) {
  if (a.cost != b.cost) return a.cost < b.cost;
  return a.row != b.row ? a.row < b.row : a.column < b.column;
}

constexpr std::size_t sampled = 4096;
constexpr std::size_t entries_per_row = 6;

// A cost that about entries_per_row for each row are at most, from a sample at equal distances.
double likely_bound(matrix_view<const double> costs, const std::vector<std::size_t>& rows,
                    const std::vector<std::size_t>& columns) {
  const std::size_t size = rows.size() * columns.size();
  if (size <= 4 * sampled) return std::numeric_limits<double>::max();
  std::vector<double> sample;
  const std::size_t step = (size / sampled) | 1;
  for (std::size_t n = 0; n < size; n += step)
    sample.push_back(costs(rows[n / columns.size()], columns[n % columns.size()]));
  const std::size_t rank = entries_per_row * rows.size() * sample.size() / size + 1;
  if (rank >= sample.size()) return std::numeric_limits<double>::max();
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank), sample.end());
  return std::min(sample[rank], std::numeric_limits<double>::max());
}

}  // namespace

std::vector<std::size_t> greedy(matrix_view<const double> costs) {
  std::vector<std::size_t> column_of_row(costs.rows(), unassigned);
  std::vector<bool> taken(costs.columns(), false);
  std::vector<std::size_t> rows(costs.rows());
  std::vector<std::size_t> columns(costs.columns());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  std::vector<entry> queue;
  while (!rows.empty() && !columns.empty()) {
    const double bound = likely_bound(costs, rows, columns);
    queue.clear();
    for (const std::size_t i : rows) {
      const double* const row = costs.row(i);
      for (const std::size_t j : columns) {
        if (row[j] <= bound) queue.push_back({row[j], i, j});
      }
    }
    std::sort(queue.begin(), queue.end(), comes_first);
    for (const entry& next : queue) {
      if (column_of_row[next.row] != unassigned || taken[next.column]) continue;
      column_of_row[next.row] = next.column;
      taken[next.column] = true;
    }
    if (bound == std::numeric_limits<double>::max()) break;
    std::erase_if(rows, [&](std::size_t i) { return column_of_row[i] != unassigned; });
    std::erase_if(columns, [&](std::size_t j) { return taken[j]; });
  }
  return column_of_row;
}

}  // namespace shoal::assignment
