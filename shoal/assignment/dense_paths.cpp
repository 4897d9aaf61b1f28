// Shortest augmenting paths over whole rows: rows outbid each other for their nearest columns, then searches finish.
// All of it is compiled for each instruction set, so that scans of short rows cost no calls. Minima and differences
// have the same bits in any order.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>

#include <shoal/assignment/dense_paths.hpp>
#include <shoal/assignment/solution.hpp>
#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/assignment/dense_paths.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::assignment {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::CappedTag<double, 8>;
using vector = hn::Vec<tag>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t padding = 8;  // lanes of the longest vector

// Calls work(first, costs) for all columns of a row; behind the last one costs are +∞.
template <class Work>
HWY_INLINE void for_each_vector(const double* HWY_RESTRICT costs, std::size_t columns, const Work& work) {
  const tag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) work(j, hn::LoadU(d, costs + j));
  if (j == columns) return;
  HWY_ALIGN double rest[padding];
  for (std::size_t lane = 0; lane < lanes; ++lane) rest[lane] = j + lane < columns ? costs[j + lane] : infinity;
  work(j, hn::Load(d, rest));
}

// Row potentials are not kept: an assigned row's is what its pair leaves. Column potentials begin at zero and only
// fall, and a column that once has a row keeps one, so that the unassigned columns' stay zero, as a rectangular
// problem needs.
class solver {
 public:
  solver(matrix_view<const double> costs, dense_memory& memory, const pairs_and_potentials& out)
      : costs_(costs), memory_(memory), out_(out), rows_(costs.rows()), columns_(costs.columns()) {
    const std::size_t padded = columns_ + padding;
    memory_.potentials.assign(padded, 0.0);
    memory_.distances.resize(padded);
    memory_.predecessors.resize(padded);
    memory_.closed.resize(columns_);
    memory_.closed_distances.resize(columns_);
    std::fill_n(out_.column_of_row, rows_, unassigned);
    std::fill_n(out_.row_of_column, columns_, unassigned);
  }

  bool run() {
    memory_.waiting.resize(rows_);
    std::iota(memory_.waiting.begin(), memory_.waiting.end(), std::size_t{0});
    for (int pass = 0; pass < bidding_passes && !memory_.waiting.empty(); ++pass) bid();
    std::copy_n(memory_.potentials.begin(), columns_, out_.column_potentials);
    for (const std::size_t row : memory_.waiting) {
      if (augment(row)) continue;
      memory_.left.assign(1, row);
      memory_.closed.resize(closed_);
      return false;
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::size_t j = out_.column_of_row[i];
      out_.row_potentials[i] = costs_(i, j) - out_.column_potentials[j];
    }
    return true;
  }

 private:
  static constexpr int bidding_passes = 2;
  static constexpr std::size_t most_bids = 4;  // one after the other: two rows may outbid each other by ever less

  // The two least of a row's reduced costs; `second` counts an equal one too. `column` is the first of the least.
  struct nearest {
    double least;
    double second;
    std::size_t column;
  };

  void assign(std::size_t row, std::size_t column) {
    out_.column_of_row[row] = column;
    out_.row_of_column[column] = row;
  }

  HWY_INLINE nearest nearest_of(std::size_t row) const {
    const tag d;
    const double* const potentials = memory_.potentials.data();
    vector least = hn::Set(d, infinity);
    vector second = least;
    vector place = hn::Zero(d);
    vector here = hn::Iota(d, 0);
    const vector step = hn::Set(d, static_cast<double>(hn::Lanes(d)));
    for_each_vector(costs_.row(row), columns_, [&](std::size_t j, vector costs) HWY_ATTR {
      const vector reduced = hn::Sub(costs, hn::LoadU(d, potentials + j));
      const auto less = hn::Lt(reduced, least);
      second = hn::Min(second, hn::Max(reduced, least));
      least = hn::Min(least, reduced);
      place = hn::IfThenElse(less, here, place);
      here = hn::Add(here, step);
    });
    const vector all = hn::MinOfLanes(d, least);
    const vector places = hn::IfThenElse(hn::Eq(least, all), place, hn::Set(d, infinity));
    const vector first = hn::MinOfLanes(d, places);
    const vector others = hn::IfThenElse(hn::Eq(places, first), second, least);
    const double value = hn::GetLane(all);
    if (value == infinity) return {infinity, infinity, 0};
    return {value, hn::GetLane(hn::MinOfLanes(d, others)), static_cast<std::size_t>(hn::GetLane(first))};
  }

