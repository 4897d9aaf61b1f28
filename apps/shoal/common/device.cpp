// Deciding where a verb runs.
#include "common/device.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include <shoal/execution/default_threads.hpp>
#include <shoal/mpi/launch.hpp>

#include "common/output.hpp"
#include "common/ranks.hpp"

namespace shoal::app {

// Processes of one host that their launcher has not bound to processors share them.
std::size_t resolved_threads(const run_options& run) {
  if (run.threads != 0) return run.threads;
  const std::size_t all = default_threads();
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (alone(ranks()) || static_cast<long>(all) < online) return all;
  return std::max<std::size_t>(1, all / mpi::launched().local_size);
}

device_choice parse_device(const std::string& text) {
  try {
    return mpi::choose_device(text, mpi::launched());
  } catch (const bad_argument& failure) {
    throw bad_argument(fmt::format("--device: {}", failure.what()));
  } catch (const not_built& failure) {
    throw not_built(fmt::format("{}, or choose --device cpu", failure.what()));
  }
}

void settle_device(run_options& run, const estimated_work& work, std::size_t threads) {
  if (run.device_word != "auto") return;
  automatic_device chosen = choose_automatically(work, threads, run.device.memory);
  if (!alone(ranks())) {
    chosen.choice.cuda.clear();
    chosen.reason = fmt::format("{} ranks compute on their hosts", ranks()->size());
  }
  run.device.cuda = std::move(chosen.choice.cuda);
  if (!chosen.had_choice) return;
  say(run, fmt::format("device auto: {} ({})", device_name(run.device), chosen.reason));
}

}  // namespace shoal::app
