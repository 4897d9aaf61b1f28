// Shortest augmenting paths over candidate columns: rows outbid each other first, then a search places each that is
// left.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <shoal/assignment/conflict.hpp>
#include <shoal/assignment/row_scan.hpp>
#include <shoal/assignment/solution.hpp>

namespace shoal::assignment {

/// Every row takes a column of its own, at least cost (Jonker & Volgenant 1987; rectangular: Crouse 2016), or stays
/// single at `price`. A search sees only a row's candidates until its path is as long as the bound that `Candidates`
/// gives for the other columns; only then does it look at these. So it is exact, and reads few costs.
///
/// Row potentials are not kept: an assigned row's is what its pair leaves. Column potentials begin at zero and only
/// fall, and a column that once has a row keeps one, so that the unassigned columns' stay zero, as a rectangular
/// problem needs.
template <class Candidates>
class augmenting_paths {
 public:
  augmenting_paths(Candidates& candidates, double price)
      : candidates_(candidates),
        rows_(candidates.rows()),
        columns_(candidates.columns()),
        price_(price),
        column_of_row_(rows_, unassigned),
        row_of_column_(columns_ + (price < infinity ? rows_ : 0), unassigned),
        costs_(rows_, 0.0),
        potentials_(row_of_column_.size(), 0.0),
        distances_(row_of_column_.size(), infinity),
        predecessors_(row_of_column_.size()),
        shifts_(rows_, 0.0),
        filled_in_(rows_, 0),
        can_scale_(rows_ == columns_ && price == infinity),
        can_wear_out_(Candidates::is_dense && price == infinity) {}

  /// The rows that have been filled by potentials of zero wait for a column.
  /// Nothing where candidates wear out again and again, and an auction cannot help: then whole rows are quicker.
  std::optional<solution> run() { return place(bid_all()); }

