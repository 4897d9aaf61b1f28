// The thread that waits for signals, by itself: small enough for the thread sanitizer, which is not run on the whole
// program.
#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/interruption.hpp"

namespace {

using shoal::app::interruption;

// False when ten seconds have passed without a stop.
bool stops(const std::stop_token& token) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!token.stop_requested() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return token.stop_requested();
}

// A signal ends the program, or else its status is 1 after ten seconds.
[[noreturn]] void wait_for_the_end() {
  std::this_thread::sleep_for(std::chrono::seconds(10));
  _exit(1);
}

TEST(InterruptionThread, EndsWithoutASignal) {
  for (int i = 0; i < 100; ++i) {
    interruption signals;
    EXPECT_FALSE(signals.token().stop_requested());
  }
}

TEST(InterruptionThread, TheFirstSignalAsksForAStop) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    interruption signals;
    const std::stop_token token = signals.token();
    kill(getpid(), signal);
    EXPECT_TRUE(stops(token));
    EXPECT_EQ(signals.exit_status(), 128 + signal);
  }
}

// nohup ignores SIGHUP for the programs that it starts, and a shell Ctrl-C for those in the background.
TEST(InterruptionThread, WhatTheCallerIgnoresStaysIgnored) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto before = std::signal(signal, SIG_IGN);
    {
      interruption signals;
      const std::stop_token token = signals.token();
      kill(getpid(), signal);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_FALSE(token.stop_requested()) << signal;
    }
    std::signal(signal, SIG_IGN);  // drops the one that waits behind the block of earlier tests
    std::signal(signal, before);
  }
}

TEST(InterruptionThreadDeathTest, ASignalBeforeTheWorkEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto interrupted = [] {
    interruption signals;
    kill(getpid(), SIGTERM);
    wait_for_the_end();
  };
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(128 + SIGTERM), "shoal: interrupted");
}

TEST(InterruptionThreadDeathTest, TheSecondSignalEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto interrupted = [] {
    interruption signals;
    const std::stop_token token = signals.token();
    kill(getpid(), SIGINT);
    if (!stops(token)) _exit(2);
    kill(getpid(), SIGINT);
    wait_for_the_end();
  };
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(128 + SIGINT), "shoal: interrupted");
}

}  // namespace
