#include <shoal/execution/executor.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {
namespace {

constexpr std::size_t most_threads = 4096;

std::size_t usable_hardware_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

// What the members of one team share during a run.
struct team {
  explicit team(std::size_t size) : barrier(static_cast<std::ptrdiff_t>(size)) {}
  std::barrier<> barrier;
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

// Workers sleep between runs; during a run teams claim tasks from one counter. The calling thread is worker 0.
class thread_pool final : public executor {
 public:
  explicit thread_pool(std::size_t count) : count_(count) {
    for (std::size_t worker = 1; worker < count_; ++worker) {
      workers_.emplace_back([this, worker](const std::stop_token& stop) { serve(stop, worker); });
    }
  }

  std::size_t threads() const override { return count_; }

  void run(std::size_t tasks, std::size_t team_size, const task_function& task) override {
    team_size = std::clamp<std::size_t>(team_size, 1, count_);
    assignment work{tasks, team_size, &task, {}};
    const std::size_t teams = std::min(count_ / team_size, std::max<std::size_t>(tasks, 1));
    for (std::size_t t = 0; t < teams; ++t) work.teams.push_back(std::make_unique<team>(team_size));
    if (teams * team_size > 1) {
      {
        const std::scoped_lock lock(mutex_);
        work_ = &work;
        ++generation_;
        busy_ = workers_.size();
      }
      wake_.notify_all();
      take_part(work, 0);
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return busy_ == 0; });
      work_ = nullptr;
    } else {
      take_part(work, 0);
    }
    if (std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  }

 private:
  void serve(const std::stop_token& stop, std::size_t worker) {
    std::uint64_t seen = 0;
    for (;;) {
      assignment* work;
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [&] { return generation_ != seen; })) return;
        seen = generation_;
        work = work_;
      }
      take_part(*work, worker);
      const std::scoped_lock lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  void take_part(assignment& work, std::size_t worker) {
    const std::size_t index = worker / work.team_size;
    if (index >= work.teams.size()) return;
    team& mine = *work.teams[index];
    const team_member member(index, worker % work.team_size, work.team_size, &mine.barrier);
    for (;;) {
      if (member.rank() == 0) mine.claimed = work.next.fetch_add(1, std::memory_order_relaxed);
      member.wait();
      const std::size_t task = mine.claimed;
      member.wait();
      if (task >= work.tasks) return;
      try {
        (*work.task)(task, member);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        work.next.store(work.tasks, std::memory_order_relaxed);
      }
    }
  }

  std::size_t count_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable done_;
  assignment* work_ = nullptr;
  std::uint64_t generation_ = 0;
  std::size_t busy_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> workers_;  // last, so that it is joined before what it uses is destroyed
};

}  // namespace

std::unique_ptr<executor> make_threads(std::size_t threads) {
  if (threads > most_threads) {
    throw bad_argument(fmt::format("threads must be between 1 and {}, or 0 for one for each hardware thread; got {}",
                                   most_threads, threads));
  }
  return std::make_unique<thread_pool>(threads == 0 ? usable_hardware_threads() : threads);
}

std::unique_ptr<executor> make_executor(std::size_t threads) {
  return threads == 1 ? make_sequential() : make_threads(threads);
}

}  // namespace shoal
