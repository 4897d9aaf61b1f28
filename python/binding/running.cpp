#include "running.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace shoal::python {
namespace {

constexpr auto signal_period = std::chrono::milliseconds(50);

void call_report(const nb::object& report, const progress& where) {
  report(nb::str(where.phase.data(), where.phase.size()), where.step, where.steps, where.objective);
}

// The two threads of a computation that is not brief.
class attended_run {
 public:
  attended_run(const nb::object& report, const std::function<void(const control&)>& work)
      : report_(report), work_(work) {}

  void operator()() {
    std::jthread worker([this] { compute(); });
    for (bool ended = false; !ended;) {
      {
        nb::gil_scoped_release unlocked;
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, signal_period, [this] { return finished_ || waiting_; });
        ended = finished_;
      }
      attend();
    }
    worker.join();
    if (raised_) std::rethrow_exception(raised_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void compute() {
    control how;
    how.stop = stop_.get_token();
    if (!report_.is_none()) how.report = [this](const progress& where) { hand_over(where); };
    try {
      work_(how);
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  // The computation waits for its callback, so that what the callback raises ends it at this very step.
  void hand_over(const progress& where) {
    std::unique_lock lock(mutex_);
    waiting_ = where;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !waiting_; });
  }

  void attend() {
    std::optional<progress> where;
    {
      const std::scoped_lock lock(mutex_);
      where = waiting_;
    }
    if (!raised_) {
      try {
        if (where) call_report(report_, *where);
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
      } catch (...) {
        raised_ = std::current_exception();
        stop_.request_stop();
      }
    }
    if (!where) return;
    const std::scoped_lock lock(mutex_);
    waiting_.reset();
    changed_.notify_all();
  }

  const nb::object& report_;
  const std::function<void(const control&)>& work_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<progress> waiting_;  // for the callback
  bool finished_ = false;
  std::exception_ptr failure_;  // of the computation
  std::exception_ptr raised_;   // by Python
};

}  // namespace

void run_with_python(const nb::object& report, bool brief, const std::function<void(const control&)>& work) {
  if (!brief) {
    attended_run{report, work}();
    return;
  }
  control how;
  if (!report.is_none()) {
    how.report = [&](const progress& where) {
      const nb::gil_scoped_acquire locked;
      call_report(report, where);
    };
  }
  const nb::gil_scoped_release unlocked;
  work(how);
}

}  // namespace shoal::python
