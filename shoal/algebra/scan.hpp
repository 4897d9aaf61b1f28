// Scans (running reductions) with a stated order of operations, whoever runs them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
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

// The two passes over a block of task_elements values: its total, and its results once all before it is known. Both go
// from left to right, so a result is (blocks before)·(values of the block before it).
template <scan_kind Kind, class Structure, class Iterator, class Result>
class block_scan {
 public:
  using value_type = value_of<Structure>;
  // Blocks that are worked on at a time. One running total waits for itself; several hide that.
  static constexpr std::size_t lanes = plain_values<Structure, Iterator> ? 4 : 1;

  block_scan(const Structure& structure, Iterator values, Result result, std::size_t count)
      : structure_(structure), values_(values), result_(result), count_(count) {}

  std::size_t blocks() const { return (count_ + task_elements - 1) / task_elements; }

  // totals[b] for blocks [begin, end), all of which are whole.
  void sum(slots<value_type>& totals, std::size_t begin, std::size_t end) const {
    if constexpr (lanes > 1) {
      for (; begin + lanes <= end; begin += lanes) sum_together(totals, begin);
    }
    for (; begin < end; ++begin) {
      value_type running = value(begin * task_elements);
      for (std::size_t i = 1; i < task_elements; ++i) {
        combine_into(structure_, running, value(begin * task_elements + i));
      }
      totals[begin] = std::move(running);
    }
  }

  // The results of blocks [begin, end); prefixes[b] is the total of all blocks up to b.
  void write(slots<value_type>& prefixes, std::size_t begin, std::size_t end) const {
    if (begin == 0 && begin < end) write_first(std::min(count_, task_elements)), ++begin;
    if constexpr (lanes > 1) {
      for (; begin + lanes <= end && (begin + lanes) * task_elements <= count_; begin += lanes) {
        write_together(prefixes, begin);
      }
    }
    for (; begin < end; ++begin) write_one(*prefixes[begin - 1], begin);
  }

 private:
  using in_difference = std::iter_difference_t<Iterator>;
  using out_difference = std::iter_difference_t<Result>;

  value_type value(std::size_t i) const { return values_[static_cast<in_difference>(i)]; }
  void set(std::size_t i, value_type value) const { result_[static_cast<out_difference>(i)] = std::move(value); }

  void sum_together(slots<value_type>& totals, std::size_t begin) const {
    value_type running[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) running[lane] = value((begin + lane) * task_elements);
    for (std::size_t i = 1; i < task_elements; ++i) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        combine_into(structure_, running[lane], value((begin + lane) * task_elements + i));
      }
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) totals[begin + lane] = running[lane];
  }

  void write_together(slots<value_type>& prefixes, std::size_t begin) const {
    value_type prefix[lanes], running[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t first = (begin + lane) * task_elements;
      prefix[lane] = *prefixes[begin + lane - 1];
      running[lane] = value(first);
      set(first, Kind == scan_kind::exclusive ? prefix[lane] : combine(structure_, prefix[lane], running[lane]));
    }
    for (std::size_t i = 1; i < task_elements; ++i) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t at = (begin + lane) * task_elements + i;
        const value_type next = value(at);
        if constexpr (Kind == scan_kind::exclusive) set(at, combine(structure_, prefix[lane], running[lane]));
        combine_into(structure_, running[lane], next);
        if constexpr (Kind == scan_kind::inclusive) set(at, combine(structure_, prefix[lane], running[lane]));
      }
    }
  }

  void write_one(const value_type& prefix, std::size_t block) const {
    const std::size_t first = block * task_elements, end = std::min(count_, first + task_elements);
    value_type running = value(first);
    set(first, Kind == scan_kind::exclusive ? prefix : combine(structure_, prefix, running));
    for (std::size_t i = first + 1; i < end; ++i) {
      const value_type next = value(i);
      if constexpr (Kind == scan_kind::exclusive) set(i, combine(structure_, prefix, running));
      combine_into(structure_, running, next);
      if constexpr (Kind == scan_kind::inclusive) set(i, combine(structure_, prefix, running));
    }
  }

  // Nothing comes before the first block.
  void write_first(std::size_t end) const {
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
  }

  const Structure& structure_;
  Iterator values_;
  Result result_;
  std::size_t count_;
};

// Sums all blocks, chains their totals from left to right, and writes. A runner that is one thread does so for a few
// blocks at a time, so that memory is read once.
template <scan_kind Kind, class Structure, class Iterator, class Result, class Runner>
void scan(const Structure& structure, Iterator values, Result result, std::size_t count, const Runner& run) {
  const block_scan<Kind, Structure, Iterator, Result> blocks(structure, values, result, count);
  const std::size_t all = blocks.blocks();
  if (all == 0) return;
  slots<value_of<Structure>> prefixes(all - 1);
  const auto chain = [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = std::max<std::size_t>(begin, 1); b < end; ++b) {
      prefixes[b] = combine(structure, *prefixes[b - 1], *prefixes[b]);
    }
  };
  const auto in_parts = [&](std::size_t last, std::size_t each, const auto& work) {
    run((last + each - 1) / each, [&](std::size_t part) { work(part * each, std::min(last, (part + 1) * each)); });
  };
  if constexpr (std::is_same_v<Runner, in_order>) {
    in_parts(all, 4, [&](std::size_t begin, std::size_t end) {
      const std::size_t last = std::min(end, all - 1);
      blocks.sum(prefixes, begin, last);
      chain(begin, last);
      blocks.write(prefixes, begin, end);
    });
  } else {
    std::size_t each = plain_values<Structure, Iterator> ? 16 : 1;
    while (all / each > 4096) each *= 2;
    in_parts(all - 1, each, [&](std::size_t begin, std::size_t end) { blocks.sum(prefixes, begin, end); });
    chain(0, all - 1);
    in_parts(all, each, [&](std::size_t begin, std::size_t end) { blocks.write(prefixes, begin, end); });
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

/// result[i] = values[0]·…·values[i]. Each block of task_elements values is scanned from left to right, block totals
/// likewise, and result[i] = (blocks before)·(scan within the block): the same bits for every runner.
template <semigroup Structure, std::ranges::random_access_range Values, class Runner = in_order>
std::vector<value_of<Structure>> inclusive_scan(const Structure& structure, const Values& values,
                                                const Runner& run = {}) {
  return detail::scanned<detail::scan_kind::inclusive>(structure, values, run);
}

/// result[0] = identity and result[i] = values[0]·…·values[i − 1], in the same order as inclusive_scan: where
/// that gives bits at i − 1, this gives them at i, but for the first value of a block, which is the total of the blocks
/// before it.
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
