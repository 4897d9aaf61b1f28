// Reductions and scans with a stated order of operations, whoever runs them.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

/// Elements that one task reduces or scans: a power of two, so that tasks are whole subtrees.
inline constexpr std::size_t task_elements = 1024;

/// Running sums that reduce_unordered keeps side by side.
inline constexpr std::size_t unordered_lanes = 8;

/// Runs tasks one after another on the calling thread. Any callable `(std::size_t count, task)` that calls task(i) once
/// for every i in [0, count) and returns when all are done can stand in its place; when and where a task runs never
/// shows in a result.
struct in_order {
  template <class Task>
  void operator()(std::size_t count, const Task& task) const {
    for (std::size_t i = 0; i < count; ++i) task(i);
  }
};

/// Combines values in the fixed tree ((0 1) (2 3)) ((4 5) …): neighbours pairwise, then pairs, and so on. The tree
/// depends on the number of values alone. Holds at most one value for each level.
template <semigroup Structure>
class tree_accumulator {
 public:
  using value_type = value_of<Structure>;

  explicit tree_accumulator(const Structure& structure) : structure_(&structure) {}

  void push(value_type value) {
    // The trailing ones of the count are the complete subtrees that this value completes further.
    for (std::size_t full = count_; (full & 1) != 0; full >>= 1) {
      combine_into(*structure_, subtrees_.back(), value);
      value = std::move(subtrees_.back());
      subtrees_.pop_back();
    }
    subtrees_.push_back(std::move(value));
    ++count_;
  }

  /// Everything pushed so far, combined; nothing if there was nothing. Leaves the accumulator empty.
  std::optional<value_type> finish() {
    if (subtrees_.empty()) return std::nullopt;
    while (subtrees_.size() > 1) {
      combine_into(*structure_, subtrees_[subtrees_.size() - 2], subtrees_.back());
      subtrees_.pop_back();
    }
    std::optional<value_type> result(std::move(subtrees_.back()));
    subtrees_.clear();
    count_ = 0;
    return result;
  }

 private:
  // A struct around the value keeps std::vector<bool> away.
  struct subtree_list {
    struct holder {
      value_type value;
    };
    std::vector<holder> list;
    bool empty() const { return list.empty(); }
    std::size_t size() const { return list.size(); }
    value_type& back() { return list.back().value; }
    value_type& operator[](std::size_t i) { return list[i].value; }
    void pop_back() { list.pop_back(); }
    void push_back(value_type value) { list.push_back({std::move(value)}); }
    void clear() { list.clear(); }
  };

  const Structure* structure_;
  subtree_list subtrees_;
  std::size_t count_ = 0;
};

/// Combines a range in the fixed tree of tree_accumulator, or returns nothing for an empty range. Order of the elements
/// is kept, so the operation need not commute.
template <semigroup Structure, std::ranges::input_range Values>
std::optional<value_of<Structure>> reduce_nonempty(const Structure& structure, Values&& values) {
  tree_accumulator<Structure> tree(structure);
  for (auto&& value : values) tree.push(value);
  return tree.finish();
}

/// Combines a range in the fixed tree of tree_accumulator; the identity for an empty range. Order is kept.
template <monoid Structure, std::ranges::input_range Values>
value_of<Structure> reduce(const Structure& structure, Values&& values) {
  auto result = reduce_nonempty(structure, std::forward<Values>(values));
  return result ? *std::move(result) : structure.identity();
}

namespace detail {

// A vector whose elements may be written by different threads, also when they are bool.
template <class Value>
struct slots {
  struct holder {
    std::optional<Value> value;
  };
  explicit slots(std::size_t count) : list(count) {}
  std::optional<Value>& operator[](std::size_t i) { return list[i].value; }
  std::vector<holder> list;
};

}  // namespace detail

/// The same tree, so the same bits, with `run` carrying out its subtrees of task_elements values.
template <monoid Structure, std::ranges::random_access_range Values, class Runner>
value_of<Structure> reduce(const Structure& structure, const Values& values, const Runner& run) {
  const auto count = static_cast<std::size_t>(std::ranges::size(values));
  const std::size_t tasks = (count + task_elements - 1) / task_elements;
  detail::slots<value_of<Structure>> partial(tasks);
  const auto first = std::ranges::begin(values);
  using difference = std::iter_difference_t<decltype(first)>;
  run(tasks, [&](std::size_t task) {
    const std::size_t begin = task * task_elements;
    const std::size_t end = std::min(count, begin + task_elements);
    tree_accumulator<Structure> tree(structure);
    for (std::size_t i = begin; i < end; ++i) tree.push(first[static_cast<difference>(i)]);
    partial[task] = tree.finish();
  });
  tree_accumulator<Structure> tree(structure);
  for (std::size_t task = 0; task < tasks; ++task) tree.push(*std::move(partial[task]));
  auto result = tree.finish();
  return result ? *std::move(result) : structure.identity();
}

