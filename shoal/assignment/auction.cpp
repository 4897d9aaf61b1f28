// Prices by bidding with falling steps (Bertsekas 1988), then an exact end.
#include <shoal/assignment/auction.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <shoal/assignment/augmenting_paths.hpp>
#include <shoal/assignment/candidate_columns.hpp>
#include <shoal/assignment/dense_scan.hpp>
#include <shoal/assignment/shortest_augmenting_paths.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Potentials that outweigh the pairs by more may have lost digits that tell the pairs apart. Without huge costs they
// stay within 19 times (exponential, uniform, distances, products; square and wide).
constexpr double most_above_pairs = 32;

class square_auction {
 public:
  square_auction(matrix_view<const double> costs, executor& threads)
      : costs_(costs), threads_(threads), potentials_(costs.rows(), 0.0), owners_(costs.rows()), bids_(costs.rows()) {}

  // Column potentials near the best: minus the prices.
  std::vector<double> run() {
    bool whole = true;
    double least = infinity;
    double most = -infinity;
    for (std::size_t i = 0; i < costs_.rows(); ++i) {
      for (std::size_t j = 0; j < costs_.columns(); ++j) {
        const double cost = costs_(i, j);
        if (cost == infinity) continue;
        least = std::min(least, cost);
        most = std::max(most, cost);
        whole = whole && cost == std::floor(cost);
      }
    }
    spread_ = most - least;
    if (!(spread_ > 0)) return std::move(potentials_);
    const double last = whole ? 1 / static_cast<double>(costs_.rows() + 1) : spread_ * 0x1p-24;
    std::size_t left = bids_per_row * costs_.rows();
    // Powers of two keep the potentials of whole costs exact.
    for (double step = std::ldexp(1.0, std::ilogb(spread_) - 2);; step /= 4) {
      if (!hold(step, left) || step < last) return std::move(potentials_);
    }
  }

 private:
  static constexpr std::size_t bids_per_row = 512;  // infeasible costs would be bid for without an end
  static constexpr std::size_t rows_per_task = 16;
  static constexpr std::size_t worth_waking = std::size_t{1}
                                              << 18;  // costs that are read in less time than threads wake

  // One phase. False when the bids are used up.
  bool hold(double step, std::size_t& left) {
    std::fill(owners_.begin(), owners_.end(), unassigned);
    std::vector<std::size_t> waiting(costs_.rows());
    std::iota(waiting.begin(), waiting.end(), std::size_t{0});
    std::vector<std::size_t> displaced;
    while (!waiting.empty()) {
      if (left < waiting.size()) return false;
      left -= waiting.size();
      const auto bid = [&](std::size_t task, const team_member&) {
        const std::size_t end = std::min(waiting.size(), (task + 1) * rows_per_task);
        for (std::size_t n = task * rows_per_task; n < end; ++n) {
          bids_[n] = find_least_two(costs_.row(waiting[n]), potentials_.data(), costs_.columns());
        }
      };
      const std::size_t tasks = (waiting.size() + rows_per_task - 1) / rows_per_task;
      if (waiting.size() * costs_.columns() < worth_waking) {
        for (std::size_t task = 0; task < tasks; ++task) bid(task, team_member(0, 0, 1, nullptr));
      } else {
        threads_.run(tasks, 1, bid);
      }
      // The lowest potential wins a column; it was set from the potentials that all rows of this round have seen.
      displaced.clear();
      lowered_.clear();
      for (std::size_t n = 0; n < waiting.size(); ++n) {
        const least_two& near = bids_[n];
        if (near.least == infinity) return false;
        const double fall = (near.second < infinity ? near.second - near.least : spread_) + step;
        lowered_.push_back({near.column, waiting[n], fall});
      }
      std::sort(lowered_.begin(), lowered_.end(), [](const offer& a, const offer& b) {
        if (a.column != b.column) return a.column < b.column;
        return a.fall != b.fall ? a.fall > b.fall : a.row < b.row;
      });
      for (std::size_t n = 0; n < lowered_.size(); ++n) {
        const offer& one = lowered_[n];
        if (n > 0 && lowered_[n - 1].column == one.column) {
          displaced.push_back(one.row);
          continue;
        }
        if (owners_[one.column] != unassigned) displaced.push_back(owners_[one.column]);
        owners_[one.column] = one.row;
        potentials_[one.column] -= one.fall;
      }
      waiting = displaced;
    }
    return true;
  }

