// Writing to standard output, and saying things on standard error.
#pragma once

#include <string_view>

#include "common/options.hpp"

namespace shoal::app {

// All of these do nothing but on the first of several ranks.

/// Writes to standard output. Throws io_error when it is closed or full.
void print(std::string_view text);

/// Writes a line on standard error, unless the run is quiet or answers in JSON.
void say(const run_options& run, std::string_view text);

/// Writes "shoal: warning: …" on standard error, unless the run is quiet.
void warn(const run_options& run, std::string_view text);

}  // namespace shoal::app
