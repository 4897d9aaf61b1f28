// Where a verb runs.
#pragma once

#include <cstddef>
#include <string>

#include <shoal/execution/automatic_device.hpp>

#include "common/options.hpp"

namespace shoal::app {

/// The number of threads that the options mean.
std::size_t resolved_threads(const run_options& run);

/// What --device names. Throws bad_argument and not_built that say so, and what else there is.
device_choice parse_device(const std::string& text);

/// Decides where to run when that was left to us (`--device auto`), and says so on standard error where a GPU
/// could have been chosen.
void settle_device(run_options& run, const estimated_work& work, std::size_t threads);

}  // namespace shoal::app