  struct offer {
    std::size_t column = 0;
    std::size_t row = 0;
    double fall = 0;
  };

  matrix_view<const double> costs_;
  executor& threads_;
  double spread_ = 0;
  std::vector<double> potentials_;
  std::vector<std::size_t> owners_;
  std::vector<least_two> bids_;
  std::vector<offer> lowered_;
};

// Row potentials are what the pairs leave.
solution of_pairs(matrix_view<const double> costs, prices found) {
  solution best;
  best.column_of_row = std::move(found.column_of_row);
  best.column_potentials = std::move(found.potentials);
  best.row_of_column.resize(costs.columns());
  best.row_potentials.resize(costs.rows());
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    const std::size_t j = best.column_of_row[i];
    best.row_of_column[j] = i;
    best.row_potentials[i] = costs(i, j) - best.column_potentials[j];
    best.cost += costs(i, j);
  }
  return best;
}

solution finish(matrix_view<const double> costs, prices found, executor& threads) {
  std::vector<double>& potentials = found.potentials;
  // Prices have risen by far more than they differ, and what all have in common would only take digits.
  const double common = potentials.empty() ? 0 : *std::max_element(potentials.begin(), potentials.end());
  for (double& potential : potentials) potential -= common;
  if (found.column_of_row.size() == costs.rows()) return of_pairs(costs, std::move(found));
  candidate_columns<double> candidates(costs);
  candidates.fill_all(potentials.data(), threads);
  return augmenting_paths<candidate_columns<double>>(candidates, infinity).run_from(std::move(potentials));
}

bool all_whole(matrix_view<const double> costs) {
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    for (std::size_t j = 0; j < costs.columns(); ++j) {
      if (costs(i, j) != std::floor(costs(i, j))) return false;
    }
  }
  return true;
}

// Prices rise to the largest costs, though no pair may cost that much (1e30 for "never"). What the potentials have lost
// by then no search brings back, and no certificate sees: it allows for the rounding of the potentials.
bool has_lost_digits(matrix_view<const double> costs, const solution& found) {
  double potential = 0;
  double pair = 0;
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    potential = std::max(potential, std::abs(found.row_potentials[i]));
    pair = std::max(pair, std::abs(costs(i, found.column_of_row[i])));
  }
  for (const double v : found.column_potentials) potential = std::max(potential, std::abs(v));
  if (potential <= most_above_pairs * pair) return false;
  return !(potential <= 0x1p52 && all_whole(costs));
}

solution from_no_prices(matrix_view<const double> costs) {
  return shortest_augmenting_paths(costs, infinity, std::numeric_limits<double>::max());
}

}  // namespace

prices host_prices(matrix_view<const double> costs, executor& threads) {
  return {square_auction(costs, threads).run(), {}};
}

solution auction(matrix_view<const double> costs, const find_prices& find, executor& threads) {
  if (costs.rows() == costs.columns()) {
    solution found = finish(costs, find(costs), threads);
    return found.feasible && has_lost_digits(costs, found) ? from_no_prices(costs) : found;
  }
  // Further rows, to which all columns are equal, take what is left over, so that the potentials of these become equal.
  const std::size_t rows = costs.rows();
  const std::size_t columns = costs.columns();
  std::vector<double> padded(columns * columns, 0.0);
  for (std::size_t i = 0; i < rows; ++i) std::copy_n(costs.row(i), columns, padded.data() + i * columns);
  const matrix_view<const double> square{padded.data(), columns, columns};
  solution found = finish(square, find(square), threads);
  if (!found.feasible) return found;
  if (has_lost_digits(square, found)) return from_no_prices(costs);
  const double zero = *std::max_element(found.column_potentials.begin(), found.column_potentials.end());
  for (std::size_t j = 0; j < columns; ++j) {
    if (found.row_of_column[j] >= rows) found.row_of_column[j] = unassigned;
    found.column_potentials[j] = found.row_of_column[j] == unassigned ? 0 : found.column_potentials[j] - zero;
  }
  found.column_of_row.resize(rows);
  found.row_potentials.resize(rows);
  found.cost = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t j = found.column_of_row[i];
    found.row_potentials[i] = costs(i, j) - found.column_potentials[j];
    found.cost += costs(i, j);
  }
  return found;
}

}  // namespace shoal::assignment