  // As a whole vector, which the next row's scan can have at once; it would wait for a single number.
  HWY_INLINE void put(std::vector<double>& values, std::size_t column, double value) {
    const tag d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t first = column / lanes * lanes;
    double* const all = values.data() + first;
    const auto here = hn::Eq(hn::Iota(d, 0), hn::Set(d, static_cast<double>(column - first)));
    hn::StoreU(hn::IfThenElse(here, hn::Set(d, value), hn::LoadU(d, all)), d, all);
  }

  // A free column whose reduced cost for the row is that, the first.
  HWY_INLINE std::size_t free_column_at(std::size_t row, double cost) const {
    const tag d;
    const double* const potentials = memory_.potentials.data();
    const vector value = hn::Set(d, cost);
    std::size_t found = unassigned;
    for_each_vector(costs_.row(row), columns_, [&](std::size_t j, vector costs) HWY_ATTR {
      if (found != unassigned) return;
      const auto equal = hn::Eq(hn::Sub(costs, hn::LoadU(d, potentials + j)), value);
      if (hn::AllFalse(d, equal)) return;
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(d, equal, bits);
      for (unsigned mask = bits[0]; mask != 0; mask &= mask - 1) {
        const std::size_t column = j + static_cast<std::size_t>(std::countr_zero(mask));
        if (out_.row_of_column[column] == unassigned) {
          found = column;
          return;
        }
      }
    });
    return found;
  }

  // Each row takes its nearest column and lowers that column's potential until its second nearest is as near; a row
  // that loses its column goes on at once. What this could not place waits. (Augmenting row reduction.)
  void bid() {
    memory_.left.clear();
    for (std::size_t row : memory_.waiting) {
      for (std::size_t bids = 1;; ++bids) {
        const nearest near = nearest_of(row);
        const bool raised = near.least < near.second && near.second < infinity;
        std::size_t column = near.column;
        if (near.least < infinity && !raised && out_.row_of_column[column] != unassigned) {
          column = free_column_at(row, near.least);
        }
        if (near.least == infinity || column == unassigned) {
          memory_.left.push_back(row);
          break;
        }
        if (raised) put(memory_.potentials, column, memory_.potentials[column] - (near.second - near.least));
        const std::size_t displaced = out_.row_of_column[column];
        assign(row, column);
        if (displaced == unassigned) break;
        out_.column_of_row[displaced] = unassigned;
        row = displaced;
        if (bids == most_bids) {
          memory_.left.push_back(row);
          break;
        }
      }
    }
    std::swap(memory_.waiting, memory_.left);
  }

  // Lowers the distances of open columns by way of a row, and returns the least of all.
  HWY_INLINE double relax(std::size_t row, double shift) {
    const tag d;
    const double* const potentials = memory_.potentials.data();
    double* const distances = memory_.distances.data();
    double* const predecessors = memory_.predecessors.data();
    const vector shifts = hn::Set(d, shift);
    const vector rows = hn::Set(d, static_cast<double>(row));
    vector least = hn::Set(d, infinity);
    for_each_vector(costs_.row(row), columns_, [&](std::size_t j, vector costs) HWY_ATTR {
      const vector reached = hn::Add(hn::Sub(costs, hn::LoadU(d, potentials + j)), shifts);
      const vector before = hn::LoadU(d, distances + j);
      const vector now = hn::Min(reached, before);
      least = hn::Min(least, now);
      hn::StoreU(now, d, distances + j);
      hn::BlendedStore(rows, hn::Lt(reached, before), d, predecessors + j);
    });
    return hn::GetLane(hn::MinOfLanes(d, least));
  }

  // The shortest path of reduced costs from a free row to a free column (Dijkstra), along which pairs are exchanged.
  // False when none is left: then `closed` holds the columns that the rows on the way must share.
  bool augment(std::size_t free_row) {
    std::fill(memory_.distances.begin(), memory_.distances.end(), infinity);
    closed_ = 0;
    double reach = -infinity;
    std::size_t row = free_row;
    double shift = 0;
    std::size_t scanned = 0;
    std::size_t end = unassigned;
    while (end == unassigned) {
      const double least = relax(row, shift);
      if (scanned == closed_ && least == infinity) return false;
      if (least <= reach || scanned == closed_) {
        reach = std::max(reach, least);
        end = close_within(reach);
      }
      if (end == unassigned) {
        const std::size_t column = memory_.closed[scanned++];
        row = out_.row_of_column[column];
        shift = reach - (costs_(row, column) - out_.column_potentials[column]);
      }
    }
    for (std::size_t n = 0; n < closed_; ++n) {
      const std::size_t column = memory_.closed[n];
      out_.column_potentials[column] += memory_.closed_distances[n] - reach;
    }
    std::copy_n(out_.column_potentials, columns_, memory_.potentials.begin());
    for (std::size_t column = end;;) {
      const auto last = static_cast<std::size_t>(memory_.predecessors[column]);
      const std::size_t next = out_.column_of_row[last];
      assign(last, column);
      if (last == free_row) return true;
      column = next;
    }
  }

