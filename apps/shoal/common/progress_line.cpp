// Drawing the line, and the estimate of the time to go.
#include "common/progress_line.hpp"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/ranks.hpp"
#include "common/words.hpp"

namespace shoal::app {

std::string progress_text(const std::string& prefix, const progress& now, std::size_t steps_done, double seconds) {
  std::string text = prefix.empty() ? std::string() : prefix + "  ";
  text += now.phase;
  if (now.steps > 0) text += fmt::format(" {}/{}", now.step, now.steps);
  if (std::isfinite(now.objective)) text += fmt::format("  {:.8g}", now.objective);
  if (steps_done > 0 && now.step < now.steps) {
    const double left = seconds / static_cast<double>(steps_done) * static_cast<double>(now.steps - now.step);
    // A fit may converge before its last step, so this is the most that it can take.
    if (left >= 1) text += fmt::format("  at most {} to go", duration_text(left));
  }
  return text;
}

progress_line::progress_line(bool wanted)
    : visible_(wanted && first_rank() && isatty(STDERR_FILENO) == 1), phase_begin_(clock::now()), next_(phase_begin_) {}

progress_line::~progress_line() { wipe(); }

void progress_line::operator()(const progress& now) {
  if (!visible_) return;
  const clock::time_point time = clock::now();
  if (now.phase != phase_ || now.step < last_step_) {
    phase_ = now.phase;
    phase_begin_ = time;
    first_step_ = now.step;
    next_ = time;
  }
  last_step_ = now.step;
  if (time < next_) return;
  next_ = time + std::chrono::milliseconds(100);
  const std::chrono::duration<double> seconds = time - phase_begin_;
  std::string text = progress_text(prefix_, now, now.step - first_step_, seconds.count());
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && text.size() >= size.ws_col) {
    text.resize(size.ws_col - 1u);
    while (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80) text.pop_back();
  }
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void progress_line::wipe() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace shoal::app
