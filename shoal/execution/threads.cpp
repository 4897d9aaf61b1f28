#include <shoal/execution/executor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/default_threads.hpp>

namespace shoal {
namespace {

// How long a thread waits for work, or for the others, before it sleeps. To sleep and be woken costs 50 to 80 µs on a
// virtual machine; an iteration wakes its workers several times, with some ten to a hundred microseconds between.
constexpr std::chrono::microseconds awake{200};

// A look that takes this long gave the processor to another process or thread that needs it.
constexpr std::chrono::microseconds given_away{50};
// So many waits do without looks after that: the next thread to need the processor would else wait for their ends too.
constexpr int crowded_waits = 100;

// Whether `ready` comes true while a thread stays awake for it. It gives way at each look, and sleeps at once where
// others need the processors: `crowded` is how many waits go by until it is tried again.
template <class Ready>
bool comes_soon(const Ready& ready, std::atomic<int>& crowded) {
  if (ready()) return true;
  if (crowded.load(std::memory_order_relaxed) > 0) {
    crowded.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  auto now = std::chrono::steady_clock::now();
  const auto end = now + awake;
  while (now < end) {
    std::this_thread::yield();
    if (ready()) return true;
    const auto before = std::exchange(now, std::chrono::steady_clock::now());
    if (now - before > given_away) {
      crowded.store(crowded_waits, std::memory_order_relaxed);
      return false;
    }
  }
  return false;
}

// What the members of one team share during a run.
struct team {
  explicit team(std::size_t size) : barrier(size) {}
  team_barrier barrier;
  std::size_t claimed = 0;  // written by rank 0 between two waits
};

// What one call of run() asks of the workers.
struct assignment {
  std::size_t tasks;
  std::size_t team_size;
  const executor::task_function* task;
  std::vector<std::unique_ptr<team>> teams;
  std::atomic<std::size_t> next{0};
};

// A thread of the pool, asleep until it is called.
struct worker {
  std::condition_variable_any wake;
  std::atomic<bool> called{false};
  std::jthread thread;  // last, so that it is joined before what it uses is destroyed
};

// Workers stay awake for a while after a run, and then sleep; during a run teams claim tasks from one counter, and
// workers without a team are not called: to wake 31 of them for a run of two tasks takes longer than a small run. To
// start them takes longer still, so that each is started by the first run that has work for it. The calling thread is
// worker 0.
class thread_pool final : public executor {
 public:
  explicit thread_pool(std::size_t count) : count_(count) {}

  std::size_t threads() const override { return count_; }

  void run(std::size_t tasks, std::size_t team_size, const task_function& task) override {
    team_size = std::clamp<std::size_t>(team_size, 1, count_);
    assignment work{tasks, team_size, &task, {}};
    const std::size_t teams = std::min(count_ / team_size, std::max<std::size_t>(tasks, 1));
    for (std::size_t t = 0; t < teams; ++t) work.teams.push_back(std::make_unique<team>(team_size));
    const std::size_t wanted = teams * team_size - 1;  // beside the calling thread
    if (wanted > 0) {
      while (workers_.size() < wanted) start_worker();
      {
        const std::scoped_lock lock(mutex_);
        work_ = &work;
        busy_ = wanted;
        for (std::size_t i = 0; i < wanted; ++i) workers_[i].called = true;
      }
      for (std::size_t i = 0; i < wanted; ++i) workers_[i].wake.notify_one();
      take_part(work, 0);
      comes_soon([&] { return busy_ == 0; }, crowded_);
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return busy_ == 0; });
      work_ = nullptr;
    } else {
      take_part(work, 0);
    }
    if (std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  }

 private:
  void start_worker() {
    const std::size_t index = workers_.size() + 1;
    worker& added = workers_.emplace_back();
    try {
      added.thread = std::jthread([this, &added, index](const std::stop_token& stop) { serve(stop, added, index); });
    } catch (const std::system_error& refusal) {
      workers_.pop_back();  // nobody may wait for a worker without a thread
      throw error(fmt::format("cannot start thread {} of {}: {}; use fewer threads", index + 1, count_,
                              refusal.code().message()));
    } catch (...) {
      workers_.pop_back();
      throw;
    }
  }

  void serve(const std::stop_token& stop, worker& own, std::size_t index) {
    for (;;) {
      assignment* work;
      comes_soon([&] { return own.called.load(); }, crowded_);
      {
        std::unique_lock lock(mutex_);
        if (!own.wake.wait(lock, stop, [&] { return own.called.load(); })) return;
        own.called = false;
        work = work_;
      }
      take_part(*work, index);
      const std::scoped_lock lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  // Nothing leaves it: a worker has nobody to tell, and the calling thread must wait for the others first.
  void take_part(assignment& work, std::size_t index) noexcept {
    const std::size_t team_index = index / work.team_size;
    team& mine = *work.teams[team_index];
    const team_member member(team_index, index % work.team_size, work.team_size, &mine.barrier);
    try {
      work_on_tasks(work, mine, member);
      return;
    } catch (const team_failed&) {
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    work.next.store(work.tasks, std::memory_order_relaxed);
    mine.barrier.leave();
  }

  void work_on_tasks(assignment& work, team& mine, const team_member& member) {
    for (;;) {
      if (member.rank() == 0) mine.claimed = work.next.fetch_add(1, std::memory_order_relaxed);
      member.wait();
      const std::size_t task = mine.claimed;
      member.wait();
      if (task >= work.tasks) return;
      (*work.task)(task, member);
    }
  }

  std::size_t count_;
  std::mutex mutex_;
  std::condition_variable done_;
  assignment* work_ = nullptr;
  std::atomic<std::size_t> busy_{0};
  std::atomic<int> crowded_{0};
  std::exception_ptr failure_;
  std::deque<worker> workers_;  // last, so that threads are joined before what they use is destroyed
};

}  // namespace

std::unique_ptr<executor> make_threads(std::size_t threads) {
  if (threads > most_threads) {
    throw bad_argument(
        fmt::format("threads must be between 1 and {}, or 0 for the default; got {}", most_threads, threads));
  }
  return std::make_unique<thread_pool>(threads == 0 ? default_threads() : threads);
}

std::unique_ptr<executor> make_executor(std::size_t threads) {
  return threads == 1 ? make_sequential() : make_threads(threads);
}

}  // namespace shoal
