// Permutations of n things: the symmetric group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

/// Where each of 0, …, n − 1 goes: i goes to permutation[i].
using permutation = std::vector<std::size_t>;

/// The symmetric group of n things, n known at run time. combine(a, b) does b first, then a, as for functions. Values
/// are permutations; `of` and `of_cycles` make them and refuse everything else. n = 0 and 1 are the trivial group.
class symmetric_group {
 public:
  using value_type = permutation;
  static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact, .inverse = law::exact};

  explicit symmetric_group(std::size_t size) : size_(size) {}

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(std::size_t); }

  permutation identity() const {
    permutation result(size_);
    std::iota(result.begin(), result.end(), std::size_t{0});
    return result;
  }
  /// Throws bad_argument for permutations of another number of things.
  permutation combine(const permutation& a, const permutation& b) const {
    require_size(a);
    require_size(b);
    permutation result(size_);
    for (std::size_t i = 0; i < size_; ++i) result[i] = a[b[i]];
    return result;
  }
  permutation inverse(const permutation& a) const {
    require_size(a);
    permutation result(size_);
    for (std::size_t i = 0; i < size_; ++i) result[a[i]] = i;
    return result;
  }
  /// All n! of them in lexicographic order. Throws bad_argument for more than 8 things (40320 permutations).
  std::vector<permutation> elements() const {
    if (size_ > 8) {
      throw bad_argument("symmetric_group: the permutations of " + std::to_string(size_) +
                         " things are too many to be listed; 8 things is the most");
    }
    std::vector<permutation> all{identity()};
    for (permutation next = all[0]; std::next_permutation(next.begin(), next.end());) all.push_back(next);
    return all;
  }

  /// The permutation that takes i to images[i]. Throws bad_argument unless every one of 0, …, n − 1 is there once.
  permutation of(permutation images) const {
    require_size(images);
    std::vector<bool> taken(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      if (images[i] >= size_ || taken[images[i]]) {
        throw bad_argument(
            "symmetric_group: " + std::to_string(i) + " goes to " + std::to_string(images[i]) +
            (images[i] >= size_ ? ", which is not below " + std::to_string(size_) : ", where another goes already"));
      }
      taken[images[i]] = true;
    }
    return images;
  }
  /// The permutation of these cycles, which may not share an element: {{0, 1, 2}} takes 0 to 1, 1 to 2 and 2 to 0.
  /// Throws bad_argument.
  permutation of_cycles(const std::vector<std::vector<std::size_t>>& cycles) const {
    permutation images = identity();
    std::vector<bool> moved(size_);
    for (const auto& cycle : cycles) {
      for (std::size_t k = 0; k < cycle.size(); ++k) {
        const std::size_t from = cycle[k];
        if (from >= size_ || moved[from]) {
          throw bad_argument("symmetric_group: " + std::to_string(from) +
                             (from >= size_ ? " in a cycle is not below " + std::to_string(size_)
                                            : " is in two cycles, or twice in one"));
        }
        moved[from] = true;
        images[from] = cycle[(k + 1) % cycle.size()];
      }
    }
    return images;
  }

  /// For the law checker: "(0 1 2)(3 4)".
  std::string describe(const permutation& a) const;

 private:
  void require_size(const permutation& a) const {
    if (a.size() != size_) {
      throw bad_argument("symmetric_group: a permutation of " + std::to_string(a.size()) +
                         " things where the group is of " + std::to_string(size_));
    }
  }

  std::size_t size_;
};

/// The cycles of two elements and more, each from its least element, in the order of these.
inline std::vector<std::vector<std::size_t>> cycles(const permutation& a) {
  std::vector<std::vector<std::size_t>> found;
  std::vector<bool> seen(a.size());
  for (std::size_t first = 0; first < a.size(); ++first) {
    if (seen[first] || a[first] == first) continue;
    auto& cycle = found.emplace_back();
    for (std::size_t i = first; !seen[i]; i = a[i]) {
      seen[i] = true;
      cycle.push_back(i);
    }
  }
  return found;
}

/// +1 for an even permutation, −1 for an odd one: a cycle of length m is m − 1 exchanges. sign(a·b) = sign(a)·sign(b).
inline int sign(const permutation& a) {
  std::size_t exchanges = 0;
  for (const auto& cycle : cycles(a)) exchanges += cycle.size() - 1;
  return exchanges % 2 == 0 ? 1 : -1;
}

/// The least k > 0 for which a·…·a, k times, is the identity: the least common multiple of the lengths of the cycles.
/// Throws bad_argument when it does not fit in 64 bits.
inline std::uint64_t order(const permutation& a) {
  std::uint64_t result = 1;
  for (const auto& cycle : cycles(a)) {
    const std::uint64_t length = cycle.size(), factor = length / std::gcd(result, length);
    if (result > std::numeric_limits<std::uint64_t>::max() / factor) {
      throw bad_argument("order: the least common multiple of the cycles' lengths does not fit in 64 bits");
    }
    result *= factor;
  }
  return result;
}

inline std::string symmetric_group::describe(const permutation& a) const {
  std::string text;
  for (const auto& cycle : cycles(a)) {
    text += '(';
    for (std::size_t k = 0; k < cycle.size(); ++k) text += (k == 0 ? "" : " ") + std::to_string(cycle[k]);
    text += ')';
  }
  return text.empty() ? "()" : text;
}

}  // namespace shoal::algebra
