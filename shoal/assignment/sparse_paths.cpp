// All pairs of a row are its candidates, and the certificate looks at the same pairs.
#include <shoal/assignment/sparse_paths.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/augmenting_paths.hpp>
#include <shoal/assignment/sides.hpp>
#include <shoal/assignment/sparse_prices.hpp>
#include <shoal/core/error.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class sparse_candidates {
 public:
  static constexpr bool is_dense = false;

  struct pairs {
    const std::int64_t* columns = nullptr;
    const double* costs = nullptr;
    std::size_t count = 0;
  };

  explicit sparse_candidates(const sparse_costs& costs) : costs_(costs) {}

  std::size_t rows() const { return costs_.rows; }
  std::size_t columns() const { return costs_.columns; }

  pairs list(std::size_t row) const {
    const auto first = static_cast<std::size_t>(costs_.starts[row]);
    return {costs_.indices.data() + first, costs_.costs.data() + first,
            static_cast<std::size_t>(costs_.starts[row + 1]) - first};
  }

  double cost(std::size_t row, std::size_t column) const {
    const pairs own = list(row);
    const auto* const place = std::lower_bound(own.columns, own.columns + own.count, static_cast<std::int64_t>(column));
    return place == own.columns + own.count || static_cast<std::size_t>(*place) != column
               ? infinity
               : own.costs[place - own.columns];
  }

  // No other column can be had, so that nothing is ever looked at again.
  double bound(std::size_t) const { return infinity; }
  void fill(std::size_t, const double*, double) {}
  std::size_t relax(std::size_t, const double*, const double*, std::size_t, std::size_t, double, double,
                    entries) const {
    return 0;
  }

 private:
  sparse_costs costs_;
};

bool proves_conflict(const sparse_candidates& costs, const solution& found) {
  std::vector<bool> shared(costs.columns(), false);
  for (const std::size_t j : found.conflicting_columns) shared[j] = true;
  for (const std::size_t i : found.conflicting_rows) {
    const auto list = costs.list(i);
    for (std::size_t n = 0; n < list.count; ++n) {
      if (!shared[static_cast<std::size_t>(list.columns[n])] && list.costs[n] < infinity) return false;
    }
  }
  return found.conflicting_rows.size() == found.conflicting_columns.size() + 1;
}

bool proves_itself(const sparse_candidates& costs, const solution& found, double price) {
  double largest = price < infinity ? std::abs(price) : 0;
  for (const double u : found.row_potentials) largest = std::max(largest, std::abs(u));
  for (const double v : found.column_potentials) largest = std::max(largest, std::abs(v));
  const double slack =
      2 * std::numeric_limits<double>::epsilon() * largest * static_cast<double>(costs.rows() + costs.columns());
  double dual = 0;
  double cost = 0;
  for (std::size_t j = 0; j < costs.columns(); ++j) {
    const std::size_t i = found.row_of_column[j];
    if (i == unassigned ? found.column_potentials[j] != 0 : found.column_of_row[i] != j) return false;
    if (!(found.column_potentials[j] <= slack)) return false;
    dual += found.column_potentials[j];
  }
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    const std::size_t j = found.column_of_row[i];
    const double u = found.row_potentials[i];
    const double paid = j == unassigned ? price : costs.cost(i, j);
    if (!(std::abs(paid - u - (j == unassigned ? 0 : found.column_potentials[j])) <= slack) || !(u <= price + slack))
      return false;
    if (j != unassigned && found.row_of_column[j] != i) return false;
    const auto list = costs.list(i);
    for (std::size_t n = 0; n < list.count; ++n) {
      if (!(list.costs[n] - found.column_potentials[static_cast<std::size_t>(list.columns[n])] >= u - slack))
        return false;
    }
    cost += paid;
    dual += u;
  }
  return std::abs(dual - cost) <= slack * static_cast<double>(costs.rows() + costs.columns());
}

