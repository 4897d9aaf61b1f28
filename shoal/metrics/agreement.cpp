// Contingency of two labellings and the adjusted Rand index.
#include <shoal/metrics/agreement.hpp>

#include <algorithm>

#include <fmt/format.h>

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

std::size_t index_of(const std::vector<std::int32_t>& values, std::int32_t label) {
  return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), label) - values.begin());
}

double pairs(std::uint64_t count) {
  const auto n = static_cast<double>(count);
  return 0.5 * n * (n - 1.0);
}

}  // namespace

contingency_table contingency(std::span<const std::int32_t> first, std::span<const std::int32_t> second) {
  if (first.size() != second.size())
    throw bad_argument(fmt::format("labellings of {} and {} rows cannot be compared; give one label for each row",
                                   first.size(), second.size()));
  contingency_table table;
  table.first = distinct(first);
  table.second = distinct(second);
  table.counts.assign(table.first.size() * table.second.size(), 0);
  table.rows = first.size();
  for (std::size_t i = 0; i < first.size(); ++i)
    ++table.counts[index_of(table.first, first[i]) * table.second.size() + index_of(table.second, second[i])];
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

}  // namespace shoal::metrics
