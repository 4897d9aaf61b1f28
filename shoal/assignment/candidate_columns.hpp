// For each row the columns that its path can need, and a bound below all others: from a matrix of costs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include <shoal/assignment/row_scan.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/executor.hpp>

namespace shoal::assignment {

/// Columns of one row that may be taken, with their costs.
struct candidate_list {
  const std::uint32_t* columns = nullptr;
  const double* costs = nullptr;
  std::size_t count = 0;
};

/// The candidates of each row: about as many as `ranked_groups` groups of columns hold of the least reduced costs.
/// Potentials may only fall while they are in use, so that reduced costs only grow: `bound(row)` stays below the
/// reduced costs of all columns that are not candidates until the row is filled anew.
template <class T>
class candidate_columns {
 public:
  static constexpr bool is_dense = true;

  explicit candidate_columns(matrix_view<const T> costs)
      : costs_(costs),
        columns_(std::make_unique_for_overwrite<std::uint32_t[]>(costs.rows() * most_candidates)),
        values_(std::make_unique_for_overwrite<double[]>(costs.rows() * most_candidates)),
        counts_(costs.rows(), 0),
        bounds_(costs.rows(), 0.0),
        own_(costs.columns()) {}

  std::size_t rows() const { return costs_.rows(); }
  std::size_t columns() const { return costs_.columns(); }

  candidate_list list(std::size_t row) const {
    return {&columns_[row * most_candidates], &values_[row * most_candidates], counts_[row]};
  }

  double cost(std::size_t row, std::size_t column) const { return static_cast<double>(costs_(row, column)); }

  double bound(std::size_t row) const { return bounds_[row]; }

  /// Chooses the candidates of a row by potentials of zero, in one pass when the row is much like the one before.
  /// Returns false when a cost of the row is not-a-number or larger than `most` in size without being +∞.
  bool fill_first(std::size_t row, const double* zeros, double most) {
    if (own_.was_equal) {
      const least_check check = find_least(costs_.row(row), columns(), most);
      if (!check.valid) return false;
      if (fill_equal(row, zeros, check.least, own_)) return true;
    } else if (guess_ < infinity) {
      const row_check check = append_checked(costs_.row(row), columns(), guess_, most, own_.out());
      if (!check.valid) return false;
      if (check.count >= fewest_candidates && check.count <= 2 * most_candidates) {
        bounds_[row] = guess_;
        keep(row, check.count, zeros, own_);
        return true;
      }
    }
    if (!fill(row, zeros, most)) return false;
    guess_ = bounds_[row];
    return true;
  }

  /// Chooses the candidates of a row by the present potentials. Returns false, and does nothing, when a cost of the row
  /// is not-a-number or larger than `most` in size without being +∞.
  bool fill(std::size_t row, const double* potentials, double most) { return fill(row, potentials, most, own_); }

  /// The same for all rows of valid costs, on threads.
  void fill_all(const double* potentials, executor& threads) {
    constexpr std::size_t at_once = 64;
    threads.run((rows() + at_once - 1) / at_once, 1, [&](std::size_t task, const team_member&) {
      scratch_memory scratch(columns());
      for (std::size_t row = task * at_once; row < std::min(rows(), (task + 1) * at_once); ++row) {
        fill(row, potentials, std::numeric_limits<double>::infinity(), scratch);
      }
    });
  }

