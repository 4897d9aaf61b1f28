// Contingency of two labellings, and the indices that follow from it.
#include <shoal/metrics/agreement.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/core/error.hpp>

namespace shoal::metrics {
namespace {

std::vector<std::int32_t> distinct(std::span<const std::int32_t> labels) {
  std::vector<std::int32_t> values;
  // Few values among many rows: an insertion into a short sorted list costs less than sorting a copy of the labels.
  for (const std::int32_t label : labels) {
    const auto place = std::lower_bound(values.begin(), values.end(), label);
    if (place == values.end() || *place != label) values.insert(place, label);
  }
  return values;
}

std::vector<std::int32_t> joined(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  std::vector<std::int32_t> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

std::size_t index_of(const std::vector<std::int32_t>& values, std::int32_t label) {
  return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), label) - values.begin());
}

double pairs(std::uint64_t count) {
  const auto n = static_cast<double>(count);
  return 0.5 * n * (n - 1.0);
}

}  // namespace

void add(contingency_table& table, std::span<const std::int32_t> first, std::span<const std::int32_t> second) {
  if (first.size() != second.size())
    throw bad_argument(fmt::format("labellings of {} and {} rows cannot be compared; give one label for each row",
                                   first.size(), second.size()));
  contingency_table all;
  all.first = joined(table.first, distinct(first));
  all.second = joined(table.second, distinct(second));
  all.rows = table.rows + first.size();
  all.counts.assign(all.first.size() * all.second.size(), 0);
  const auto count_of = [&](std::int32_t a, std::int32_t b) -> std::uint64_t& {
    return all.counts[index_of(all.first, a) * all.second.size() + index_of(all.second, b)];
  };
  for (std::size_t a = 0; a < table.first.size(); ++a)
    for (std::size_t b = 0; b < table.second.size(); ++b) count_of(table.first[a], table.second[b]) = table(a, b);
  for (std::size_t i = 0; i < first.size(); ++i) ++count_of(first[i], second[i]);
  table = std::move(all);
}

contingency_table contingency(std::span<const std::int32_t> first, std::span<const std::int32_t> second) {
  contingency_table table;
  add(table, first, second);
  return table;
}

double adjusted_rand_index(const contingency_table& table) {
  std::vector<std::uint64_t> by_first(table.first.size(), 0);
  std::vector<std::uint64_t> by_second(table.second.size(), 0);
  double together = 0;
  for (std::size_t a = 0; a < table.first.size(); ++a)
    for (std::size_t b = 0; b < table.second.size(); ++b) {
      by_first[a] += table(a, b);
      by_second[b] += table(a, b);
      together += pairs(table(a, b));
    }
  double first = 0;
  double second = 0;
  for (const std::uint64_t count : by_first) first += pairs(count);
  for (const std::uint64_t count : by_second) second += pairs(count);
  const double all = pairs(table.rows);
  // Where no cut could do otherwise (all rows together, or all apart, on both sides) chance and the greatest agreement
  // coincide and the quotient is 0/0.
  if (all == 0) return 1;
  const double expected = first * second / all;
  const double greatest = 0.5 * (first + second);
  if (greatest == expected) return 1;
  return (together - expected) / (greatest - expected);
}

namespace {

struct group_sizes {
  explicit group_sizes(const contingency_table& table) : first(table.first.size(), 0), second(table.second.size(), 0) {
    for (std::size_t a = 0; a < first.size(); ++a)
      for (std::size_t b = 0; b < second.size(); ++b) {
        first[a] += table(a, b);
        second[b] += table(a, b);
      }
  }
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> second;
};

double pairs_within(const std::vector<std::uint64_t>& counts) {
  double sum = 0;
  for (const std::uint64_t count : counts) sum += pairs(count);
  return sum;
}

double entropy(const std::vector<std::uint64_t>& sizes, double rows) {
  double sum = 0;
  for (const std::uint64_t size : sizes) {
    if (size == 0) continue;
    const double p = static_cast<double>(size) / rows;
    sum -= p * std::log(p);
  }
  return sum;
}

double mean_of(double a, double b, mean_entropy mean) {
  switch (mean) {
    case mean_entropy::minimum:
      return std::min(a, b);
    case mean_entropy::geometric:
      return std::sqrt(a * b);
    case mean_entropy::arithmetic:
      return 0.5 * (a + b);
    case mean_entropy::maximum:
      return std::max(a, b);
  }
  throw bad_argument("mean must be one of the values of shoal::metrics::mean_entropy");
}

// Σ over all pairs of groups and all counts that their sizes allow, of the count's information and its probability.
double expected_information(const group_sizes& sizes, std::uint64_t rows) {
  const auto n = static_cast<double>(rows);
  const auto log_factorial = [](double x) { return std::lgamma(x + 1); };
  double sum = 0;
  for (const std::uint64_t first : sizes.first)
    for (const std::uint64_t second : sizes.second) {
      const auto a = static_cast<double>(first);
      const auto b = static_cast<double>(second);
      const double fixed =
          log_factorial(a) + log_factorial(b) + log_factorial(n - a) + log_factorial(n - b) - log_factorial(n);
      for (double k = std::max(1.0, a + b - n); k <= std::min(a, b); ++k) {
        const double probability = std::exp(fixed - log_factorial(k) - log_factorial(a - k) - log_factorial(b - k) -
                                            log_factorial(n - a - b + k));
        sum += k / n * (std::log(n * k) - std::log(a * b)) * probability;
      }
    }
  return sum;
}

bool both_single(const contingency_table& table) {
  return table.first.size() == table.second.size() && table.first.size() <= 1;
}

// Whether only the names differ. Of groups of one row each the adjusted index is a quotient of rounding errors.
bool same_groups(const contingency_table& table) {
  const auto filled = [](auto count) { return count > 0; };
  const auto cells = static_cast<std::size_t>(std::ranges::count_if(table.counts, filled));
  return cells == table.first.size() && cells == table.second.size();
}

}  // namespace

