#include "running.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
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

// The computations that are on their way, and whether the interpreter is ending. A computation enters and leaves with
// the interpreter's lock held, or never returns.
class calls {
 public:
  void enter() {
    if (ending()) sleep_for_ever(PyEval_SaveThread());
    const std::scoped_lock lock(mutex_);
    ++running_;
  }

  void leave() {
    const std::scoped_lock lock(mutex_);
    if (--running_ == 0) none_.notify_all();
  }

  // Whether this thread must not take the interpreter's lock again. Functions that the end itself calls still run.
  bool ending() {
    const std::scoped_lock lock(mutex_);
    return ending_ && std::this_thread::get_id() != ender_;
  }

  // Called by the thread that ends the interpreter, which holds its lock.
  void end() {
    const nb::gil_scoped_release released;
    std::unique_lock lock(mutex_);
    ending_ = true;
    ender_ = std::this_thread::get_id();
    none_.wait(lock, [this] { return running_ == 0; });
  }

  // Of a thread that does not hold the interpreter's lock: `state` is what releasing it gave.
  [[noreturn]] static void sleep_for_ever([[maybe_unused]] PyThreadState* state) {
    for (;;) ::pause();
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t running_ = 0;
  bool ending_ = false;
  std::thread::id ender_;
};

// Never destroyed: threads that sleep may outlive everything.
calls& all_calls() {
  static calls& made = []() -> calls& {
    static calls* const held = new calls;
    // A child process has none of its parent's other threads, nor what they would have left.
    ::pthread_atfork(nullptr, nullptr, [] { new (held) calls; });
    return *held;
  }();
  return made;
}

class entered_call {
 public:
  entered_call() { all_calls().enter(); }
  entered_call(const entered_call&) = delete;
  ~entered_call() { all_calls().leave(); }
};

// The interpreter's lock is free while this lives. When the interpreter is ending, it is not taken again, and the
// thread ends here.
class unlocked {
 public:
  unlocked() : state_(PyEval_SaveThread()) {}
  unlocked(const unlocked&) = delete;
  ~unlocked() {
    if (all_calls().ending()) {
      all_calls().leave();
      calls::sleep_for_ever(state_);
    }
    PyEval_RestoreThread(state_);
  }

 private:
  PyThreadState* state_;
};

// The two threads of a computation that is not brief.
class attended_run {
 public:
  attended_run(const nb::object& report, const std::function<void(const control&)>& work)
      : report_(report), work_(work) {}

  void operator()() {
    std::jthread worker([this] { compute(); });
    for (bool ended = false; !ended;) {
      {
        const unlocked released;
        if (all_calls().ending()) finish_alone(worker);
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

  // Without Python: callbacks are not called any more.
  void finish_alone(std::jthread& worker) {
    stop_.request_stop();
    {
      std::unique_lock lock(mutex_);
      while (!finished_) {
        waiting_.reset();
        changed_.notify_all();
        changed_.wait_for(lock, signal_period, [this] { return finished_ || waiting_; });
      }
    }
    worker.join();
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
  const entered_call entered;
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
  const unlocked released;
  work(how);
}

void run_with_python(const nb::object& report, bool brief, const rows& data,
                     const std::function<void(const control&)>& work) {
  run_with_python(report, brief, [&](const control& given) {
    control how = given;
    how.ranks = data.ranks();
    work(how);
  });
}

bool interpreter_is_ending() { return all_calls().ending(); }

void stop_at_exit(nb::module_& module) {
  module.def("_stop_computations", [] {
    // What sleeping threads hold is not lost but in use: no word about it at the end.
    if (nb::cast<int>(nb::module_::import_("threading").attr("active_count")()) > 1) nb::set_leak_warnings(false);
    all_calls().end();
  });
  nb::module_::import_("atexit").attr("register")(module.attr("_stop_computations"));
}

}  // namespace shoal::python
