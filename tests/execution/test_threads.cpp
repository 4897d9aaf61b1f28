// Threads that share tasks: each task once, and no thread before a run has work for it.
#include <time.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