  // Closes the columns within reach, ascending; or returns the first free one among them, where the path ends.
  HWY_INLINE std::size_t close_within(double reach) {
    const tag d;
    const std::size_t lanes = hn::Lanes(d);
    const vector bounds = hn::Set(d, reach);
    const double* const distances = memory_.distances.data();
    const std::size_t first = closed_;
    std::size_t* const closed = memory_.closed.data();
    std::size_t count = closed_;
    for (std::size_t j = 0; j < columns_; j += lanes) {
      const auto within = hn::Le(hn::LoadU(d, distances + j), bounds);
      if (HWY_LIKELY(hn::AllFalse(d, within))) continue;
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(d, within, bits);
      for (unsigned mask = bits[0]; mask != 0; mask &= mask - 1) {
        const std::size_t lane = j + static_cast<std::size_t>(std::countr_zero(mask));
        if (out_.row_of_column[lane] == unassigned) return lane;
        closed[count++] = lane;
      }
    }
    for (std::size_t n = first; n < count; ++n) {
      put(memory_.distances, closed[n], infinity);
      put(memory_.potentials, closed[n], -infinity);
      memory_.closed_distances[n] = reach;
    }
    closed_ = count;
    return unassigned;
  }

  matrix_view<const double> costs_;
  dense_memory& memory_;
  const pairs_and_potentials& out_;
  std::size_t rows_;
  std::size_t columns_;
  std::size_t closed_ = 0;  // how many there are
};

bool dense_paths_target(matrix_view<const double> costs, dense_memory& memory, const pairs_and_potentials& out) {
  return solver(costs, memory, out).run();
}

bool all_valid_target(matrix_view<const double> costs, double most) {
  const tag d;
  const vector limit = hn::Set(d, most);
  const vector any = hn::Set(d, infinity);
  auto valid = hn::Eq(any, any);
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    for_each_vector(costs.row(i), costs.columns(), [&](std::size_t, vector one) HWY_ATTR {
      valid = hn::And(valid, hn::Or(hn::Le(hn::Abs(one), limit), hn::Eq(one, any)));
    });
  }
  return hn::AllTrue(d, valid);
}

bool all_feasible_target(matrix_view<const double> costs, const double* HWY_RESTRICT row_potentials,
                         const double* HWY_RESTRICT column_potentials, double slack) {
  const tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t columns = costs.columns();
  auto feasible = hn::Eq(hn::Zero(d), hn::Zero(d));
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    const double* HWY_RESTRICT const row = costs.row(i);
    const double least = row_potentials[i] - slack;
    const vector bound = hn::Set(d, least);
    std::size_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      const vector reduced = hn::Sub(hn::LoadU(d, row + j), hn::LoadU(d, column_potentials + j));
      feasible = hn::And(feasible, hn::Ge(reduced, bound));
    }
    for (; j < columns; ++j) {
      if (!(row[j] - column_potentials[j] >= least)) return false;
    }
  }
  return hn::AllTrue(d, feasible);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::assignment
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::assignment {

HWY_EXPORT(dense_paths_target);
HWY_EXPORT(all_valid_target);
HWY_EXPORT(all_feasible_target);

bool dense_paths(matrix_view<const double> costs, dense_memory& memory, const pairs_and_potentials& out) {
  return HWY_DYNAMIC_DISPATCH(dense_paths_target)(costs, memory, out);
}

bool all_valid(matrix_view<const double> costs, double most) {
  return HWY_DYNAMIC_DISPATCH(all_valid_target)(costs, most);
}

bool all_feasible(matrix_view<const double> costs, const double* row_potentials, const double* column_potentials,
                  double slack) {
  return HWY_DYNAMIC_DISPATCH(all_feasible_target)(costs, row_potentials, column_potentials, slack);
}

}  // namespace shoal::assignment
#endif