  /// All columns whose distance by way of the row is less than `distances` and `bound`.
  std::size_t relax(std::size_t row, const double* potentials, const double* distances, std::size_t first,
                    std::size_t last, double shift, double bound, entries out) const {
    return append_nearer(costs_.row(row), potentials, distances, first, last, shift, bound, out);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t ranked_groups = 12;  // of 32: about 15 candidates when costs are independent
  static constexpr std::size_t fewest_candidates = 9;
  static constexpr std::size_t most_candidates = 24;
  static constexpr std::size_t whole_row = 24;  // columns that are all candidates

  // Where a row's candidates are gathered before they are kept.
  struct scratch_memory {
    explicit scratch_memory(std::size_t count)
        : columns(std::make_unique_for_overwrite<std::uint64_t[]>(count + append_slack)),
          values(std::make_unique_for_overwrite<double[]>(count + append_slack)) {}

    entries out() const { return {columns.get(), values.get()}; }

    std::unique_ptr<std::uint64_t[]> columns;
    std::unique_ptr<double[]> values;
    std::vector<std::size_t> order;
    bool was_equal = false;  // the row that was filled last had many columns of least cost
  };

  bool fill(std::size_t row, const double* potentials, double most, scratch_memory& scratch) {
    const T* const costs = costs_.row(row);
    std::array<double, column_groups> minima;
    if (!group_minima(costs, potentials, columns(), most, minima.data())) return false;
    const double least = *std::min_element(minima.begin(), minima.end());
    double bound = infinity;
    if (columns() > whole_row) {
      std::nth_element(minima.begin(), minima.begin() + ranked_groups, minima.end());
      bound = minima[ranked_groups];
    }
    bounds_[row] = bound;
    const double within = std::min(bound, std::numeric_limits<double>::max());
    scratch.was_equal = bound == least && fill_equal(row, potentials, least, scratch);
    if (scratch.was_equal) return true;
    const std::size_t count = append_within(costs, potentials, 0, columns(), within, columns(), scratch.out());
    keep(row, count, potentials, scratch);
    return true;
  }

  void keep(std::size_t row, std::size_t count, const double* potentials, scratch_memory& scratch) {
    if (count > most_candidates) return keep_least(row, count, potentials, scratch);
    counts_[row] = count;
    for (std::size_t n = 0; n < count; ++n) keep_one(row, n, n, scratch);
  }

  void keep_one(std::size_t row, std::size_t place, std::size_t from, const scratch_memory& scratch) {
    columns_[row * most_candidates + place] = static_cast<std::uint32_t>(scratch.columns[from]);
    values_[row * most_candidates + place] = scratch.values[from];
  }

  // Enough columns of least cost, if there are. Each row begins elsewhere, so that they do not all want the same ones.
  bool fill_equal(std::size_t row, const double* potentials, double least, scratch_memory& scratch) {
    if (!(least < infinity)) return false;
    const T* const costs = costs_.row(row);
    const std::size_t first = row % columns();
    std::size_t count = append_within(costs, potentials, first, columns(), least, most_candidates, scratch.out());
    if (count < most_candidates) {
      count += append_within(costs, potentials, 0, first, least, most_candidates - count,
                             {scratch.out().columns + count, scratch.out().values + count});
    }
    if (count < most_candidates) return false;
    bounds_[row] = least;
    keep(row, count, potentials, scratch);
    return true;
  }

  // Of too many in scratch, those of least reduced cost; the first of equal ones.
  void keep_least(std::size_t row, std::size_t count, const double* potentials, scratch_memory& scratch) {
    scratch.order.resize(count);
    std::iota(scratch.order.begin(), scratch.order.end(), std::size_t{0});
    const std::size_t start = row % count;  // rows that like the same columns equally do not all begin with one
    const auto reduced = [&](std::size_t n) { return scratch.values[n] - potentials[scratch.columns[n]]; };
    std::nth_element(scratch.order.begin(), scratch.order.begin() + most_candidates, scratch.order.end(),
                     [&](std::size_t a, std::size_t b) {
                       const double left = reduced(a);
                       const double right = reduced(b);
                       return left < right ||
                              (left == right && (a + count - start) % count < (b + count - start) % count);
                     });
    bounds_[row] = reduced(scratch.order[most_candidates]);
    std::sort(scratch.order.begin(), scratch.order.begin() + most_candidates);
    for (std::size_t n = 0; n < most_candidates; ++n) keep_one(row, n, scratch.order[n], scratch);
    counts_[row] = most_candidates;
  }

  matrix_view<const T> costs_;
  std::unique_ptr<std::uint32_t[]> columns_;
  std::unique_ptr<double[]> values_;
  std::vector<std::size_t> counts_;
  std::vector<double> bounds_;
  scratch_memory own_;
  double guess_ = infinity;  // the bound of a row that was filled last
};

}  // namespace shoal::assignment
