// Threads that share tasks: each task once, no thread before a run has work for it, and no thread that waits for one
// that has failed.
#include <time.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <shoal/execution/executor.hpp>

namespace {

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

void expect_each_task_once(shoal::executor& workers, std::size_t tasks, std::size_t team_size) {
  std::vector<std::atomic<int>> calls(tasks);
  workers.run(tasks, team_size, [&](std::size_t task, const shoal::team_member& member) {
    EXPECT_EQ(member.size(), team_size);
    ++calls[task];
  });
  for (const auto& count : calls) EXPECT_EQ(count, static_cast<int>(team_size));
}

TEST(Threads, StartWhenARunHasWorkForThem) {
  std::thread([] {}).join();  // with the first one the thread sanitizer starts one of its own
  const std::ptrdiff_t before = threads_of_this_process();
  const std::unique_ptr<shoal::executor> workers = shoal::make_threads(8);
  expect_each_task_once(*workers, 1, 1);
  EXPECT_EQ(threads_of_this_process(), before);
  expect_each_task_once(*workers, 3, 1);
  EXPECT_EQ(threads_of_this_process(), before + 2);
  expect_each_task_once(*workers, 2, 1);
  EXPECT_EQ(threads_of_this_process(), before + 2);
  expect_each_task_once(*workers, 100, 1);
  EXPECT_EQ(threads_of_this_process(), before + 7);
  for (const std::size_t team_size : {2, 3, 8}) expect_each_task_once(*workers, 11, team_size);
  EXPECT_EQ(threads_of_this_process(), before + 7);
}

// Between runs threads are awake at first and asleep later, and a thread may be about to fall asleep when it is called.
TEST(Threads, TakeWorkAwakeAndAsleep) {
  const std::unique_ptr<shoal::executor> workers = shoal::make_threads(4);
  for (const int microseconds : {0, 50, 190, 200, 210, 2000}) {
    for (int i = 0; i < 20; ++i) {
      expect_each_task_once(*workers, 9, 1);
      expect_each_task_once(*workers, 3, 2);
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    }
  }
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// They may be awake for a fifth of a millisecond each after a run, and sleep from then on.
TEST(Threads, TakeNoProcessorTimeWhenTheyHaveNothingToDo) {
  const std::unique_ptr<shoal::executor> workers = shoal::make_threads(8);
  expect_each_task_once(*workers, 100, 1);
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processor_seconds() - before, 0.05);
}

// Ends the process when the threads of a test wait for each other for ever.
class time_limit {
 public:
  explicit time_limit(unsigned seconds) { alarm(seconds); }
  ~time_limit() { alarm(0); }
};

constexpr std::size_t waits_of_a_task = 3;

// What a run throws whose member `rank` throws before wait `place` of task 2.
std::string failure_of(shoal::executor& workers, std::size_t team_size, std::size_t rank, std::size_t place) {
  try {
    workers.run(9, team_size, [&](std::size_t task, const shoal::team_member& member) {
      for (std::size_t wait = 0; wait <= waits_of_a_task; ++wait) {
        if (task == 2 && member.rank() == rank && wait == place) throw std::runtime_error("this one");
        if (wait < waits_of_a_task) member.wait();
      }
    });
  } catch (const std::exception& failure) {
    return failure.what();
  }
  return "nothing";
}

TEST(Threads, AMemberThatFailsReleasesItsTeam) {
  const time_limit limit(120);
  for (const std::size_t threads : {2, 3, 8}) {
    const std::unique_ptr<shoal::executor> workers = shoal::make_threads(threads);
    for (const std::size_t team_size : {std::size_t{1}, std::size_t{2}, threads}) {
      for (std::size_t rank = 0; rank < team_size; ++rank) {
        for (std::size_t place = 0; place <= waits_of_a_task; ++place) {
          EXPECT_EQ(failure_of(*workers, team_size, rank, place), "this one")
              << threads << " threads, teams of " << team_size << ", member " << rank << ", wait " << place;
        }
      }
      expect_each_task_once(*workers, 11, team_size);
    }
  }
}

TEST(Threads, AllMembersMayFailAtOnce) {
  const time_limit limit(120);
  const std::unique_ptr<shoal::executor> workers = shoal::make_threads(8);
  for (const std::size_t team_size : {1, 2, 4, 8}) {
    for (int i = 0; i < 50; ++i) {
      EXPECT_THROW(workers->run(20, team_size,
                                [](std::size_t, const shoal::team_member& member) {
                                  if (member.rank() % 2 == 0) member.wait();
                                  throw std::bad_alloc();
                                }),
                   std::bad_alloc);
    }
  }
}

// A member that has failed prepared nothing; what the others would read then must not be read.
TEST(Threads, NobodyGoesOnWithoutWhatAMemberWasToPrepare) {
  const time_limit limit(120);
  const std::unique_ptr<shoal::executor> workers = shoal::make_threads(4);
  for (int i = 0; i < 200; ++i) {
    std::unique_ptr<int> prepared;
    EXPECT_THROW(workers->run(1, 4,
                              [&](std::size_t, const shoal::team_member& member) {
                                if (member.rank() == 0) throw std::bad_alloc();
                                member.wait();
                                *prepared = 1;
                              }),
                 std::bad_alloc);
  }
}

}  // namespace