  /// From potentials by which every row has been filled, for as many rows as columns: nothing wears out.
  solution run_from(std::vector<double> potentials) {
    potentials_ = std::move(potentials);
    can_scale_ = false;
    can_wear_out_ = false;
    return *place(bid_all());
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr int bidding_passes = 4;
  static constexpr std::size_t bids_per_row = 16;
  static constexpr std::size_t refills_per_row = 2;
  static constexpr int scaling_phases = 8;
  static constexpr std::uint64_t whole_row = std::uint64_t{1} << 63;
  static constexpr std::size_t relaxed_at_once = 256;

  std::vector<std::size_t> bid_all() {
    std::vector<std::size_t> waiting(rows_);
    std::iota(waiting.begin(), waiting.end(), std::size_t{0});
    for (int pass = 0; pass < bidding_passes && !waiting.empty(); ++pass) waiting = bid(waiting);
    return waiting;
  }

  std::optional<solution> place(std::vector<std::size_t> waiting) {
    for (std::size_t n = 0; n < waiting.size(); ++n) {
      if (worn_out()) {
        if (!can_scale_) return std::nullopt;
        waiting = restart();
        if (waiting.empty()) break;
        n = 0;
      }
      ++search_;
      if (!augment(waiting[n])) return conflict_of(waiting[n], closed_, row_of_column_);
    }
    solution found;
    found.row_potentials.resize(rows_);
    for (std::size_t i = 0; i < rows_; ++i) {
      found.cost += costs_[i];
      found.row_potentials[i] = costs_[i] - potentials_[column_of_row_[i]];
      if (column_of_row_[i] >= columns_) column_of_row_[i] = unassigned;
    }
    row_of_column_.resize(columns_);
    potentials_.resize(columns_);
    found.column_of_row = std::move(column_of_row_);
    found.row_of_column = std::move(row_of_column_);
    found.column_potentials = std::move(potentials_);
    return found;
  }

  struct waypoint {
    double distance = 0;
    std::uint64_t place = 0;  // a column; or a row, marked, of which more columns must be seen
  };
  struct farther {
    bool operator()(const waypoint& a, const waypoint& b) const {
      return a.distance > b.distance || (a.distance == b.distance && a.place > b.place);
    }
  };

  void assign(std::size_t row, std::size_t column, double cost) {
    column_of_row_[row] = column;
    row_of_column_[column] = row;
    costs_[row] = cost;
  }

  void refill(std::size_t row) {
    ++refills_;
    candidates_.fill(row, potentials_.data(), infinity);
  }

  struct offer {
    double least = infinity;
    double second = infinity;
    double cost = 0;
    std::size_t column = unassigned;
  };

  // A row's two nearest candidates, and of equally near ones one that is free, if there is.
  offer best_offer(std::size_t row) {
    for (;;) {
      offer best;
      const auto list = candidates_.list(row);
      bool is_free = false;
      const auto take = [&](std::size_t column, double cost, double reduced) {
        if (reduced < best.least) {
          best.second = best.least;
          best.least = reduced;
          best.cost = cost;
          best.column = column;
          is_free = row_of_column_[column] == unassigned;
        } else if (reduced < best.second || reduced == best.least) {
          best.second = reduced;
          if (reduced == best.least && !is_free && row_of_column_[column] == unassigned) {
            best.column = column;
            best.cost = cost;
            is_free = true;
          }
        }
      };
      for (std::size_t n = 0; n < list.count; ++n) {
        take(list.columns[n], list.costs[n], list.costs[n] - potentials_[list.columns[n]]);
      }
      if (price_ < infinity) take(columns_ + row, price_, price_);
      const double bound = candidates_.bound(row);
      if (best.least <= bound) {
        best.second = std::min(best.second, bound);
        return best;
      }
      refill(row);
    }
  }

  // Each row takes its nearest column and lowers that column's potential until its second nearest is as near; a row
  // that loses its column goes on at once. Returns the rows that this could not place. (Augmenting row reduction.)
  std::vector<std::size_t> bid(const std::vector<std::size_t>& rows) {
    std::vector<std::size_t> left;
    std::size_t bids = bids_per_row * rows.size();  // potentials may fall by ever smaller amounts
    for (std::size_t row : rows) {
      for (;;) {
        const offer best = best_offer(row);
        const bool raised = best.least < best.second && best.second < infinity;
        const std::size_t displaced = best.column == unassigned ? unassigned : row_of_column_[best.column];
        if (best.column == unassigned || (!raised && displaced != unassigned)) {
          left.push_back(row);
          break;
        }
        if (raised && best.column < columns_) potentials_[best.column] -= best.second - best.least;
        assign(row, best.column, best.cost);
        if (displaced == unassigned) break;
        column_of_row_[displaced] = unassigned;
        row = displaced;
        if (bids == 0 || worn_out()) {
          left.push_back(row);
          break;
        }
        --bids;
      }
    }
    return left;
  }

  // Where candidates wear out, potentials lie far from the best: an auction with falling steps brings them near, and
  // all begins anew from these. Returns the rows that wait.
  std::vector<std::size_t> restart() {
    scale();
    can_scale_ = false;
    can_wear_out_ = false;
    all_single();
    return bid_all();
  }

  bool worn_out() const { return can_wear_out_ && refills_ > refills_per_row * rows_; }

  std::vector<std::size_t> all_single() {
    std::fill(column_of_row_.begin(), column_of_row_.end(), unassigned);
    std::fill(row_of_column_.begin(), row_of_column_.end(), unassigned);
    std::vector<std::size_t> rows(rows_);
    for (std::size_t i = 0; i < rows_; ++i) rows[i] = rows_ - 1 - i;
    return rows;
  }

  // Steps are powers of two, so that the potentials of whole costs stay exact.
  void scale() {
    double spread = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      const offer best = best_offer(i);
      if (best.second < infinity)
        spread = std::max(spread, std::max(best.second, std::min(candidates_.bound(i), 1e300)) - best.least);
    }
    if (spread == 0) return;
    int exponent = std::ilogb(spread) + 1;
    std::size_t bids = bids_per_row * 16 * rows_;
    for (int phase = 0; phase < scaling_phases; ++phase, exponent -= 2) {
      const double step = std::ldexp(1.0, exponent);
      std::vector<std::size_t> waiting = all_single();
      while (!waiting.empty()) {
        const std::size_t row = waiting.back();
        waiting.pop_back();
        const offer best = best_offer(row);
        if (best.column == unassigned || bids-- == 0) return;
        potentials_[best.column] -= (best.second < infinity ? best.second - best.least : spread) + step;
        const std::size_t displaced = row_of_column_[best.column];
        assign(row, best.column, best.cost);
        if (displaced == unassigned) continue;
        column_of_row_[displaced] = unassigned;
        waiting.push_back(displaced);
      }
    }
  }

  void reach_column(std::size_t row, std::size_t column, double distance) {
    if (distances_[column] == infinity) touched_.push_back(column);
    distances_[column] = distance;
    predecessors_[column] = row;
    if (row_of_column_[column] == unassigned) {
      end_ = column;
      end_distance_ = distance;
    } else if (distance <= reach_) {
      ready_.push_back(column);
    } else {
      push({distance, column});
    }
  }

  void push(waypoint next) {
    heap_.push_back(next);
    std::push_heap(heap_.begin(), heap_.end(), farther());
  }

