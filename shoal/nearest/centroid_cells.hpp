// Where there are few columns: a grid of cells, each with the few centroids that may be nearest to a row in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/executor.hpp>

namespace shoal {

/// The centroids that may be nearest to a row, by the cell of a grid that the row lies in.
///
/// A cell's list leaves out only centroids that are farther away than another one from every point of the cell, by more
/// than rounding can hide. So the nearest of the list, compared as find_nearest defines it, is the nearest of all. The
/// cells at the border of the grid reach beyond it by as much as it is wide; rows that are farther out belong to a cell
/// of their own, whose list holds all centroids.
class centroid_cells {
 public:
  static constexpr std::size_t most_columns = 3;
  static constexpr std::size_t group = 4;  ///< centroids of a list that are compared at once

  struct list {
    std::uint32_t first = 0;   ///< its first group
    std::uint32_t groups = 0;  ///< at least one
  };

  /// Places of centroids in cells, from the low corner of the grid: one array for each column, one of numbers, and one
  /// of scores.
  using candidates = std::array<aligned_buffer<double>, most_columns + 2>;

  /// Makes the cells for so many `rows` of Scalar and finite `centroids` [clusters][columns], or none (see any()) where
  /// they would not pay: few rows or clusters, many columns, centroids in a heap or beyond what squares can hold. On
  /// `workers`, when given; the lists are the same.
  template <class Scalar>
  void set(std::span<const double> centroids, std::size_t clusters, std::size_t columns, std::size_t rows,
           executor* workers = nullptr);

  bool any() const { return any_; }

  /// Column j of a row is in cell ⌊(x_j − low(j)) · inverse()⌋ of that axis, computed in Scalar: at least 0 and at most
  /// counts(j) − 1 for rows that are not more than reach() cells outside.
  double low(std::size_t column) const { return low_[column]; }
  double inverse() const { return inverse_; }
  double reach() const { return reach_; }
  std::size_t counts(std::size_t column) const { return counts_[column]; }

  const list* lists() const { return lists_.data(); }  ///< [cells, the first column's fastest], and of far rows
  std::size_t cells() const { return counts_[0] * counts_[1] * counts_[2]; }
  const double* places() const { return places_.data(); }          ///< [groups][columns][group]; infinite where none is
  const std::int32_t* numbers() const { return numbers_.data(); }  ///< [groups][group], ascending within a list

 private:
  friend struct cell_builder;

  bool any_ = false;
  std::array<std::size_t, most_columns> counts_ = {1, 1, 1};
  std::array<double, most_columns> low_ = {};
  double inverse_ = 0;
  double reach_ = 0;
  std::vector<list> lists_;
  aligned_buffer<double> places_;
  aligned_buffer<std::int32_t> numbers_;
  std::vector<std::vector<candidates>> levels_;  // of the build: of its first halvings, and of each part of the grid
};

extern template void centroid_cells::set<float>(std::span<const double>, std::size_t, std::size_t, std::size_t,
                                                executor*);
extern template void centroid_cells::set<double>(std::span<const double>, std::size_t, std::size_t, std::size_t,
                                                 executor*);

}  // namespace shoal
