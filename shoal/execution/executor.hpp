// Who runs the lanes of a fold, and the tasks of a reduction: one thread, or several that claim them one after another.
#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <memory>

namespace shoal {

/// What team_member::wait() throws in the members of a team of which another one has failed. executor::run() takes it,
/// and throws what that one threw.
struct team_failed {};

/// Where the members of one team wait for each other. A member that fails leaves, and takes the others along: what it
/// was to prepare for them may be missing, and they would wait for it for ever.
class team_barrier {
 public:
  explicit team_barrier(std::size_t members) : barrier_(static_cast<std::ptrdiff_t>(members)) {}

  /// Until every member is here. Throws team_failed when one has left; the caller must then leave too.
  void wait() {
    barrier_.arrive_and_wait();
    if (failed_.load(std::memory_order_acquire)) throw team_failed();
  }

  /// This member will not wait again. Whoever fails calls it once.
  void leave() noexcept {
    failed_.store(true, std::memory_order_release);
    barrier_.arrive_and_drop();
  }

 private:
  std::barrier<> barrier_;
  std::atomic<bool> failed_{false};
};

/// One thread's place among the threads that work on the same lane. A team of one is the usual case; larger teams
/// appear when the statistics are so large that there are fewer lanes than threads.
class team_member {
 public:
  team_member(std::size_t team, std::size_t rank, std::size_t size, team_barrier* barrier)
      : team_(team), rank_(rank), size_(size), barrier_(barrier) {}

  std::size_t team() const { return team_; }
  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  /// Waits until every member of the team is here; free for a team of one. Throws team_failed when another member's
  /// call has ended in an exception; let it pass.
  void wait() const {
    if (size_ > 1) barrier_->wait();
  }

 private:
  std::size_t team_;
  std::size_t rank_;
  std::size_t size_;
  team_barrier* barrier_;
};

/// Runs independent tasks. Which thread runs which task is not fixed; nothing in a result may depend on it.
class executor {
 public:
  using task_function = std::function<void(std::size_t task, const team_member& member)>;

  virtual ~executor() = default;

  /// Threads that work at the same time.
  virtual std::size_t threads() const = 0;

  /// Calls task(t, member) for every t in [0, tasks): once for each member of the team that claims t. `team_size`
  /// divides the threads into threads() / team_size teams (at least one). Every member of a team makes the same calls
  /// in the same order. Any of them may throw at any place: its team then ends at the next wait, the others at their
  /// next task, and the first exception thrown is rethrown here once all threads have stopped. Throws error when a
  /// thread cannot be started.
  virtual void run(std::size_t tasks, std::size_t team_size, const task_function& task) = 0;
};

/// Everything on the calling thread.
std::unique_ptr<executor> make_sequential();

/// `threads` workers, the calling thread among them; 0 means default_threads().
/// Throws bad_argument above most_threads (default_threads.hpp). Threads are started by the first run that needs them,
/// and stay until the executor is gone; one run at a time.
std::unique_ptr<executor> make_threads(std::size_t threads);

/// sequential for one thread, else threads; 0 as for make_threads.
std::unique_ptr<executor> make_executor(std::size_t threads);

}  // namespace shoal