  // Goes on from a row to its candidates, and notes from where on it must look at its other columns.
  void scan(std::size_t row, double shift) {
    shifts_[row] = shift;
    const auto list = candidates_.list(row);
    for (std::size_t n = 0; n < list.count; ++n) {
      const std::size_t column = list.columns[n];
      const double distance = list.costs[n] - potentials_[column] + shift;
      if (distance < distances_[column] && distance < end_distance_) reach_column(row, column, distance);
    }
    if (price_ + shift < end_distance_) reach_column(row, columns_ + row, price_ + shift);
    const double rest = candidates_.bound(row) + shift;
    if (rest < end_distance_) push({rest, row | whole_row});
  }

  // The path has come to the bound of a row: first the row takes new candidates, then all its columns are looked at.
  void look_further(std::size_t row) {
    const double shift = shifts_[row];
    if (filled_in_[row] != search_) {
      filled_in_[row] = search_;
      refill(row);
      scan(row, shift);
      return;
    }
    std::uint64_t columns[relaxed_at_once + append_slack];
    double nearer[relaxed_at_once + append_slack];
    for (std::size_t first = 0; first < columns_; first += relaxed_at_once) {
      const std::size_t last = std::min(columns_, first + relaxed_at_once);
      const std::size_t count = candidates_.relax(row, potentials_.data(), distances_.data(), first, last, shift,
                                                  end_distance_, {columns, nearer});
      for (std::size_t n = 0; n < count; ++n) {
        if (nearer[n] < end_distance_) reach_column(row, columns[n], nearer[n]);
      }
    }
  }

  // The shortest path of reduced costs from a free row to a free column (Dijkstra), along which pairs are exchanged.
  // False when none is left: then `closed_` holds the columns that the rows on the way must share.
  bool augment(std::size_t free_row) {
    for (const std::size_t column : touched_) distances_[column] = infinity;
    touched_.clear();
    heap_.clear();
    ready_.clear();
    closed_.clear();
    closed_at_.clear();
    end_ = unassigned;
    end_distance_ = infinity;
    reach_ = -infinity;
    scan(free_row, 0);
    for (;;) {
      std::size_t column = unassigned;
      if (end_distance_ <= reach_) break;
      if (!ready_.empty()) {
        column = ready_.back();
        ready_.pop_back();
      } else {
        if (heap_.empty() || heap_.front().distance >= end_distance_) break;
        std::pop_heap(heap_.begin(), heap_.end(), farther());
        const waypoint next = heap_.back();
        heap_.pop_back();
        if ((next.place & whole_row) != 0) {
          reach_ = std::max(reach_, next.distance);
          const std::size_t row = next.place & ~whole_row;
          look_further(row);
          continue;
        }
        column = next.place;
        if (next.distance > distances_[column]) continue;
        reach_ = std::max(reach_, next.distance);
      }
      if (distances_[column] == -infinity) continue;
      distances_[column] = -infinity;
      closed_.push_back(column);
      closed_at_.push_back(reach_);
      const std::size_t row = row_of_column_[column];
      scan(row, reach_ - (costs_[row] - potentials_[column]));
    }
    if (end_ == unassigned) return false;
    const double length = std::max(reach_, end_distance_);
    for (std::size_t n = 0; n < closed_.size(); ++n) potentials_[closed_[n]] += closed_at_[n] - length;
    exchange(free_row);
    return true;
  }

  void exchange(std::size_t free_row) {
    for (std::size_t column = end_;;) {
      const std::size_t row = predecessors_[column];
      const std::size_t next = column_of_row_[row];
      assign(row, column, column < columns_ ? candidates_.cost(row, column) : price_);
      if (row == free_row) return;
      column = next;
    }
  }

  Candidates& candidates_;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  double price_ = infinity;
  std::vector<std::size_t> column_of_row_;  // behind the last column: staying single, of which each row has one
  std::vector<std::size_t> row_of_column_;
  std::vector<double> costs_;  // of the assigned pairs
  std::vector<double> potentials_;
  std::vector<double> distances_;  // −∞ for closed columns
  std::vector<std::size_t> predecessors_;
  std::vector<double> shifts_;            // a row's distance less its potential
  std::vector<std::uint64_t> filled_in_;  // the search in which a row has taken new candidates
  std::uint64_t search_ = 0;
  std::size_t refills_ = 0;
  bool can_scale_ = false;     // only where every column gets a row may potentials begin anywhere
  bool can_wear_out_ = false;  // there is something else to do
  double reach_ = 0;
  std::size_t end_ = unassigned;  // the nearest free column, and how far it is
  double end_distance_ = infinity;
  std::vector<waypoint> heap_;
  std::vector<std::size_t> ready_;  // columns within reach
  std::vector<std::size_t> touched_;
  std::vector<std::size_t> closed_;
  std::vector<double> closed_at_;
};

}  // namespace shoal::assignment
