// The first k of many entries: the winners of a race among the rows, the rows that are farthest away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <shoal/algebra/group.hpp>

namespace shoal {

/// The `k` entries that come first in the order of `Precedes`, which must tell any two rows apart. A value is a heap of
/// at most k entries with the last of them on top, so that one more costs O(ln k) and mostly nothing
/// (algebra::top_k keeps them sorted, in O(k)). An entry that comes twice counts twice.
///
/// Which entries a union keeps does not depend on how it was cut, so all laws hold exactly; two values are equal when
/// they hold the same entries, in whatever order.
template <class Entry, class Precedes>
class first_k {
 public:
  using value_type = std::vector<Entry>;
  static constexpr algebra::operation_laws laws{
      .associative = algebra::law::exact, .commutative = algebra::law::exact, .identity = algebra::law::exact};

  explicit first_k(std::size_t k) : k_(k) {}

  value_type identity() const { return {}; }
  void reset(value_type& value) const { value.clear(); }

  /// True when `insert` would leave `value` as it is.
  bool refuses(const value_type& value, const Entry& entry) const {
    return value.size() == k_ && (k_ == 0 || !precedes_(entry, value.front()));
  }
  /// One more entry: into = into·{entry}.
  void insert(value_type& into, const Entry& entry) const {
    if (refuses(into, entry)) return;
    if (into.size() == k_) {
      std::pop_heap(into.begin(), into.end(), precedes_);
      into.back() = entry;
    } else {
      into.push_back(entry);
    }
    std::push_heap(into.begin(), into.end(), precedes_);
  }
  void combine_into(value_type& into, const value_type& from) const {
    for (const Entry& entry : from) insert(into, entry);
  }
  /// The first entry first.
  value_type sorted(value_type value) const {
    std::sort_heap(value.begin(), value.end(), precedes_);
    return value;
  }
  bool equal(const value_type& a, const value_type& b) const {
    return std::ranges::equal(sorted(a), sorted(b), [this](const Entry& left, const Entry& right) {
      return !precedes_(left, right) && !precedes_(right, left);
    });
  }
  std::size_t bytes() const { return k_ * sizeof(Entry); }

 private:
  std::size_t k_;
  Precedes precedes_;
};

}  // namespace shoal
