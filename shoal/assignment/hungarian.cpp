// Munkres' marks on the matrix of reduced costs.
#include <shoal/assignment/hungarian.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class marks {
 public:
  marks(matrix_view<const double> costs, const hungarian_visitor& visit)
      : costs_(costs),
        visit_(visit),
        reduced_(costs.rows() * costs.columns()),
        starred_(costs.rows(), unassigned),
        star_of_column_(costs.columns(), unassigned),
        primed_(costs.rows(), unassigned),
        row_covered_(costs.rows(), false),
        column_covered_(costs.columns(), false),
        row_potentials_(costs.rows(), 0.0),
        column_potentials_(costs.columns(), 0.0) {}

  solution run() {
    reduce_rows();
    star_zeros();
    cover_stars();
    for (std::size_t left = free_rows(); left > 0;) {
      const auto [row, column] = uncovered_zero();
      if (row == unassigned) {
        const double least = least_uncovered();
        if (least == infinity) return conflict();
        deduct(least);
        show("deduct the least uncovered cost");
      } else if (starred_[row] != unassigned) {
        primed_[row] = column;
        row_covered_[row] = true;
        column_covered_[starred_[row]] = false;
        show("prime a zero, cover its row and uncover the column of the row's star");
      } else {
        primed_[row] = column;
        show("prime a zero in a row without a star");
        exchange(row);
        cover_stars();
        --left;
      }
    }
    return result();
  }

 private:
  double& reduced(std::size_t i, std::size_t j) { return reduced_[i * costs_.columns() + j]; }

  void show(std::string_view what) const {
    if (visit_)
      visit_(
          {what, {reduced_.data(), costs_.rows(), costs_.columns()}, starred_, primed_, row_covered_, column_covered_});
  }

  void reduce_rows() {
    for (std::size_t i = 0; i < costs_.rows(); ++i) {
      const double* const row = costs_.row(i);
      const double least = *std::min_element(row, row + costs_.columns());
      row_potentials_[i] = least == infinity ? 0 : least;
      for (std::size_t j = 0; j < costs_.columns(); ++j) reduced(i, j) = row[j] - row_potentials_[i];
    }
    show("deduct the least cost of each row");
  }

  void star_zeros() {
    for (std::size_t i = 0; i < costs_.rows(); ++i) {
      for (std::size_t j = 0; j < costs_.columns() && starred_[i] == unassigned; ++j) {
        if (reduced(i, j) == 0 && star_of_column_[j] == unassigned) star(i, j);
      }
    }
    show("star a zero in each row whose column has none");
  }

  void star(std::size_t i, std::size_t j) {
    starred_[i] = j;
    star_of_column_[j] = i;
  }

  void cover_stars() {
    std::fill(primed_.begin(), primed_.end(), unassigned);
    std::fill(row_covered_.begin(), row_covered_.end(), false);
    for (std::size_t j = 0; j < costs_.columns(); ++j) column_covered_[j] = star_of_column_[j] != unassigned;
    show("cover the columns of stars");
  }

  std::size_t free_rows() const {
    return static_cast<std::size_t>(std::count(starred_.begin(), starred_.end(), unassigned));
  }

  std::pair<std::size_t, std::size_t> uncovered_zero() {
    for (std::size_t i = 0; i < costs_.rows(); ++i) {
      if (row_covered_[i]) continue;
      for (std::size_t j = 0; j < costs_.columns(); ++j) {
        if (!column_covered_[j] && reduced(i, j) == 0) return {i, j};
      }
    }
    return {unassigned, unassigned};
  }

  double least_uncovered() {
    double least = infinity;
    for (std::size_t i = 0; i < costs_.rows(); ++i) {
      if (row_covered_[i]) continue;
      for (std::size_t j = 0; j < costs_.columns(); ++j) {
        if (!column_covered_[j]) least = std::min(least, reduced(i, j));
      }
    }
    return least;
  }

  // What is covered once stays as it is, and with it every star and prime.
  void deduct(double least) {
    for (std::size_t i = 0; i < costs_.rows(); ++i) {
      for (std::size_t j = 0; j < costs_.columns(); ++j) {
        if (row_covered_[i] && column_covered_[j]) reduced(i, j) += least;
        if (!row_covered_[i] && !column_covered_[j]) reduced(i, j) -= least;
      }
      if (!row_covered_[i]) row_potentials_[i] += least;
    }
    for (std::size_t j = 0; j < costs_.columns(); ++j) {
      if (column_covered_[j]) column_potentials_[j] -= least;
    }
  }

  // From a primed zero to the star in its column, to the prime in that star's row, and so on: stars become primes'
  // places.
  void exchange(std::size_t row) {
    for (;;) {
      const std::size_t column = primed_[row];
      const std::size_t displaced = star_of_column_[column];
      star(row, column);
      if (displaced == unassigned) break;
      starred_[displaced] = unassigned;
      row = displaced;
    }
    show("star the primes of the path and unstar its stars");
  }

  solution conflict() const {
    solution found;
    found.feasible = false;
    found.cost = infinity;
    bool free = false;  // one row without a star is enough
    for (std::size_t i = 0; i < costs_.rows(); ++i) {
      if (row_covered_[i] || (starred_[i] == unassigned && free)) continue;
      free = free || starred_[i] == unassigned;
      found.conflicting_rows.push_back(i);
    }
    for (std::size_t j = 0; j < costs_.columns(); ++j) {
      if (column_covered_[j]) found.conflicting_columns.push_back(j);
    }
    return found;
  }

  solution result() {
    solution found;
    for (std::size_t i = 0; i < costs_.rows(); ++i) found.cost += costs_(i, starred_[i]);
    found.column_of_row = std::move(starred_);
    found.row_of_column = std::move(star_of_column_);
    found.row_potentials = std::move(row_potentials_);
    found.column_potentials = std::move(column_potentials_);
    return found;
  }

  matrix_view<const double> costs_;
  const hungarian_visitor& visit_;
  std::vector<double> reduced_;
  std::vector<std::size_t> starred_;
  std::vector<std::size_t> star_of_column_;
  std::vector<std::size_t> primed_;
  std::vector<bool> row_covered_;
  std::vector<bool> column_covered_;
  std::vector<double> row_potentials_;
  std::vector<double> column_potentials_;
};

}  // namespace

solution hungarian(matrix_view<const double> costs, const hungarian_visitor& visit) {
  return marks(costs, visit).run();
}

}  // namespace shoal::assignment
