// One line on a terminal that says where a computation is and how long it may still take.
#pragma once

#include <chrono>
#include <string>

#include <shoal/core/progress.hpp>

namespace shoal::app {

/// Draws on standard error, at most ten times a second; draws nothing when standard error is not a terminal or when
/// `wanted` is false. The line is wiped when the object goes.
class progress_line {
 public:
  explicit progress_line(bool wanted);
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// Words put in front, such as "K = 3".
  void prefix(std::string text) { prefix_ = std::move(text); }
  void operator()(const progress& now);
  void wipe();

 private:
  using clock = std::chrono::steady_clock;

  bool visible_;
  bool drawn_ = false;
  std::string prefix_;
  std::string phase_ = "none";
  std::size_t first_step_ = 0;
  std::size_t last_step_ = 0;
  clock::time_point phase_begin_;
  clock::time_point next_;
};

/// The text of that line: phase, step of steps, the figure, and the time still to go at the pace of the last
/// `steps_done` steps, which took `seconds`. A resumed fit does not begin at its first step.
std::string progress_text(const std::string& prefix, const progress& now, std::size_t steps_done, double seconds);

}  // namespace shoal::app
