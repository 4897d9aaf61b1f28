// The k greatest of many numbers and where they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include <shoal/algebra/instances/extrema.hpp>

namespace shoal::algebra {

/// The `k` entries with the greatest keys, greatest first; of equal keys the lowest index first. A value holds at most
/// k entries in that order. A number that comes twice counts twice. Domain: no NaN.
template <class Key>
class top_k {
 public:
  using value_type = std::vector<located<Key>>;
  static constexpr operation_laws laws{.associative = law::exact, .commutative = law::exact, .identity = law::exact};

  explicit top_k(std::size_t k) : k_(k) {}

  std::size_t k() const { return k_; }
  std::size_t bytes() const { return k_ * sizeof(located<Key>); }

  /// Whether `a` comes before `b`.
  static constexpr bool precedes(const located<Key>& a, const located<Key>& b) {
    return b.key < a.key || (!(a.key < b.key) && a.index < b.index);
  }

  value_type identity() const { return {}; }
  void reset(value_type& value) const { value.clear(); }

  /// One more entry: into = into·{entry}, in O(k) and mostly O(1).
  void insert(value_type& into, const located<Key>& entry) const {
    if (into.size() == k_ && (k_ == 0 || !precedes(entry, into.back()))) return;
    if (into.size() == k_) into.pop_back();
    into.insert(std::upper_bound(into.begin(), into.end(), entry, precedes), entry);
  }
  value_type combine(const value_type& a, const value_type& b) const {
    value_type merged;
    merged.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged), precedes);
    if (merged.size() > k_) merged.resize(k_);
    return merged;
  }

 private:
  std::size_t k_;
};

}  // namespace shoal::algebra
