// The list of methods: their names, and what each needs of the costs.
#include <shoal/assignment/methods.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <shoal/assignment/auction.hpp>
#include <shoal/assignment/brute_force.hpp>
#include <shoal/assignment/certificate.hpp>
#include <shoal/assignment/cuda/device_prices.hpp>
#include <shoal/assignment/greedy.hpp>
#include <shoal/assignment/greedy_naive.hpp>
#include <shoal/assignment/greedy_paths.hpp>
#include <shoal/assignment/hungarian.hpp>
#include <shoal/assignment/random_assignment.hpp>
#include <shoal/assignment/sides.hpp>
#include <shoal/assignment/wrong_cost.hpp>
#include <shoal/core/error.hpp>

namespace shoal::assignment {
namespace {

constexpr std::array<std::pair<method, std::string_view>, 9> names = {{
    {method::automatic, "auto"},
    {method::shortest_augmenting_paths, "shortest-augmenting-paths"},
    {method::hungarian, "hungarian"},
    {method::auction, "auction"},
    {method::brute_force, "brute-force"},
    {method::random, "random"},
    {method::greedy_naive, "greedy-naive"},
    {method::greedy, "greedy"},
    {method::greedy_paths, "greedy-paths"},
}};

// Pairs alone. A method that has met a forbidden pair has not shown that there is no way around it.
solution of_pairs(matrix_view<const double> costs, std::vector<std::size_t> column_of_row, const options& options) {
  solution found;
  found.row_of_column.assign(costs.columns(), unassigned);
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    const std::size_t j = column_of_row[i];
    if (j == unassigned || costs(i, j) == std::numeric_limits<double>::infinity()) continue;
    found.row_of_column[j] = i;
    ++pairs;
  }
  if (pairs < std::min(costs.rows(), costs.columns())) {
    throw bad_data(fmt::format("method='{}' is left with forbidden pairs after {} of {}; use an exact method",
                               method_name(options.method), pairs, std::min(costs.rows(), costs.columns())));
  }
  found.column_of_row = std::move(column_of_row);
  return found;
}

// `most`: of a cost of the problem itself, which may be padded.
find_prices prices_by(const options& options, double most, executor& threads) {
  if (!options.device.on_host()) {
    return
        [&options, most](matrix_view<const double> costs) { return cuda::device_prices(costs, options.device, most); };
  }
  return [&threads](matrix_view<const double> costs) { return host_prices(costs, threads); };
}

solution by_wide_method(matrix_view<const double> costs, const options& options) {
  if (options.method == method::brute_force) {
    if (costs.columns() > most_brute_force_columns) {
      throw bad_argument(fmt::format("method='brute-force' takes at most {} rows or columns; got {}; use 'auto'",
                                     most_brute_force_columns, costs.columns()));
    }
    std::vector<std::size_t> best = brute_force(costs);
    if (best.size() == costs.rows()) return of_pairs(costs, std::move(best), options);
    solution none;
    none.feasible = false;
    return none;
  }
  constexpr double no_price = std::numeric_limits<double>::infinity();
  if (options.method == method::hungarian) {
    solution found = hungarian(costs);
    found.certified = certify(costs, found, no_price);
    return found;
  }
  const auto threads = make_threads(options.threads);
  solution found = auction(costs, prices_by(options, most_cost(costs), *threads), *threads);
  found.certified = certify(costs, found, no_price, threads.get());
  return found;
}

}  // namespace

std::string_view method_name(method method) {
  for (const auto& [value, name] : names) {
    if (value == method) return name;
  }
  throw bad_argument("method must be one of the values of shoal::assignment::method");
}

method method_named(std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& [value, text] : names) {
    if (text == name) return value;
    known.push_back(text);
  }
  throw bad_argument(fmt::format("method must be one of {}; got '{}'", fmt::join(known, ", "), name));
}

solution by_method(matrix_view<const double> costs, const options& options) {
  switch (options.method) {
    case method::random:
      return of_pairs(costs, random_assignment(costs.rows(), costs.columns(), options.seed), options);
    case method::greedy_naive:
      return of_pairs(costs, greedy_naive(costs), options);
    case method::greedy:
      return of_pairs(costs, greedy(costs), options);
    case method::greedy_paths:
      if (options.paths == 0) throw bad_argument("paths must be at least 1; got 0");
      return of_pairs(costs, greedy_paths(costs, options.paths), options);
    default:
      break;
  }
  if (costs.rows() <= costs.columns()) return by_wide_method(costs, options);
  const std::vector<double> turned = transposed(costs);
  solution found = by_wide_method({turned.data(), costs.columns(), costs.rows()}, options);
  swap_sides(found);
  return found;
}

}  // namespace shoal::assignment
