// Scans (running reductions) with a stated order of operations, whoever runs them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/algebra/reduce.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

namespace detail {

// Whether result[i] takes in values[i].
enum class scan_kind : unsigned char { inclusive, exclusive };

// Values of a group: running totals of several groups are computed at the same time, and only their ends wait for each
// other.
inline constexpr std::size_t group_elements = 8;
static_assert(task_elements % group_elements == 0);

// The two passes over blocks of task_elements values: their totals, and their results once all before them is known.
template <scan_kind Kind, class Structure, class Iterator, class Result>
class block_scan {
 public:
  using value_type = value_of<Structure>;

  block_scan(const Structure& structure, Iterator values, Result result, std::size_t count)
      : structure_(structure), values_(values), result_(result), count_(count) {}

  std::size_t blocks() const { return (count_ + task_elements - 1) / task_elements; }

  // totals[b] for blocks [begin, end), all of which are whole.
  void sum(slots<value_type>& totals, std::size_t begin, std::size_t end) const {
    for (; begin < end; ++begin) {
      const Iterator first = values_ + static_cast<in_difference>(begin * task_elements);
      totals[begin] =
          reduce_nonempty(structure_, std::ranges::subrange(first, first + static_cast<in_difference>(task_elements)));
    }
  }

  // The results of blocks [begin, end); prefixes[b] is the total of all blocks up to b.
  void write(slots<value_type>& prefixes, std::size_t begin, std::size_t end) const {
    for (; begin < end; ++begin) {
      const std::size_t first = begin * task_elements, last = std::min(count_, first + task_elements);
      if (begin > 0) {
        write_groups(*prefixes[begin - 1], first, last);
      } else {
        const std::size_t group = std::min(last, group_elements);
        value_type before = write_first(group);
        write_groups(std::move(before), group, last);
      }
    }
  }

 private:
  using in_difference = std::iter_difference_t<Iterator>;
  using out_difference = std::iter_difference_t<Result>;

  value_type value(std::size_t i) const { return values_[static_cast<in_difference>(i)]; }
  void set(std::size_t i, value_type value) const { result_[static_cast<out_difference>(i)] = std::move(value); }

  // Values [i, end), which `before` comes before.
  void write_groups(value_type before, std::size_t i, std::size_t end) const {
    while (i < end) {
      const std::size_t group_end = std::min(end, i + group_elements);
      value_type running = value(i);
      set(i, Kind == scan_kind::exclusive ? before : combine(structure_, before, running));
      for (++i; i < group_end; ++i) {
        const value_type next = value(i);
        if constexpr (Kind == scan_kind::exclusive) set(i, combine(structure_, before, running));
        combine_into(structure_, running, next);
        if constexpr (Kind == scan_kind::inclusive) set(i, combine(structure_, before, running));
      }
      combine_into(structure_, before, running);
    }
  }

  // Values [0, end) of the first group, which nothing comes before; returns their total.
  value_type write_first(std::size_t end) const {
    value_type running = value(0);
    if constexpr (Kind == scan_kind::exclusive) {
      set(0, structure_.identity());
    } else {
      set(0, running);
    }
    for (std::size_t i = 1; i < end; ++i) {
      const value_type next = value(i);
      if constexpr (Kind == scan_kind::exclusive) set(i, running);
      combine_into(structure_, running, next);
      if constexpr (Kind == scan_kind::inclusive) set(i, running);
    }
    return running;
  }

