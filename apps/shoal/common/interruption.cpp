// A thread that waits for SIGINT and SIGTERM.
#include "common/interruption.hpp"

#include <csignal>
#include <cstring>
#include <system_error>

#include <unistd.h>

namespace shoal::app {
namespace {

// Wakes the waiting thread when the program ends by itself.
constexpr int wake_signal = SIGUSR1;

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, wake_signal);
  return set;
}

void end_at_once(int signal) {
  const char* const text = "shoal: interrupted\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
  _exit(128 + signal);
}

}  // namespace

interruption::interruption() {
  const sigset_t set = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  try {
    waiter_ = std::thread([this] { serve(); });
  } catch (const std::system_error& refusal) {
    throw error("cannot start the thread that waits for signals: " + refusal.code().message());
  }
}

interruption::~interruption() {
  ended_ = true;
  pthread_kill(waiter_.native_handle(), wake_signal);
  waiter_.join();
}

std::stop_token interruption::token() {
  patient_ = true;
  return stop_.get_token();
}

void interruption::serve() {
  const sigset_t set = awaited_signals();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (ended_) return;
    if (signal == wake_signal) continue;
    if (!patient_ || stop_.stop_requested()) end_at_once(signal);
    signal_ = signal;
    stop_.request_stop();
  }
}

interruption& interruptions() {
  static interruption instance;
  return instance;
}

}  // namespace shoal::app