/// Combines a range out of order, which needs a declared commutative law: element i goes to running sum
/// i mod unordered_lanes, and the running sums are combined in the fixed tree. Faster than reduce for small values, and
/// as reproducible: the order depends on the number of elements alone.
template <commutative_monoid Structure, std::ranges::input_range Values>
value_of<Structure> reduce_unordered(const Structure& structure, Values&& values) {
  std::vector<std::array<value_of<Structure>, 1>> lanes(unordered_lanes, {structure.identity()});
  std::size_t lane = 0;
  for (auto&& value : values) {
    combine_into(structure, lanes[lane][0], value);
    lane = (lane + 1) % unordered_lanes;
  }
  tree_accumulator<Structure> tree(structure);
  for (auto& sum : lanes) tree.push(std::move(sum[0]));
  return *tree.finish();
}

/// result[i] = values[0]·…·values[i]. Each block of task_elements values is scanned from left to right, block totals
/// likewise, and result[i] = (blocks before)·(scan within the block): the same bits for every runner.
template <semigroup Structure, std::ranges::random_access_range Values, class Runner = in_order>
std::vector<value_of<Structure>> inclusive_scan(const Structure& structure, const Values& values,
                                                const Runner& run = {}) {
  using value_type = value_of<Structure>;
  const auto count = static_cast<std::size_t>(std::ranges::size(values));
  const std::size_t tasks = (count + task_elements - 1) / task_elements;
  const auto first = std::ranges::begin(values);
  using difference = std::iter_difference_t<decltype(first)>;
  std::vector<value_type> result(first, first + static_cast<difference>(count));
  detail::slots<value_type> totals(tasks);
  run(tasks, [&](std::size_t task) {
    const std::size_t begin = task * task_elements;
    const std::size_t end = std::min(count, begin + task_elements);
    value_type running = result[begin];
    for (std::size_t i = begin + 1; i < end; ++i) {
      const value_type& next = result[i];
      combine_into(structure, running, next);
      result[i] = running;
    }
    totals[task] = std::move(running);
  });
  for (std::size_t task = 1; task < tasks; ++task) totals[task] = combine(structure, *totals[task - 1], *totals[task]);
  run(tasks == 0 ? 0 : tasks - 1, [&](std::size_t previous) {
    const std::size_t begin = (previous + 1) * task_elements;
    const std::size_t end = std::min(count, begin + task_elements);
    for (std::size_t i = begin; i < end; ++i) result[i] = combine(structure, *totals[previous], result[i]);
  });
  return result;
}

/// One reduction for each segment [offsets[s], offsets[s + 1]) of `values`, each in the same tree as reduce of the
/// segment alone; an empty segment gives the identity. Throws bad_argument unless offsets ascend from within
/// [0, size of values].
template <monoid Structure, std::ranges::random_access_range Values, class Runner = in_order>
std::vector<value_of<Structure>> segmented_reduce(const Structure& structure, const Values& values,
                                                  const std::vector<std::size_t>& offsets, const Runner& run = {}) {
  const auto count = static_cast<std::size_t>(std::ranges::size(values));
  if (offsets.empty()) throw bad_argument("segmented_reduce: offsets are empty; give one more than there are segments");
  for (std::size_t s = 0; s < offsets.size(); ++s) {
    if (offsets[s] > count || (s > 0 && offsets[s] < offsets[s - 1])) {
      throw bad_argument("segmented_reduce: offset " + std::to_string(s) + " is " + std::to_string(offsets[s]) +
                         "; offsets must ascend and end at most at the number of values, " + std::to_string(count));
    }
  }
  const auto first = std::ranges::begin(values);
  using difference = std::iter_difference_t<decltype(first)>;
  const std::size_t segments = offsets.size() - 1;
  detail::slots<value_of<Structure>> reduced(segments);
  run(segments, [&](std::size_t s) {
    reduced[s] = reduce(structure, std::ranges::subrange(first + static_cast<difference>(offsets[s]),
                                                         first + static_cast<difference>(offsets[s + 1])));
  });
  std::vector<value_of<Structure>> result;
  result.reserve(segments);
  for (std::size_t s = 0; s < segments; ++s) result.push_back(*std::move(reduced[s]));
  return result;
}

/// a·a·…·a, `exponent` times, by repeated squaring; the identity for exponent 0.
template <monoid Structure>
value_of<Structure> power(const Structure& structure, const value_of<Structure>& a, std::uint64_t exponent) {
  value_of<Structure> result = structure.identity();
  value_of<Structure> square = a;
  while (exponent != 0) {
    if ((exponent & 1) != 0) result = combine(structure, result, square);
    exponent >>= 1;
    if (exponent != 0) square = combine(structure, square, square);
  }
  return result;
}

}  // namespace shoal::algebra
