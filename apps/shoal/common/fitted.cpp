// What answers of all families say alike.
#include "common/fitted.hpp"

#include <fmt/format.h>

#include "report/column_scales.hpp"

namespace shoal::app {
namespace {

double seconds_a_step(const fit_time& time) { return time.loop_seconds / static_cast<double>(time.loop_steps); }

}  // namespace

named_values time_values(const std::vector<double>& history, const fit_time& time) {
  return {{"history", history},
          {"seconds", time.seconds},
          {"seeding_seconds", time.seeding_seconds},
          {"loop_seconds", time.loop_seconds},
          {"loop_iterations", time.loop_steps},
          {"seconds_per_iteration", time.loop_steps == 0 ? json() : json(seconds_a_step(time))}};
}

std::string time_text(const fit_time& time, const run_options& run, std::size_t threads, shoal::scalar scalar,
                      const std::string& hardware) {
  std::string text = duration_text(time.seconds);
  text += fmt::format(", {} to choose the start", duration_text(time.seeding_seconds));
  if (time.loop_steps != 0) text += fmt::format(", {} {}", duration_text(seconds_a_step(time)), time.step);
  text += fmt::format("; {}, {}, {}", device_name(run.device), counted(threads, "thread"),
                      word_for(scalar_choices(), scalar));
  if (!hardware.empty()) text += ", " + hardware;
  return text;
}

std::string scale_note(const std::vector<double>& variances, const std::vector<std::string>& names) {
  const std::string words = report::scale_words(variances, names);
  return words.empty() ? words : words + "; --standardize lets all columns count alike";
}

std::string iterations_text(std::size_t iterations, bool converged) {
  return fmt::format("{}, {}", iterations, converged ? "converged" : "not converged");
}

std::string data_text(const data_options& data, std::size_t rows, double total_weight) {
  const std::string weighted = data.weights.empty() ? "" : fmt::format(" of total weight {:.8g}", total_weight);
  return fmt::format("{}: {}{}", data.path, counted(rows, "row"), weighted);
}

}  // namespace shoal::app
