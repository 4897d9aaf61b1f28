// Merging the lanes of a fold in a fixed tree, with no more values alive than are being worked on or wait to be merged.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <shoal/core/padded.hpp>
#include <shoal/execution/communicator.hpp>

namespace shoal {

/// Merged lanes, all of one node of the tree.
template <class Value>
struct subtree {
  lane_range lanes;
  Value value;
};

/// Values of one monoid, kept when they are given back so that the next lane, or the next fold, need not make one.
template <class Monoid>
class value_pool {
 public:
  using value_type = typename Monoid::value_type;

  /// A value that holds anything. From any thread.
  value_type* take(const Monoid& monoid) {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        value_type* const value = free_.back();
        free_.pop_back();
        return value;
      }
    }
    auto made = std::make_unique<padded<value_type>>(padded<value_type>{monoid.identity()});
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(made));
    free_.reserve(all_.size());
    return &all_.back()->value;
  }

  /// From any thread.
  void give_back(value_type* value) noexcept {
    const std::scoped_lock lock(mutex_);
    free_.push_back(value);
  }

  /// Whatever was taken, by a fold that ended or was broken off.
  void give_all_back() {
    const std::scoped_lock lock(mutex_);
    free_.clear();
    for (const auto& value : all_) free_.push_back(&value->value);
  }

  /// Values made so far: as many as were ever alive at the same time.
  std::size_t size() const { return all_.size(); }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<padded<value_type>>> all_;
  std::vector<value_type*> free_;  // has room for all, so that giving back allocates nothing
};

/// Merges lanes pairwise in a fixed tree: ((0 1) (2 3)) ((4 5) …).
///
/// Two neighbours are merged as soon as both are whole, by the thread that completed the second of them: it still has
/// one of the two in its cache, and nobody waits while the other lanes are folded. The right one of the two is free
/// from then on.
///
/// A merger may be given some of the lanes only; it then leaves the largest subtrees that these fill.
template <class Monoid>
class lane_merger {
 public:
  using value_type = typename Monoid::value_type;

  /// For lanes [first, end) of `lanes`; their values come from `pool`.
  lane_merger(const Monoid& monoid, value_pool<Monoid>& pool, std::size_t lanes, std::size_t first, std::size_t end)
      : monoid_(&monoid), pool_(&pool), lanes_(lanes), first_(first), end_(end), waiting_(end - first) {}

  /// `value` is lane `lane`, whole. Called once for each lane, from any thread.
  void complete(std::size_t lane, value_type* value) {
    for (std::size_t step = 1; step < lanes_; step *= 2) {
      const std::size_t left = lane & ~step, right = lane | step;
      if (right < lanes_) {
        const bool is_left = lane == left;
        if (left < first_ || std::min(right + step, lanes_) > end_) break;
        // A value is the right one of one pair only, whose first value waits at that place.
        value_type* const other = waiting_[right - first_].exchange(value, std::memory_order_acq_rel);
        if (other == nullptr) return;
        value_type* const from = is_left ? other : value;
        if (!is_left) value = other;
        monoid_->combine_into(*value, *from);
        pool_->give_back(from);
      }
      lane = left;
    }
    waiting_[lane - first_].store(value, std::memory_order_release);
  }

  /// The merged subtree that begins with that lane, once all lanes are complete.
  value_type* subtree(std::size_t first_lane) const { return waiting_[first_lane - first_].load(); }
  lane_range lanes_of_subtree(std::size_t first_lane) const {
    std::size_t step = 1;
    while (step < lanes_ && first_lane % (2 * step) == 0 && std::min(first_lane + 2 * step, lanes_) <= end_) step *= 2;
    return {first_lane, std::min(first_lane + step, lanes_)};
  }

 private:
  const Monoid* monoid_;
  value_pool<Monoid>* pool_;
  std::size_t lanes_, first_, end_;
  std::vector<std::atomic<value_type*>> waiting_;  // by lane
};

}  // namespace shoal
