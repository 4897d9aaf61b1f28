// How the ranks of one computation speak with each other, whatever carries their words.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/core/error.hpp>

namespace shoal {

/// Another rank failed, or left before it had said all that this one waits for; the message names it and repeats its
/// own.
class rank_failed : public error {
 public:
  rank_failed(std::size_t rank, const std::string& why)
      : error("rank " + std::to_string(rank) + " failed: " + why), rank_(rank) {}
  std::size_t rank() const { return rank_; }

 private:
  std::size_t rank_;
};

/// One of `size()` ranks that run the same program on the same rows, in lock-step: every rank makes the same calls of
/// the library in the same order, and each folds lanes of its own. Only the thread that makes these calls speaks with
/// other ranks.
///
/// All three calls throw when a rank that they wait for has failed, so that no rank waits for ever: interrupted where
/// that rank was interrupted, else rank_failed.
class communicator {
 public:
  virtual ~communicator() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  /// Whether rank 0 only leads: it holds no rows and folds no lane, but merges what the others have folded, and steps
  /// as they do. There are two ranks or more then.
  virtual bool led() const { return false; }

  /// Sends bytes to one rank; does not wait until they are received.
  virtual void send(std::size_t to, std::span<const std::byte> bytes) = 0;
  /// The bytes that rank `from` sent, in the order in which it sent them.
  virtual std::vector<std::byte> receive(std::size_t from) = 0;
  /// Sets `bytes` to those of rank `from`. All ranks call it.
  virtual void broadcast(std::size_t from, std::vector<std::byte>& bytes) = 0;
};

/// Lanes [first, end) of a rank.
struct lane_range {
  std::size_t first = 0;
  std::size_t end = 0;

  std::size_t count() const { return end - first; }
};

/// Rows [first, end).
struct row_range {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// The rank that folds a lane: contiguous runs of lanes as equal as can be. Rank 0 has lane 0; where there are fewer
/// lanes than ranks, some have none.
inline std::size_t rank_of_lane(std::size_t lane, std::size_t lanes, std::size_t ranks) { return lane * ranks / lanes; }
inline lane_range lanes_of_rank(std::size_t rank, std::size_t lanes, std::size_t ranks) {
  return {(rank * lanes + ranks - 1) / ranks, ((rank + 1) * lanes + ranks - 1) / ranks};
}

/// The same of ranks that may be led.
inline std::size_t rank_of_lane(const communicator& ranks, std::size_t lane, std::size_t lanes) {
  const std::size_t leaders = ranks.led() ? 1 : 0;
  return leaders + rank_of_lane(lane, lanes, ranks.size() - leaders);
}
inline lane_range lanes_of_rank(const communicator& ranks, std::size_t rank, std::size_t lanes) {
  const std::size_t leaders = ranks.led() ? 1 : 0;
  return rank < leaders ? lane_range{} : lanes_of_rank(rank - leaders, lanes, ranks.size() - leaders);
}

/// Whether there is nobody to speak with.
inline bool alone(const communicator* ranks) { return ranks == nullptr || ranks->size() == 1; }

/// Whether this rank reports and writes what all ranks have made together: one process alone, or rank 0.
inline bool speaks(const communicator* ranks) { return ranks == nullptr || ranks->rank() == 0; }

/// What rank `from` has, on all ranks. All ranks call it.
template <class Element>
std::vector<Element> shared_from(communicator* ranks, std::size_t from, std::vector<Element> own) {
  static_assert(std::is_trivially_copyable_v<Element>);
  if (alone(ranks)) return own;
  const std::span<const std::byte> mine = std::as_bytes(std::span<const Element>(own));
  std::vector<std::byte> bytes;
  if (from == ranks->rank()) bytes.assign(mine.begin(), mine.end());
  ranks->broadcast(from, bytes);
  own.resize(bytes.size() / sizeof(Element));
  if (!bytes.empty()) std::memcpy(own.data(), bytes.data(), bytes.size());
  return own;
}

/// What all ranks have, one after another in the order of the ranks. All ranks call it.
template <class Element>
std::vector<Element> gathered(communicator* ranks, std::vector<Element> own) {
  static_assert(std::is_trivially_copyable_v<Element>);
  if (alone(ranks)) return own;
  if (ranks->rank() != 0) ranks->send(0, std::as_bytes(std::span<const Element>(own)));
  for (std::size_t from = 1; ranks->rank() == 0 && from < ranks->size(); ++from) {
    const std::vector<std::byte> bytes = ranks->receive(from);
    const std::size_t before = own.size();
    own.resize(before + bytes.size() / sizeof(Element));
    if (!bytes.empty()) std::memcpy(own.data() + before, bytes.data(), bytes.size());
  }
  return shared_from(ranks, 0, std::move(own));
}

/// Throws bad_argument when there are several ranks: for `what`, which does not fold. `instead` says what does.
void require_one_rank(const communicator* ranks, const std::string& what, const std::string& instead);

}  // namespace shoal