double rand_index(const contingency_table& table) {
  const group_sizes sizes(table);
  const double all = pairs(table.rows);
  if (all == 0) return 1;
  return (all + 2 * pairs_within(table.counts) - pairs_within(sizes.first) - pairs_within(sizes.second)) / all;
}

double mutual_information(const contingency_table& table) {
  const group_sizes sizes(table);
  const auto n = static_cast<double>(table.rows);
  double sum = 0;
  for (std::size_t a = 0; a < sizes.first.size(); ++a)
    for (std::size_t b = 0; b < sizes.second.size(); ++b) {
      if (table(a, b) == 0) continue;
      const auto count = static_cast<double>(table(a, b));
      sum += count / n *
             std::log(n * count / (static_cast<double>(sizes.first[a]) * static_cast<double>(sizes.second[b])));
    }
  // Rounding may leave independent labellings a little below zero.
  return std::max(0.0, sum);
}

double normalized_mutual_information(const contingency_table& table, mean_entropy mean) {
  if (both_single(table)) return 1;
  const group_sizes sizes(table);
  const auto n = static_cast<double>(table.rows);
  const double information = mutual_information(table);
  if (information <= std::numeric_limits<double>::epsilon()) return 0;
  return information / mean_of(entropy(sizes.first, n), entropy(sizes.second, n), mean);
}

double adjusted_mutual_information(const contingency_table& table, mean_entropy mean) {
  if (same_groups(table)) return 1;
  const group_sizes sizes(table);
  const auto n = static_cast<double>(table.rows);
  const double expected = expected_information(sizes, table.rows);
  const double most = mean_of(entropy(sizes.first, n), entropy(sizes.second, n), mean) - expected;
  constexpr double least = std::numeric_limits<double>::epsilon();
  return (mutual_information(table) - expected) / (most < 0 ? std::min(most, -least) : std::max(most, least));
}

v_measure v_measure_of(const contingency_table& table, double beta) {
  v_measure out;
  if (table.rows == 0) return out;
  const group_sizes sizes(table);
  const auto n = static_cast<double>(table.rows);
  const double information = mutual_information(table);
  const double first = entropy(sizes.first, n);
  const double second = entropy(sizes.second, n);
  out.homogeneity = first == 0 ? 1 : information / first;
  out.completeness = second == 0 ? 1 : information / second;
  const double sum = beta * out.homogeneity + out.completeness;
  out.v = sum == 0 ? 0 : (1 + beta) * out.homogeneity * out.completeness / sum;
  return out;
}

double fowlkes_mallows_index(const contingency_table& table) {
  const group_sizes sizes(table);
  const double together = pairs_within(table.counts);
  if (together == 0) return 0;
  return std::sqrt(together / pairs_within(sizes.first)) * std::sqrt(together / pairs_within(sizes.second));
}

matched_labels match_labels(const contingency_table& table) {
  matched_labels out;
  std::vector<double> counts(table.counts.begin(), table.counts.end());
  const assignment::solution matched = assignment::solve(
      matrix_view<const double>(counts.data(), table.first.size(), table.second.size()), {.maximise = true});
  out.match = matched.column_of_row;
  if (table.rows > 0) out.accuracy = matched.cost / static_cast<double>(table.rows);
  return out;
}

}  // namespace shoal::metrics
