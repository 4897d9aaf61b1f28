// Shortest augmenting paths over whole rows: rows outbid each other for their nearest columns, then searches finish.
#include <shoal/assignment/dense_paths.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

#include <shoal/assignment/conflict.hpp>
#include <shoal/assignment/dense_scan.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Row potentials are not kept: an assigned row's is what its pair leaves. Column potentials begin at zero and only
// fall, and a column that once has a row keeps one, so that the unassigned columns' stay zero, as a rectangular
// problem needs.
class dense_solver {
 public:
  explicit dense_solver(matrix_view<const double> costs)
      : costs_(costs),
        column_of_row_(costs.rows(), unassigned),
        row_of_column_(costs.columns(), unassigned),
        potentials_(costs.columns(), 0.0),
        open_potentials_(costs.columns(), 0.0),
        distances_(costs.columns()),
        predecessors_(costs.columns()) {}

  solution run() {
    solution found;
    std::vector<std::size_t> waiting(costs_.rows());
    std::iota(waiting.begin(), waiting.end(), std::size_t{0});
    for (int pass = 0; pass < bidding_passes && !waiting.empty(); ++pass) waiting = bid(waiting);
    open_potentials_ = potentials_;
    for (const std::size_t row : waiting) {
      if (!augment(row)) return conflict_of(row, closed_, row_of_column_);
    }
    found.column_of_row = std::move(column_of_row_);
    found.row_of_column = std::move(row_of_column_);
    found.row_potentials.resize(costs_.rows());
    for (std::size_t i = 0; i < costs_.rows(); ++i) {
      const std::size_t j = found.column_of_row[i];
      found.cost += costs_(i, j);
      found.row_potentials[i] = costs_(i, j) - potentials_[j];
    }
    found.column_potentials = std::move(potentials_);
    return found;
  }

 private:
  static constexpr int bidding_passes = 2;
  static constexpr std::size_t bids_per_row = 16;

  void assign(std::size_t row, std::size_t column) {
    column_of_row_[row] = column;
    row_of_column_[column] = row;
  }

  double reduced(std::size_t row, std::size_t column) const { return costs_(row, column) - potentials_[column]; }

  // A free column whose reduced cost for the row is that, the first.
  std::size_t free_column_at(std::size_t row, double cost) const {
    for (std::size_t j = 0; j < costs_.columns(); ++j) {
      if (row_of_column_[j] == unassigned && reduced(row, j) == cost) return j;
    }
    return unassigned;
  }

  // Each row takes its nearest column and lowers that column's potential until its second nearest is as near; a row
  // that loses its column goes on at once. Returns the rows that this could not place. (Augmenting row reduction.)
  std::vector<std::size_t> bid(const std::vector<std::size_t>& rows) {
    std::vector<std::size_t> left;
    std::size_t bids = bids_per_row * rows.size();  // potentials may fall by ever smaller amounts
    for (std::size_t row : rows) {
      for (;;) {
        const least_two near = find_least_two(costs_.row(row), potentials_.data(), costs_.columns());
        const bool raised = near.least < near.second && near.second < infinity;
        std::size_t column = near.column;
        if (near.least < infinity && !raised && row_of_column_[column] != unassigned) {
          column = free_column_at(row, near.least);
        }
        if (near.least == infinity || column == unassigned) {
          left.push_back(row);
          break;
        }
        if (raised) potentials_[column] -= near.second - near.least;
        const std::size_t displaced = row_of_column_[column];
        assign(row, column);
        if (displaced == unassigned) break;
        column_of_row_[displaced] = unassigned;
        row = displaced;
        if (bids == 0) {
          left.push_back(row);
          break;
        }
        --bids;
      }
    }
    return left;
  }

  // The shortest path of reduced costs from a free row to a free column (Dijkstra), along which pairs are exchanged.
  // False when none is left: then `closed_` holds the columns that the rows on the way must share.
  bool augment(std::size_t free_row) {
    std::fill(distances_.begin(), distances_.end(), infinity);
    closed_.clear();
    closed_distances_.clear();
    double reach = -infinity;
    std::size_t row = free_row;
    double shift = 0;
    std::size_t scanned = 0;
    std::size_t end = unassigned;
    while (end == unassigned) {
      const double least = relax(costs_.row(row), open_potentials_.data(), shift, row, distances_.data(),
                                 predecessors_.data(), costs_.columns());
      if (scanned == closed_.size() && least == infinity) {
        restore_open();
        return false;
      }
      if (least <= reach || scanned == closed_.size()) {
        reach = std::max(reach, least);
        end = close_within(reach);
      }
      if (end == unassigned) {
        const std::size_t column = closed_[scanned++];
        row = row_of_column_[column];
        shift = reach - reduced(row, column);
      }
    }
    for (std::size_t n = 0; n < closed_.size(); ++n) potentials_[closed_[n]] += closed_distances_[n] - reach;
    restore_open();
    for (std::size_t column = end;;) {
      const std::size_t last = predecessors_[column];
      const std::size_t next = column_of_row_[last];
      assign(last, column);
      if (last == free_row) return true;
      column = next;
    }
  }

  // Closes the columns within reach; or returns the first free one among them, where the path ends.
  std::size_t close_within(double reach) {
    const std::size_t first = closed_.size();
    append_reached(distances_.data(), reach, costs_.columns(), closed_);
    for (std::size_t n = first; n < closed_.size(); ++n) {
      const std::size_t column = closed_[n];
      if (row_of_column_[column] == unassigned) {
        closed_.resize(n);
        return column;
      }
      distances_[column] = infinity;
      open_potentials_[column] = -infinity;
      closed_distances_.push_back(reach);
    }
    return unassigned;
  }

  void restore_open() {
    for (const std::size_t column : closed_) open_potentials_[column] = potentials_[column];
  }

  matrix_view<const double> costs_;
  std::vector<std::size_t> column_of_row_;
  std::vector<std::size_t> row_of_column_;
  std::vector<double> potentials_;
  std::vector<double> open_potentials_;  // the potentials, −∞ for closed columns
  std::vector<double> distances_;        // of open columns
  std::vector<std::uint64_t> predecessors_;
  std::vector<std::size_t> closed_;
  std::vector<double> closed_distances_;
};

}  // namespace

solution dense_paths(matrix_view<const double> costs) { return dense_solver(costs).run(); }

}  // namespace shoal::assignment
