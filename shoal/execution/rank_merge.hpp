// The merged lanes of all ranks, by the same tree as those of one.
#pragma once

#include <cstddef>

#include <shoal/execution/communicator.hpp>
#include <shoal/execution/lane_merger.hpp>
#include <shoal/execution/sendable.hpp>

namespace shoal {

/// Joins the subtrees that the ranks have merged of their own lanes. Of two neighbours that belong to different ranks
/// the right one is sent to the rank of the left one, and merged there; so every node has the operands that it has on
/// one rank, and a rank sends at most log₂(lanes) values.
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
    ranks_.broadcast(0, bytes);
    return whole != nullptr ? whole : taken(bytes);
  }

 private:
  std::size_t rank_of(std::size_t lane) const { return rank_of_lane(lane, lanes_, ranks_.size()); }

  value_type* taken(const std::vector<std::byte>& bytes) {
    value_type* const value = pool_.take(monoid_);
    from_bytes(monoid_, bytes, *value);
    return value;
  }

  // The node of lanes [left, left + size): its value on the rank of lane `left`, null elsewhere.
  value_type* join(std::size_t left, std::size_t size) {
    const std::size_t owner = rank_of(left);
    if (owner == rank_of(std::min(left + size, lanes_) - 1)) {
      return owner == ranks_.rank() ? own_.subtree(left) : nullptr;
    }
    const std::size_t middle = left + size / 2;
    value_type* const value = join(left, size / 2);
    if (middle >= lanes_) return value;
    value_type* right = join(middle, size / 2);
    const std::size_t sender = rank_of(middle);
    if (owner != sender) {
      if (right != nullptr) {
        ranks_.send(owner, to_bytes(monoid_, *right));
        pool_.give_back(right);
      } else if (value != nullptr) {
        right = taken(ranks_.receive(sender));
      }
    }
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
