// A thread that waits for SIGINT, SIGTERM and SIGHUP.
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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    // A blocked signal would be awaited even though it is ignored.
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
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
    waiter_ = std::thread([this, set] { serve(set); });
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

void interruption::serve(sigset_t set) {
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
