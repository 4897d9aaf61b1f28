// The merged lanes of all ranks, by the same tree as those of one.
#pragma once

#include <cstddef>

#include <shoal/execution/communicator.hpp>
#include <shoal/execution/lane_merger.hpp>
#include <shoal/execution/sendable.hpp>

namespace shoal {

/// Joins the subtrees that the ranks have merged of their own lanes. Of two neighbours that belong to different ranks
/// the right one is sent to the rank of the left one, and merged there; so every node has the operands that it has on
/// one rank, and a rank sends at most log₂(lanes) values. Where rank 0 leads, both go to it at once.
template <sendable_monoid Monoid>
class rank_merge {
 public:
  using value_type = typename Monoid::value_type;

  rank_merge(communicator& ranks, const Monoid& monoid, value_pool<Monoid>& pool, const lane_merger<Monoid>& own,
             std::size_t lanes)
      : ranks_(ranks), monoid_(monoid), pool_(pool), own_(own), lanes_(lanes) {}

  /// The fold of all lanes, on every rank. All ranks call it.
  value_type* operator()() {
    std::size_t size = 1;
    while (size < lanes_) size *= 2;
    value_type* whole = join(0, size);
    std::vector<std::byte> bytes;
    if (whole != nullptr) bytes = to_bytes(monoid_, *whole);
    ranks_.broadcast(place_of(0, size), bytes);
    return whole != nullptr ? whole : taken(bytes);
  }

 private:
  std::size_t rank_of(std::size_t lane) const { return rank_of_lane(ranks_, lane, lanes_); }

  // Whether one rank has folded all lanes of a node.
  bool of_one_rank(std::size_t left, std::size_t size) const {
    return rank_of(left) == rank_of(std::min(left + size, lanes_) - 1);
  }

  // The rank where a node's value is.
  std::size_t place_of(std::size_t left, std::size_t size) const {
    return ranks_.led() && !of_one_rank(left, size) ? 0 : rank_of(left);
  }

  value_type* taken(const std::vector<std::byte>& bytes) {
    value_type* const value = pool_.take(monoid_);
    from_bytes(monoid_, bytes, *value);
    return value;
  }

  // A value that is on rank `from`, on rank `to`; null elsewhere.
  value_type* moved(value_type* value, std::size_t from, std::size_t to) {
    if (from == to) return value;
    if (value != nullptr) {
      ranks_.send(to, to_bytes(monoid_, *value));
      pool_.give_back(value);
    }
    return to == ranks_.rank() ? taken(ranks_.receive(from)) : nullptr;
  }

  // The node of lanes [left, left + size): its value at its place, null elsewhere.
  value_type* join(std::size_t left, std::size_t size) {
    if (of_one_rank(left, size)) return rank_of(left) == ranks_.rank() ? own_.subtree(left) : nullptr;
    const std::size_t half = size / 2, middle = left + half;
    if (middle >= lanes_) return join(left, half);
    const std::size_t place = place_of(left, size);
    value_type* const value = moved(join(left, half), place_of(left, half), place);
    value_type* const right = moved(join(middle, half), place_of(middle, half), place);
    if (value == nullptr) return nullptr;
    monoid_.combine_into(*value, *right);
    pool_.give_back(right);
    return value;
  }

  communicator& ranks_;
  const Monoid& monoid_;
  value_pool<Monoid>& pool_;
  const lane_merger<Monoid>& own_;
  std::size_t lanes_;
};

}  // namespace shoal
