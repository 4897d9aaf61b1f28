// The proof of an assignment, checked in one pass over the costs.
#include <shoal/assignment/certificate.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <shoal/assignment/dense_paths.hpp>
#include <shoal/assignment/row_scan.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double largest(const double* potentials, std::size_t count) {
  double most = 0;
  for (std::size_t n = 0; n < count; ++n) most = std::max(most, std::abs(potentials[n]));
  return most;
}

template <class T>
bool covered(matrix_view<const T> costs, const double* u, const double* v, double slack) {
  if constexpr (std::is_same_v<T, double>) {
    return all_feasible(costs, u, v, slack);
  } else {
    for (std::size_t i = 0; i < costs.rows(); ++i) {
      if (!all_at_least(costs.row(i), v, costs.columns(), u[i] - slack)) return false;
    }
    return true;
  }
}

template <class T>
bool conflict_is_one(matrix_view<const T> costs, const solution& found) {
  if (found.conflicting_rows.size() != found.conflicting_columns.size() + 1) return false;
  std::vector<bool> shared(costs.columns(), false);
  for (const std::size_t j : found.conflicting_columns) shared[j] = true;
  for (const std::size_t i : found.conflicting_rows) {
    for (std::size_t j = 0; j < costs.columns(); ++j) {
      if (!shared[j] && static_cast<double>(costs(i, j)) < infinity) return false;
    }
  }
  return true;
}

template <class T>
bool covered_by_all(matrix_view<const T> costs, const double* u, const double* v, double slack, executor* threads) {
  constexpr std::size_t at_once = 64;
  if (threads == nullptr) return covered(costs, u, v, slack);
  std::atomic<bool> all = true;
  threads->run((costs.rows() + at_once - 1) / at_once, 1, [&](std::size_t task, const team_member&) {
    const std::size_t first = task * at_once;
    const std::size_t count = std::min(at_once, costs.rows() - first);
    if (!covered(costs.middle_rows(first, count), u + first, v, slack)) all = false;
  });
  return all;
}

}  // namespace

template <class T>
bool proves_itself(matrix_view<const T> costs, const proof& found, double price, executor* threads) {
  const std::size_t rows = costs.rows();
  const std::size_t columns = costs.columns();
  const double* const u = found.row_potentials;
  const double* const v = found.column_potentials;
  const double scale = largest(u, rows) + largest(v, columns);
  const double slack = std::numeric_limits<double>::epsilon() * static_cast<double>(rows + columns) *
                       (price < infinity ? scale + std::abs(price) : scale);
  const bool may_be_left = rows < columns || price < infinity;
  std::size_t pairs = 0;
  double dual = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t i = found.row_of_column[j];
    if (i != unassigned) ++pairs;
    if (i != unassigned ? i >= rows || found.column_of_row[i] != j : std::abs(v[j]) > slack) return false;
    if (may_be_left && !(v[j] <= slack)) return false;
    dual += v[j];
  }
  double cost = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t j = found.column_of_row[i];
    if (j == unassigned) {
      if (!(std::abs(u[i] - price) <= slack)) return false;
      cost += price;
    } else {
      if (j >= columns || found.row_of_column[j] != i) return false;
      const auto pair = static_cast<double>(costs(i, j));
      if (!(std::abs(pair - u[i] - v[j]) <= slack)) return false;
      cost += pair;
      --pairs;
    }
    if (!(u[i] <= price + slack)) return false;
    dual += u[i];
  }
  return pairs == 0 && covered_by_all(costs, u, v, slack, threads) &&
         std::abs(found.cost - cost) <= slack * static_cast<double>(rows) &&
         std::abs(dual - cost) <= slack * static_cast<double>(rows + columns);
}

template bool proves_itself(matrix_view<const double>, const proof&, double, executor*);

template <class T>
bool certify(matrix_view<const T> costs, const solution& found, double price, executor* threads) {
  if (!found.feasible) return conflict_is_one(costs, found);
  return found.column_of_row.size() == costs.rows() && found.row_of_column.size() == costs.columns() &&
         found.row_potentials.size() == costs.rows() && found.column_potentials.size() == costs.columns() &&
         proves_itself(costs,
                       {found.column_of_row.data(), found.row_of_column.data(), found.row_potentials.data(),
                        found.column_potentials.data(), found.cost},
                       price, threads);
}

template bool certify(matrix_view<const float>, const solution&, double, executor*);
template bool certify(matrix_view<const double>, const solution&, double, executor*);
template bool certify(matrix_view<const std::int32_t>, const solution&, double, executor*);
template bool certify(matrix_view<const std::int64_t>, const solution&, double, executor*);

}  // namespace shoal::assignment
