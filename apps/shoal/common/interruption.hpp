// Ctrl-C, SIGTERM and a terminal that closes (SIGHUP): the first asks the computation to stop, the second ends the
// program at once.
#pragma once

#include <atomic>
#include <csignal>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>

#include <pthread.h>

#include <shoal/core/error.hpp>

namespace shoal::app {

/// One for the program, made before any other thread. What the caller ignores (nohup: SIGHUP; a shell's background
/// jobs: Ctrl-C) stays ignored. Signals are blocked and taken by one thread that waits for them, so that no code runs
/// in a signal handler.
class interruption {
 public:
  interruption();
  ~interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  /// The token of work that will look at it. Until this is called (files are being opened) the first signal ends the
  /// program at once.
  std::stop_token token();

  /// The same for who waits for others beside such work: it does not change what the first signal does.
  std::stop_token watched() const { return stop_.get_token(); }

  /// 128 + the number of the signal that asked for the stop, as shells count: 130 for Ctrl-C.
  int exit_status() const { return 128 + signal_.load(); }

 private:
  void serve(sigset_t awaited);

  std::stop_source stop_;
  std::atomic<bool> patient_{false};
  std::atomic<bool> ended_{false};
  std::atomic<int> signal_{2};
  std::thread waiter_;
};

/// The program's own.
interruption& interruptions();

/// Runs a fit; when it is interrupted and left a checkpoint, the message says how to go on.
template <class Fit>
auto with_resume_hint(const std::string& checkpoint, const Fit& fit) {
  try {
    return fit();
  } catch (const interrupted& stop) {
    std::error_code code;
    if (checkpoint.empty() || !std::filesystem::exists(checkpoint, code)) throw;
    throw interrupted(std::string(stop.what()) + "; the same command goes on from " + checkpoint);
  }
}

}  // namespace shoal::app
