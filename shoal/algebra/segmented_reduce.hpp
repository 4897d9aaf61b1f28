// One reduction for each segment of a range.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/algebra/reduce.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

namespace detail {

// Segments longer than this are shared by the tasks of a reduction of their own.
inline constexpr std::size_t long_segment = std::size_t{1} << 18;

// Throws bad_argument unless the offsets ascend within `count`; returns the segments that are long.
inline std::vector<std::size_t> long_segments(const std::vector<std::size_t>& offsets, std::size_t count) {
  if (offsets.empty()) throw bad_argument("segmented_reduce: offsets are empty; give one more than there are segments");
  std::vector<std::size_t> found;
  for (std::size_t s = 0; s < offsets.size(); ++s) {
    if (offsets[s] > count || (s > 0 && offsets[s] < offsets[s - 1])) {
      throw bad_argument("segmented_reduce: offset " + std::to_string(s) + " is " + std::to_string(offsets[s]) +
                         "; offsets must ascend and end at most at the number of values, " + std::to_string(count));
    }
    if (s > 0 && offsets[s] - offsets[s - 1] > long_segment) found.push_back(s - 1);
  }
  return found;
}

// The first segment of the task whose share begins at `work`, where a segment is worth its values and one more.
inline std::size_t segment_of_work(const std::vector<std::size_t>& offsets, std::size_t work) {
  const std::size_t segments = offsets.size() - 1;
  std::size_t low = 0, high = segments;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (offsets[middle] - offsets[0] + middle < work) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace detail

namespace detail {

// Results that threads write side by side: std::vector has no place of its own for a bool.
template <class Value>
using separate_values = std::conditional_t<std::is_same_v<Value, bool>, std::vector<unsigned char>, std::vector<Value>>;

}  // namespace detail

/// One reduction for each segment [offsets[s], offsets[s + 1]) of `values`, each in the same tree as reduce of the
/// segment alone; an empty segment gives the identity. Throws bad_argument unless offsets ascend from within
/// [0, size of values].
template <monoid Structure, std::ranges::random_access_range Values, class Runner = in_order>
std::vector<value_of<Structure>> segmented_reduce(const Structure& structure, const Values& values,
                                                  const std::vector<std::size_t>& offsets, const Runner& run = {}) {
  const std::vector<std::size_t> shared =
      detail::long_segments(offsets, static_cast<std::size_t>(std::ranges::size(values)));
  const auto first = std::ranges::begin(values);
  using iterator = std::remove_cvref_t<decltype(first)>;
  const auto segment = [&](std::size_t s) {
    using difference = std::iter_difference_t<iterator>;
    return std::ranges::subrange(first + static_cast<difference>(offsets[s]),
                                 first + static_cast<difference>(offsets[s + 1]));
  };
  const std::size_t segments = offsets.size() - 1;
  const std::size_t work = offsets.back() - offsets.front() + segments;
  std::size_t each = detail::plain_values<Structure, iterator> ? 16 * task_elements : task_elements;
  while (work / each > 4096) each *= 2;
  detail::separate_values<value_of<Structure>> reduced(segments, structure.identity());
  run((work + each - 1) / each, [&](std::size_t task) {
    const std::size_t end = detail::segment_of_work(offsets, (task + 1) * each);
    for (std::size_t s = detail::segment_of_work(offsets, task * each); s < end; ++s) {
      const std::size_t count = offsets[s + 1] - offsets[s];
      if (count > 0 && count <= detail::long_segment) reduced[s] = reduce(structure, segment(s));
    }
  });
  for (const std::size_t s : shared) reduced[s] = reduce(structure, segment(s), run);
  if constexpr (std::is_same_v<value_of<Structure>, bool>) {
    return std::vector<bool>(reduced.begin(), reduced.end());
  } else {
    return reduced;
  }
}

}  // namespace shoal::algebra
