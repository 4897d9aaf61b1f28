// What every method shares: the check of options and costs, maximising, and problems with more rows than columns.
#include <shoal/assignment/assignment.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/batch.hpp>
#include <shoal/assignment/certificate.hpp>
#include <shoal/assignment/methods.hpp>
#include <shoal/assignment/shortest_augmenting_paths.hpp>
#include <shoal/assignment/sides.hpp>
#include <shoal/assignment/sparse_paths.hpp>
#include <shoal/assignment/wrong_cost.hpp>
#include <shoal/core/error.hpp>

namespace shoal::assignment {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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
[[noreturn]] void refuse_first(matrix_view<const T> costs, double most) {
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    for (std::size_t j = 0; j < costs.columns(); ++j) {
      const auto cost = static_cast<double>(costs(i, j));
      if (!(std::abs(cost) <= most || cost == infinity)) refuse(costs, i, most);
    }
  }
  refuse(costs, 0, most);
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
    swap_sides(found);
    return found;
  } catch (const wrong_cost&) {
    refuse_first(costs, most);
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

// The costs in float64, checked, and negated when they are to be maximised.
template <class T>
std::vector<double> copied(matrix_view<const T> costs, bool negate) {
  std::vector<double> copy(costs.rows() * costs.columns());
  const double most = most_cost(costs);
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    for (std::size_t j = 0; j < costs.columns(); ++j) {
      const auto cost = static_cast<double>(costs(i, j));
      if (!(std::abs(cost) <= most || cost == infinity)) refuse(costs, i, most);
      copy[i * costs.columns() + j] = negate && cost != infinity ? -cost : cost;
    }
  }
  return copy;
}

void turn_around(solution& found) {
  const auto turn = [](double& potential) { potential = potential == 0 ? 0 : -potential; };
  std::for_each(found.row_potentials.begin(), found.row_potentials.end(), turn);
  std::for_each(found.column_potentials.begin(), found.column_potentials.end(), turn);
}

void check(const options& options) {
  method_name(options.method);
  if (std::isnan(options.price) || (options.price == -infinity && !options.maximise)) {
    throw bad_argument(
        fmt::format("price must be a number, or +infinity for as many pairs as there can be; got {}", options.price));
  }
  const bool paths = options.method == method::automatic || options.method == method::shortest_augmenting_paths;
  if (std::isfinite(options.price) && !paths) {
    throw bad_argument(
        fmt::format("price needs method='shortest-augmenting-paths'; got '{}'", method_name(options.method)));
  }
  if (!options.device.on_host() && options.method != method::auction) {
    throw bad_argument(fmt::format("device='{}' needs method='auction'; got '{}'", device_name(options.device),
                                   method_name(options.method)));
  }
}

template <class T>
bool checked_by_device(const options& options) {
  return std::is_same_v<T, double> && !options.maximise && !options.device.on_host();
}

solution on_device(matrix_view<const double> costs, const options& options) {
  try {
    return by_method(costs, options);
  } catch (const wrong_cost&) {
    refuse_first(costs, most_cost(costs));
  }
}

template <class T>
solution solve_any(matrix_view<const T> costs, const options& options) {
  check(options);
  if (costs.columns() >= std::numeric_limits<std::uint32_t>::max() ||
      (costs.rows() > costs.columns() && costs.rows() >= std::numeric_limits<std::uint32_t>::max())) {
    throw bad_argument(
        fmt::format("costs of {} rows and {} columns are more than 2^32 − 1 on a side", costs.rows(), costs.columns()));
  }
  const bool paths = options.method == method::automatic || options.method == method::shortest_augmenting_paths;
  solution found;
  if (paths && !options.maximise) {
    found = minimise(costs, options.price);
  } else if (checked_by_device<T>(options)) {
    // A device checks the costs that it holds, and a copy here would take longer than it does.
    if constexpr (std::is_same_v<T, double>) found = on_device(costs, options);
  } else {
    const std::vector<double> copy = copied(costs, options.maximise);
    const matrix_view<const double> view{copy.data(), costs.rows(), costs.columns()};
    found = paths ? minimise(view, std::isinf(options.price) ? infinity : -options.price) : by_method(view, options);
    if (options.maximise) turn_around(found);
  }
  if (!found.feasible) found.cost = options.maximise ? -infinity : infinity;
  add_up(costs, options.price, found);
  return found;
}

}  // namespace

solution solve(const sparse_costs& costs, const options& options) {
  check(options);
  const bool by_auction = options.method == method::auction;
  if ((!by_auction && options.method != method::automatic && options.method != method::shortest_augmenting_paths) ||
      !options.device.on_host()) {
    throw bad_argument(fmt::format(
        "sparse costs need method='shortest-augmenting-paths' or 'auction' on device='cpu'; got '{}' on '{}'",
        method_name(options.method), device_name(options.device)));
  }
  return solve_sparse(costs, options.maximise, options.price, by_auction);
}

batch_solution solve_batch(std::span<const double> costs, std::size_t rows, std::size_t columns,
                           const options& options) {
  check(options);
  return solve_all(costs, rows, columns, options, solve_any<double>);
}

solution solve(matrix_view<const float> costs, const options& options) { return solve_any(costs, options); }
solution solve(matrix_view<const double> costs, const options& options) { return solve_any(costs, options); }
solution solve(matrix_view<const std::int32_t> costs, const options& options) { return solve_any(costs, options); }
solution solve(matrix_view<const std::int64_t> costs, const options& options) { return solve_any(costs, options); }

}  // namespace shoal::assignment
