// Who runs the lanes of a fold: one thread, or several that claim lanes one after another.
#pragma once

#include <barrier>
#include <cstddef>
#include <functional>
#include <memory>

namespace shoal {

/// One thread's place among the threads that work on the same lane. A team of one is the usual case; larger teams
/// appear when the statistics are so large that there are fewer lanes than threads.
class team_member {
 public:
  team_member(std::size_t team, std::size_t rank, std::size_t size, std::barrier<>* barrier)
      : team_(team), rank_(rank), size_(size), barrier_(barrier) {}

  std::size_t team() const { return team_; }
  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  /// Waits until every member of the team is here; free for a team of one.
  void wait() const {
    if (size_ > 1) barrier_->arrive_and_wait();
  }

 private:
  std::size_t team_;
  std::size_t rank_;
  std::size_t size_;
  std::barrier<>* barrier_;
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
  /// in the same order. The first exception thrown is rethrown here once all threads have stopped; a task of a team
  /// larger than one must not throw between two waits.
  virtual void run(std::size_t tasks, std::size_t team_size, const task_function& task) = 0;
};

/// Everything on the calling thread.
std::unique_ptr<executor> make_sequential();

/// `threads` workers, the calling thread among them; 0 means default_threads().
/// Throws bad_argument above most_threads (default_threads.hpp).
std::unique_ptr<executor> make_threads(std::size_t threads);

/// sequential for one thread, else threads; 0 as for make_threads.
std::unique_ptr<executor> make_executor(std::size_t threads);

}  // namespace shoal