void check(const sparse_costs& costs) {
  const auto pairs = static_cast<std::int64_t>(costs.indices.size());
  if (costs.starts.size() != costs.rows + 1 || costs.costs.size() != costs.indices.size() ||
      costs.starts.front() != 0 || costs.starts.back() != pairs) {
    throw bad_argument(fmt::format(
        "sparse costs of {} rows need {} starts, from 0 to the number of pairs; got {} starts, {} columns and {} costs",
        costs.rows, costs.rows + 1, costs.starts.size(), costs.indices.size(), costs.costs.size()));
  }
  const double most = std::numeric_limits<double>::max() / (4.0 * static_cast<double>(costs.rows + costs.columns + 1));
  for (std::size_t i = 0; i < costs.rows; ++i) {
    if (costs.starts[i] > costs.starts[i + 1]) throw bad_argument(fmt::format("starts fall after row {}", i));
    std::int64_t last = -1;
    for (auto k = static_cast<std::size_t>(costs.starts[i]); k < static_cast<std::size_t>(costs.starts[i + 1]); ++k) {
      if (costs.indices[k] <= last || static_cast<std::size_t>(costs.indices[k]) >= costs.columns) {
        throw bad_argument(fmt::format("row {} lists column {} after {}; give ascending columns below {}", i,
                                       costs.indices[k], last, costs.columns));
      }
      last = costs.indices[k];
      if (std::abs(costs.costs[k]) <= most || costs.costs[k] == infinity) continue;
      throw bad_data(fmt::format("the cost of row {} and column {} is {}; costs are at most {:.3g} in size", i, last,
                                 costs.costs[k], most));
    }
  }
}

// The pairs by columns, negated to be maximised.
struct pair_lists {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> indices;
  std::vector<double> costs;

  sparse_costs view() const { return {rows, columns, starts, indices, costs}; }
};

pair_lists turned(const sparse_costs& costs) {
  pair_lists out{costs.columns, costs.rows, std::vector<std::int64_t>(costs.columns + 1, 0), {}, {}};
  for (const std::int64_t j : costs.indices) ++out.starts[static_cast<std::size_t>(j) + 1];
  std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
  out.indices.resize(costs.indices.size());
  out.costs.resize(costs.indices.size());
  std::vector<std::int64_t> next = out.starts;
  for (std::size_t i = 0; i < costs.rows; ++i) {
    for (auto k = static_cast<std::size_t>(costs.starts[i]); k < static_cast<std::size_t>(costs.starts[i + 1]); ++k) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(costs.indices[k])]++);
      out.indices[place] = static_cast<std::int64_t>(i);
      out.costs[place] = costs.costs[k];
    }
  }
  return out;
}

solution minimise(const sparse_costs& costs, double price, bool by_auction) {
  sparse_candidates candidates(costs);
  augmenting_paths<sparse_candidates> paths(candidates, price);
  solution found = by_auction ? paths.run_from(sparse_prices(costs)) : *paths.run();
  found.certified = found.feasible ? proves_itself(candidates, found, price) : proves_conflict(candidates, found);
  return found;
}

}  // namespace

solution solve_sparse(const sparse_costs& costs, bool maximise, double price, bool by_auction) {
  check(costs);
  if (by_auction && costs.rows != costs.columns) {
    throw bad_argument(
        fmt::format("method='auction' of sparse costs needs as many rows as columns; got {} and {}; use 'auto'",
                    costs.rows, costs.columns));
  }
  std::vector<double> negated;
  sparse_costs own = costs;
  if (maximise) {
    for (const double cost : costs.costs) negated.push_back(cost == infinity ? infinity : -cost);
    own.costs = negated;
    price = std::isinf(price) ? infinity : -price;
  }
  solution found;
  if (costs.rows > costs.columns && price == infinity) {
    const pair_lists lists = turned(own);
    found = minimise(lists.view(), price, false);
    swap_sides(found);
  } else {
    found = minimise(own, price, by_auction);
  }
  if (found.feasible) {  // in row order, whichever way the sides were turned
    const sparse_candidates pairs(costs);
    found.cost = 0;
    for (std::size_t i = 0; i < costs.rows; ++i) {
      const std::size_t j = found.column_of_row[i];
      if (j != unassigned) {
        found.cost += pairs.cost(i, j);
      } else if (price < infinity) {
        found.cost += maximise ? -price : price;
      }
    }
  } else if (maximise) {
    found.cost = -infinity;
  }
  if (maximise) {
    for (double& u : found.row_potentials) u = -u;
    for (double& v : found.column_potentials) v = -v;
  }
  return found;
}

}  // namespace shoal::assignment
