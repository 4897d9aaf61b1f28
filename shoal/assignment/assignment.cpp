// What every method shares: the check of options and costs, maximising, and problems with more rows than columns.
#include <shoal/assignment/assignment.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/certificate.hpp>
#include <shoal/assignment/shortest_augmenting_paths.hpp>
#include <shoal/core/error.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A potential is a sum of at most n + m differences of costs.
template <class T>
double most_cost(matrix_view<const T> costs) {
  const double sums = 4.0 * static_cast<double>(costs.rows() + costs.columns() + 1);
  if constexpr (std::is_same_v<T, std::int64_t>) return 0x1p53 / sums;
  return std::numeric_limits<double>::max() / sums;
}

template <class T>
[[noreturn]] void refuse(matrix_view<const T> costs, std::size_t row, double most) {
  for (std::size_t j = 0; j < costs.columns(); ++j) {
    const auto cost = static_cast<double>(costs(row, j));
    if (std::abs(cost) <= most || cost == infinity) continue;
    throw bad_data(fmt::format("the cost of row {} and column {} is {}; costs are at most {:.3g} in size{}", row, j,
                               costs(row, j), most,
                               std::is_floating_point_v<T> ? ", or +infinity for a pair that is forbidden"
                                                           : ", so that sums of them are exact"));
  }
  throw bad_data(fmt::format("a cost of row {} changed while it was read", row));
}

template <class T>
std::vector<T> transposed(matrix_view<const T> costs) {
  std::vector<T> out(costs.rows() * costs.columns());
  constexpr std::size_t tile = 16;
  for (std::size_t first_row = 0; first_row < costs.rows(); first_row += tile) {
    for (std::size_t first_column = 0; first_column < costs.columns(); first_column += tile) {
      for (std::size_t i = first_row; i < std::min(first_row + tile, costs.rows()); ++i) {
        for (std::size_t j = first_column; j < std::min(first_column + tile, costs.columns()); ++j) {
          out[j * costs.rows() + i] = costs(i, j);
        }
      }
    }
  }
  return out;
}

template <class T>
solution solve_wide(matrix_view<const T> costs, double price, double most) {
  solution found = shortest_augmenting_paths(costs, price, most);
  found.certified = certify(costs, found, price);
  return found;
}

template <class T>
solution minimise(matrix_view<const T> costs, double price) {
  const double most = most_cost(costs);
  try {
    if (costs.rows() <= costs.columns() || price < infinity) return solve_wide(costs, price, most);
  } catch (const wrong_cost& wrong) {
    refuse(costs, wrong.row, most);
  }
  const std::vector<T> turned = transposed(costs);
  const matrix_view<const T> view{turned.data(), costs.columns(), costs.rows()};
  try {
    solution found = solve_wide(view, price, most);
    std::swap(found.column_of_row, found.row_of_column);
    std::swap(found.row_potentials, found.column_potentials);
    std::swap(found.conflicting_rows, found.conflicting_columns);
    return found;
  } catch (const wrong_cost&) {
    for (std::size_t i = 0; i < costs.rows(); ++i) {
      for (std::size_t j = 0; j < costs.columns(); ++j) {
        const auto cost = static_cast<double>(costs(i, j));
        if (!(std::abs(cost) <= most || cost == infinity)) refuse(costs, i, most);
      }
    }
    throw;
  }
}

// Σ in row order, whichever way the sides were turned.
template <class T>
void add_up(matrix_view<const T> costs, double price, solution& found) {
  if (!found.feasible) return;
  found.cost = 0;
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    if (found.column_of_row[i] != unassigned) {
      found.cost += static_cast<double>(costs(i, found.column_of_row[i]));
    } else if (std::isfinite(price)) {
      found.cost += price;
    }
  }
}

template <class T>
solution maximise(matrix_view<const T> costs, double price) {
  std::vector<double> negated(costs.rows() * costs.columns());
  const double most = most_cost(costs);
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    for (std::size_t j = 0; j < costs.columns(); ++j) {
      const auto cost = static_cast<double>(costs(i, j));
      if (!(std::abs(cost) <= most || cost == infinity)) refuse(costs, i, most);
      negated[i * costs.columns() + j] = cost == infinity ? infinity : -cost;
    }
  }
  solution found = minimise(matrix_view<const double>(negated.data(), costs.rows(), costs.columns()),
                            std::isinf(price) ? infinity : -price);
  const auto turn = [](double& potential) { potential = potential == 0 ? 0 : -potential; };
  std::for_each(found.row_potentials.begin(), found.row_potentials.end(), turn);
  std::for_each(found.column_potentials.begin(), found.column_potentials.end(), turn);
  if (!found.feasible) found.cost = -infinity;
  return found;
}

template <class T>
solution solve_any(matrix_view<const T> costs, const options& options) {
  if (std::isnan(options.price) || (options.price == -infinity && !options.maximise)) {
    throw bad_argument(
        fmt::format("price must be a number, or +infinity for as many pairs as there can be; got {}", options.price));
  }
  if (costs.columns() >= std::numeric_limits<std::uint32_t>::max() ||
      (costs.rows() > costs.columns() && costs.rows() >= std::numeric_limits<std::uint32_t>::max())) {
    throw bad_argument(
        fmt::format("costs of {} rows and {} columns are more than 2^32 − 1 on a side", costs.rows(), costs.columns()));
  }
  solution found = options.maximise ? maximise(costs, options.price) : minimise(costs, options.price);
  add_up(costs, options.price, found);
  return found;
}

}  // namespace

solution solve(matrix_view<const float> costs, const options& options) { return solve_any(costs, options); }
solution solve(matrix_view<const double> costs, const options& options) { return solve_any(costs, options); }
solution solve(matrix_view<const std::int32_t> costs, const options& options) { return solve_any(costs, options); }
solution solve(matrix_view<const std::int64_t> costs, const options& options) { return solve_any(costs, options); }

}  // namespace shoal::assignment
