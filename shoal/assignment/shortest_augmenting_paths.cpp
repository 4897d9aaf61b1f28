// Chooses between candidate columns and whole rows.
#include <shoal/assignment/shortest_augmenting_paths.hpp>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/assignment/augmenting_paths.hpp>
#include <shoal/assignment/candidate_columns.hpp>
#include <shoal/assignment/conflict.hpp>
#include <shoal/assignment/dense_paths.hpp>
#include <shoal/assignment/row_scan.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Up to here a whole row is read as quickly as its candidates are chosen (bench/results/assignment.json).
constexpr std::size_t small_columns = 512;

solution by_rows(matrix_view<const double> costs) {
  solution found;
  found.column_of_row.resize(costs.rows());
  found.row_of_column.resize(costs.columns());
  found.row_potentials.resize(costs.rows());
  found.column_potentials.resize(costs.columns());
  dense_memory memory;
  const bool feasible = dense_paths(costs, memory,
                                    {found.column_of_row.data(), found.row_of_column.data(),
                                     found.row_potentials.data(), found.column_potentials.data()});
  if (!feasible) return conflict_of(memory.left.front(), memory.closed, found.row_of_column);
  for (std::size_t i = 0; i < costs.rows(); ++i) found.cost += costs(i, found.column_of_row[i]);
  return found;
}

template <class T>
solution by_whole_rows(matrix_view<const T> costs) {
  if constexpr (std::is_same_v<T, double>) {
    return by_rows(costs);
  } else {
    std::vector<double> copy(costs.rows() * costs.columns());
    for (std::size_t i = 0; i < costs.rows(); ++i) {
      const T* const row = costs.row(i);
      double* const out = copy.data() + i * costs.columns();
      for (std::size_t j = 0; j < costs.columns(); ++j) out[j] = static_cast<double>(row[j]);
    }
    return by_rows({copy.data(), costs.rows(), costs.columns()});
  }
}

template <class T>
void check_costs(matrix_view<const T> costs, double most) {
  if constexpr (std::is_same_v<T, double>) {
    if (all_valid(costs, most)) return;
  }
  std::uint64_t columns[append_slack];
  double values[append_slack];
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    if (!append_checked(costs.row(i), costs.columns(), -infinity, most, {columns, values}).valid) throw wrong_cost{i};
  }
}

}  // namespace

template <class T>
solution shortest_augmenting_paths(matrix_view<const T> costs, double price, double most) {
  if (costs.columns() <= small_columns && price == infinity) {
    check_costs(costs, most);
    return by_whole_rows(costs);
  }
  candidate_columns<T> candidates(costs);
  const std::vector<double> zeros(costs.columns(), 0.0);
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    if (!candidates.fill_first(i, zeros.data(), most)) throw wrong_cost{i};
  }
  std::optional<solution> found = augmenting_paths<candidate_columns<T>>(candidates, price).run();
  return found ? *std::move(found) : by_whole_rows(costs);
}

template solution shortest_augmenting_paths(matrix_view<const float>, double, double);
template solution shortest_augmenting_paths(matrix_view<const double>, double, double);
template solution shortest_augmenting_paths(matrix_view<const std::int32_t>, double, double);
template solution shortest_augmenting_paths(matrix_view<const std::int64_t>, double, double);

}  // namespace shoal::assignment
