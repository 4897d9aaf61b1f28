// Deciding where a verb runs.
#include "common/device.hpp"

#include <utility>

#include <fmt/format.h>

#include <shoal/execution/default_threads.hpp>

#include "common/output.hpp"

namespace shoal::app {

std::size_t resolved_threads(const run_options& run) { return run.threads != 0 ? run.threads : default_threads(); }

device_choice parse_device(const std::string& text) {
  try {
    return choose_device(text);
  } catch (const bad_argument& failure) {
    throw bad_argument(fmt::format("--device: {}", failure.what()));
  } catch (const not_built& failure) {
    throw not_built(fmt::format("{}, or choose --device cpu", failure.what()));
  }
}

void settle_device(run_options& run, const estimated_work& work, std::size_t threads) {
  if (run.device_word != "auto") return;
  automatic_device chosen = choose_automatically(work, threads, run.device.memory);
  run.device.cuda = std::move(chosen.choice.cuda);
  if (!chosen.had_choice) return;
  say(run, fmt::format("device auto: {} ({})", device_name(run.device), chosen.reason));
}

}  // namespace shoal::app