  const Structure& structure_;
  Iterator values_;
  Result result_;
  std::size_t count_;
};

// Bytes of values of one task, and of a span: what is summed by all tasks of one run before the next run writes its
// results. A span stays in the caches between the two, so that memory is read once.
inline constexpr std::size_t scan_task_bytes = std::size_t{64} << 10;
inline constexpr std::size_t span_bytes = std::size_t{8} << 20;

// Sums the blocks of one span after the other, chains their totals from left to right, and writes. Each run sums a span
// and writes the one before it.
template <scan_kind Kind, class Structure, class Iterator, class Result, class Runner>
void scan(const Structure& structure, Iterator values, Result result, std::size_t count, const Runner& run) {
  const block_scan<Kind, Structure, Iterator, Result> blocks(structure, values, result, count);
  const std::size_t all = blocks.blocks();
  if (all == 0) return;
  constexpr std::size_t block_bytes = task_elements * sizeof(value_of<Structure>);
  constexpr std::size_t each =
      plain_values<Structure, Iterator> ? std::max<std::size_t>(scan_task_bytes / block_bytes, 1) : 1;
  // One thread needs no more than a task's blocks between two visits.
  constexpr std::size_t span = std::is_same_v<Runner, in_order> ? each : std::max(span_bytes / block_bytes, each);
  slots<value_of<Structure>> prefixes(all - 1);
  std::size_t summed = 0, written = 0;
  while (written < all) {
    const std::size_t next = std::min(summed + span, all), next_total = std::min(next, all - 1);
    const std::size_t writes = (summed - written + each - 1) / each, sums = (next - summed + each - 1) / each;
    run(writes + sums, [&](std::size_t task) {
      if (task < writes) {
        const std::size_t begin = written + task * each;
        blocks.write(prefixes, begin, std::min(begin + each, summed));
      } else {
        const std::size_t begin = summed + (task - writes) * each;
        blocks.sum(prefixes, begin, std::min(begin + each, next_total));
      }
    });
    for (std::size_t b = std::max<std::size_t>(summed, 1); b < next_total; ++b) {
      prefixes[b] = combine(structure, *prefixes[b - 1], *prefixes[b]);
    }
    written = summed;
    summed = next;
  }
}

template <scan_kind Kind, class Structure, class Values, class Results, class Runner>
void scan_into(const Structure& structure, const Values& values, Results& result, const Runner& run) {
  static_assert(std::is_reference_v<std::ranges::range_reference_t<Results>>,
                "threads write a scan's results each in a place of its own, which std::vector<bool> does not have; use "
                "the form that returns them");
  const auto count = static_cast<std::size_t>(std::ranges::size(values));
  const auto room = static_cast<std::size_t>(std::ranges::size(result));
  if (room != count) {
    throw bad_argument("a scan of " + std::to_string(count) + " values needs as many places for its results; got " +
                       std::to_string(room));
  }
  scan<Kind>(structure, std::ranges::begin(values), std::ranges::begin(result), count, run);
}

template <scan_kind Kind, class Structure, class Values, class Runner>
std::vector<value_of<Structure>> scanned(const Structure& structure, const Values& values, const Runner& run) {
  const auto first = std::ranges::begin(values);
  const auto count = static_cast<std::size_t>(std::ranges::size(values));
  // Blocks are whole words of std::vector<bool>, whose storage begins with one.
  std::vector<value_of<Structure>> result(first, first + static_cast<std::iter_difference_t<decltype(first)>>(count));
  scan<Kind>(structure, first, result.begin(), count, run);
  return result;
}

}  // namespace detail

/// result[i] = values[0]·…·values[i], in an order that depends on the number of values alone: the same bits for every
/// runner. Blocks of 1024 values are reduced as reduce does, and their totals chained from left to right. Within a
/// block groups of 8 are scanned from left to right; result[i] is (all groups before)·(scan within the group), and the
/// groups' totals are chained from the total of the blocks before.
template <semigroup Structure, std::ranges::random_access_range Values, class Runner = in_order>
std::vector<value_of<Structure>> inclusive_scan(const Structure& structure, const Values& values,
                                                const Runner& run = {}) {
  return detail::scanned<detail::scan_kind::inclusive>(structure, values, run);
}

/// result[0] = identity and result[i] = values[0]·…·values[i − 1], in the same order: within a group the bits are those
/// of inclusive_scan one place before.
template <monoid Structure, std::ranges::random_access_range Values, class Runner = in_order>
std::vector<value_of<Structure>> exclusive_scan(const Structure& structure, const Values& values,
                                                const Runner& run = {}) {
  return detail::scanned<detail::scan_kind::exclusive>(structure, values, run);
}

/// inclusive_scan into memory that is there already, which may be that of `values` itself (and else must not overlap
/// it). Throws bad_argument unless both have one size.
template <semigroup Structure, std::ranges::random_access_range Values, std::ranges::random_access_range Results,
          class Runner = in_order>
void inclusive_scan_into(const Structure& structure, const Values& values, Results&& result, const Runner& run = {}) {
  detail::scan_into<detail::scan_kind::inclusive>(structure, values, result, run);
}

/// exclusive_scan into memory that is there already; as inclusive_scan_into.
template <monoid Structure, std::ranges::random_access_range Values, std::ranges::random_access_range Results,
          class Runner = in_order>
void exclusive_scan_into(const Structure& structure, const Values& values, Results&& result, const Runner& run = {}) {
  detail::scan_into<detail::scan_kind::exclusive>(structure, values, result, run);
}

/// Replaces each value by its inclusive scan.
template <semigroup Structure, std::ranges::random_access_range Values, class Runner = in_order>
void inclusive_scan_in_place(const Structure& structure, Values&& values, const Runner& run = {}) {
  detail::scan_into<detail::scan_kind::inclusive>(structure, values, values, run);
}

/// Replaces each value by its exclusive scan.
template <monoid Structure, std::ranges::random_access_range Values, class Runner = in_order>
void exclusive_scan_in_place(const Structure& structure, Values&& values, const Runner& run = {}) {
  detail::scan_into<detail::scan_kind::exclusive>(structure, values, values, run);
}

}  // namespace shoal::algebra
