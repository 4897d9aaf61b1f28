// One reduction for each segment of a range.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
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
template <class Runner>
std::vector<std::size_t> long_segments(const std::vector<std::size_t>& offsets, std::size_t count, const Runner& run) {
  if (offsets.empty()) throw bad_argument("segmented_reduce: offsets are empty; give one more than there are segments");
  constexpr std::size_t each = std::size_t{1} << 16;
  const std::size_t tasks = (offsets.size() + each - 1) / each;
  std::vector<std::size_t> bad(tasks, offsets.size());
  std::vector<std::vector<std::size_t>> found(tasks);
  run(tasks, [&](std::size_t task) {
    for (std::size_t s = task * each; s < std::min(offsets.size(), (task + 1) * each); ++s) {
      const std::size_t before = offsets[s == 0 ? 0 : s - 1];
      if (offsets[s] > count || offsets[s] < before) {
        bad[task] = s;
        return;
      }
      if (offsets[s] - before > long_segment) found[task].push_back(s - 1);
    }
  });
  std::vector<std::size_t> all;
  for (std::size_t task = 0; task < tasks; ++task) {
    if (bad[task] < offsets.size()) {
      throw bad_argument("segmented_reduce: offset " + std::to_string(bad[task]) + " is " +
                         std::to_string(offsets[bad[task]]) +
                         "; offsets must ascend and end at most at the number of values, " + std::to_string(count));
    }
    all.insert(all.end(), found[task].begin(), found[task].end());
  }
  return all;
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

// Segments of at most so many values are computed as if they had so many: the processor cannot foresee where each one
// ends, and pays more for being wrong than for all the sums.
inline constexpr std::size_t short_segment = 32;

// Values that are one word, whose identity changes no bit of them.
template <class Structure, class Iterator>
concept word_values = plain_values<Structure, Iterator> &&
                      (sizeof(value_of<Structure>) == 4 || sizeof(value_of<Structure>) == 8) &&
                      Structure::laws.identity == law::exact;

// All bits of the first half, no bits of the second.
template <class Word>
inline constexpr auto short_masks = [] {
  std::array<Word, 2 * short_segment> masks{};
  std::fill_n(masks.begin(), short_segment, static_cast<Word>(~Word{0}));
  return masks;
}();

// The tree of the first count <= short_segment of short_segment values that lie in memory; the identity takes the
// places of the others.
template <class Structure>
[[gnu::always_inline]] inline value_of<Structure> tree_of_short(const Structure& structure,
                                                                const value_of<Structure>* values, std::size_t count,
                                                                const value_of<Structure>& identity) {
  using value = value_of<Structure>;
  using word = std::conditional_t<sizeof(value) == 8, std::uint64_t, std::uint32_t>;
  const word* const masks = short_masks<word>.data() + (short_segment - count);
  const auto other = std::bit_cast<word>(identity);
  word words[short_segment];
  std::memcpy(words, values, sizeof words);
  for (std::size_t i = 0; i < short_segment; ++i) words[i] = (words[i] & masks[i]) | (other & ~masks[i]);
  value held[short_segment];
  std::memcpy(held, words, sizeof held);
  return tree_of_leaf<short_segment>(structure, held);
}

template <class Structure, class Iterator, class Result, class Runner>
void reduce_segments(const Structure& structure, Iterator values, std::size_t count,
                     const std::vector<std::size_t>& offsets, Result result, const Runner& run) {
  const auto place = [&](std::size_t s) -> decltype(auto) {
    return result[static_cast<std::iter_difference_t<Result>>(s)];
  };
  const auto segment = [&](std::size_t s) {
    using difference = std::iter_difference_t<Iterator>;
    return std::ranges::subrange(values + static_cast<difference>(offsets[s]),
                                 values + static_cast<difference>(offsets[s + 1]));
  };
  const std::vector<std::size_t> shared = long_segments(offsets, count, run);
  const std::size_t segments = offsets.size() - 1;
  const std::size_t work = offsets.back() - offsets.front() + segments;
  std::size_t each = plain_values<Structure, Iterator> ? 16 * task_elements : task_elements;
  while (work / each > 4096) each *= 2;
  run((work + each - 1) / each, [&](std::size_t task) {
    const value_of<Structure> identity = structure.identity();
    const std::size_t end = segment_of_work(offsets, (task + 1) * each);
    for (std::size_t s = segment_of_work(offsets, task * each); s < end; ++s) {
      const std::size_t length = offsets[s + 1] - offsets[s];
      if constexpr (word_values<Structure, Iterator>) {
        if (length <= short_segment && count - offsets[s] >= short_segment) {
          const auto* const first = std::to_address(values) + offsets[s];
          ask_ahead(first, 2 * line_bytes);
          place(s) = tree_of_short(structure, first, length, identity);
          continue;
        }
      }
      if (length == 0) {
        place(s) = identity;
      } else if (length <= long_segment) {
        place(s) = *reduce_nonempty(structure, segment(s));
      }
    }
  });
  for (const std::size_t s : shared) place(s) = reduce(structure, segment(s), run);
}

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
  detail::separate_values<value_of<Structure>> reduced(std::max<std::size_t>(offsets.size(), 1) - 1,
                                                       structure.identity());
  detail::reduce_segments(structure, std::ranges::begin(values), static_cast<std::size_t>(std::ranges::size(values)),
                          offsets, reduced.begin(), run);
  if constexpr (std::is_same_v<value_of<Structure>, bool>) {
    return std::vector<bool>(reduced.begin(), reduced.end());
  } else {
    return reduced;
  }
}

/// segmented_reduce into memory that is there already, a place for each segment, which must not overlap `values`.
/// Throws bad_argument where there are more or fewer places.
template <monoid Structure, std::ranges::random_access_range Values, std::ranges::random_access_range Results,
          class Runner = in_order>
void segmented_reduce_into(const Structure& structure, const Values& values, const std::vector<std::size_t>& offsets,
                           Results&& result, const Runner& run = {}) {
  static_assert(std::is_reference_v<std::ranges::range_reference_t<Results>>,
                "threads write results each in a place of its own, which std::vector<bool> does not have; use "
                "segmented_reduce");
  const auto room = static_cast<std::size_t>(std::ranges::size(result));
  if (offsets.size() != room + 1) {
    throw bad_argument("segmented_reduce: " + std::to_string(offsets.size()) + " offsets need " +
                       (offsets.empty() ? "to be one more than the segments"
                                        : std::to_string(offsets.size() - 1) + " places for their results") +
                       "; got " + std::to_string(room) + " places");
  }
  detail::reduce_segments(structure, std::ranges::begin(values), static_cast<std::size_t>(std::ranges::size(values)),
                          offsets, std::ranges::begin(result), run);
}

}  // namespace shoal::algebra
