// Chooses between candidate columns and whole rows.
#include <shoal/assignment/shortest_augmenting_paths.hpp>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/assignment/augmenting_paths.hpp>
#include <shoal/assignment/candidate_columns.hpp>
#include <shoal/assignment/dense_paths.hpp>
#include <shoal/assignment/row_scan.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Up to here a whole row is read as quickly as its candidates are chosen (bench/results/assignment.json).
constexpr std::size_t small_columns = 256;

template <class T>
solution by_whole_rows(matrix_view<const T> costs) {
  if constexpr (std::is_same_v<T, double>) {
    return dense_paths(costs);
  } else {
    std::vector<double> copy(costs.rows() * costs.columns());
    for (std::size_t i = 0; i < costs.rows(); ++i) {
      const T* const row = costs.row(i);
      double* const out = copy.data() + i * costs.columns();
      for (std::size_t j = 0; j < costs.columns(); ++j) out[j] = static_cast<double>(row[j]);
    }
    return dense_paths({copy.data(), costs.rows(), costs.columns()});
  }
}

}  // namespace

template <class T>
solution shortest_augmenting_paths(matrix_view<const T> costs, double price, double most) {
  if (costs.columns() <= small_columns && price == infinity) {
    std::uint64_t columns[append_slack];
    double values[append_slack];
    for (std::size_t i = 0; i < costs.rows(); ++i) {
      if (!append_checked(costs.row(i), costs.columns(), -infinity, most, {columns, values}).valid) throw wrong_cost{i};
    }
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
