// Reductions in one stated order of operations, whoever runs them.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>

namespace shoal::algebra {

/// Elements of the smallest task, and of a block of a scan: a power of two, so that tasks are whole subtrees.
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

// Values that lie one behind the other and can be copied byte by byte: whole levels of the tree are computed at once,
// which compilers turn into vector code, and nothing is allocated.
template <class Structure, class Iterator>
concept plain_values = std::contiguous_iterator<Iterator> &&
                       std::same_as<std::iter_value_t<Iterator>, value_of<Structure>> &&
                       std::is_trivially_copyable_v<value_of<Structure>> &&
                       std::default_initializable<value_of<Structure>> && sizeof(value_of<Structure>) <= 64;

inline constexpr std::size_t leaf_elements = 64;
static_assert(task_elements % leaf_elements == 0);

// Memory that is asked for so long before it is read: the tree's arithmetic would else wait for it. Asked this far
// ahead sums of 10⁸ numbers take 0.85 of the time of a plain loop, else 1.1; 4096 bytes are too few, 65,536 no better.
inline constexpr std::size_t bytes_ahead = 8192;
inline constexpr std::size_t line_bytes = 64;

// Asks for what lies bytes_ahead of `bytes` bytes at `first`. Behind the end of all values that changes nothing.
[[gnu::always_inline]] inline void ask_ahead(const void* first, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(first) + bytes_ahead;
  for (std::size_t b = 0; b < bytes; b += line_bytes) __builtin_prefetch(reinterpret_cast<const void*>(address + b));
}

// The tree of Count values, a power of two, level by level.
template <std::size_t Count, class Structure>
[[gnu::always_inline]] inline value_of<Structure> tree_of_leaf(const Structure& structure,
                                                               const value_of<Structure>* values) {
  if constexpr (Count == 1) {
    return values[0];
  } else {
    value_of<Structure> level[Count / 2];
    for (std::size_t i = 0; i < Count / 2; ++i) level[i] = combine(structure, values[2 * i], values[2 * i + 1]);
    return tree_of_leaf<Count / 2>(structure, level);
  }
}

// The tree of 0 < count < 2·Most values: what is complete on the left, then the rest.
template <std::size_t Most, class Structure>
inline value_of<Structure> tree_below(const Structure& structure, const value_of<Structure>* values,
                                      std::size_t count) {
  if constexpr (Most == 1) {
    return values[0];
  } else {
    if (count < Most) return tree_below<Most / 2>(structure, values, count);
    const value_of<Structure> left = tree_of_leaf<Most>(structure, values);
    if (count == Most) return left;
    return combine(structure, left, tree_below<Most / 2>(structure, values + Most, count - Most));
  }
}

// The tree of 0 < count <= task_elements values.
template <class Structure>
value_of<Structure> tree_of_block(const Structure& structure, const value_of<Structure>* values, std::size_t count) {
  constexpr std::size_t most_leaves = task_elements / leaf_elements;
  if (count < leaf_elements) return tree_below<leaf_elements / 2>(structure, values, count);
  value_of<Structure> leaves[most_leaves];
  const std::size_t whole = count / leaf_elements, rest = count % leaf_elements;
  for (std::size_t leaf = 0; leaf < whole; ++leaf) {
    ask_ahead(values + leaf * leaf_elements, leaf_elements * sizeof(*values));
    leaves[leaf] = tree_of_leaf<leaf_elements>(structure, values + leaf * leaf_elements);
  }
  if (rest > 0) leaves[whole] = tree_below<leaf_elements / 2>(structure, values + whole * leaf_elements, rest);
  return tree_below<most_leaves>(structure, leaves, whole + (rest > 0 ? 1 : 0));
}

// The tree of count > 0 values.
template <class Structure>
value_of<Structure> tree_of_plain(const Structure& structure, const value_of<Structure>* values, std::size_t count) {
  if (count <= task_elements) return tree_of_block(structure, values, count);
  tree_accumulator<Structure> tree(structure);
  for (std::size_t i = 0; i < count; i += task_elements) {
    tree.push(tree_of_block(structure, values + i, std::min(task_elements, count - i)));
  }
  return *tree.finish();
}

}  // namespace detail

/// Combines a range in the fixed tree of tree_accumulator, or returns nothing for an empty range. Order of the elements
/// is kept, so the operation need not commute.
template <semigroup Structure, std::ranges::input_range Values>
std::optional<value_of<Structure>> reduce_nonempty(const Structure& structure, Values&& values) {
  if constexpr (detail::plain_values<Structure, std::ranges::iterator_t<Values>> && std::ranges::sized_range<Values>) {
    const auto count = static_cast<std::size_t>(std::ranges::size(values));
    if (count == 0) return std::nullopt;
    return detail::tree_of_plain(structure, std::to_address(std::ranges::begin(values)), count);
  } else {
    tree_accumulator<Structure> tree(structure);
    for (auto&& value : values) tree.push(value);
    return tree.finish();
  }
}

/// Combines a range in the fixed tree of tree_accumulator; the identity for an empty range. Order is kept.
template <monoid Structure, std::ranges::input_range Values>
value_of<Structure> reduce(const Structure& structure, Values&& values) {
  auto result = reduce_nonempty(structure, std::forward<Values>(values));
  return result ? *std::move(result) : structure.identity();
}

/// The same tree, so the same bits, with `run` carrying out its subtrees. `run` is in_order, or
/// shoal::runner(executor) (<shoal/execution/runner.hpp>), or what in_order says.
template <monoid Structure, std::ranges::random_access_range Values, class Runner>
value_of<Structure> reduce(const Structure& structure, const Values& values, const Runner& run) {
  const auto count = static_cast<std::size_t>(std::ranges::size(values));
  const auto first = std::ranges::begin(values);
  using iterator = std::remove_cvref_t<decltype(first)>;
  using difference = std::iter_difference_t<iterator>;
  // Larger subtrees do not change the tree. Plain values take nanoseconds each, and to hand out a task some hundred.
  std::size_t each = detail::plain_values<Structure, iterator> ? 16 * task_elements : task_elements;
  while (count / each > 4096) each *= 2;
  const std::size_t tasks = (count + each - 1) / each;
  detail::slots<value_of<Structure>> partial(tasks);
  run(tasks, [&](std::size_t task) {
    const std::size_t begin = task * each, end = std::min(count, begin + each);
    partial[task] = reduce_nonempty(
        structure, std::ranges::subrange(first + static_cast<difference>(begin), first + static_cast<difference>(end)));
  });
  tree_accumulator<Structure> tree(structure);
  for (std::size_t task = 0; task < tasks; ++task) tree.push(*std::move(partial[task]));
  auto result = tree.finish();
  return result ? *std::move(result) : structure.identity();
}

/// Combines a range out of order, which needs a declared commutative law: element i goes to running sum
/// i mod unordered_lanes, and the running sums are combined in the fixed tree. For ranges that are made while they are
/// read it is faster than reduce, and as reproducible: the order depends on the number of elements alone.
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
