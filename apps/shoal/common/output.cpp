// Printing, with every failure of standard output noticed.
#include "common/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "common/ranks.hpp"

namespace shoal::app {

void print(std::string_view text) {
  if (!first_rank()) return;
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw io_error(fmt::format("standard output: cannot be written: {}", std::strerror(errno)));
  }
}

void say(const run_options& run, std::string_view text) {
  if (run.quiet || run.json || !first_rank()) return;
  const std::string line = printable_lines(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void warn(const run_options& run, std::string_view text) {
  if (run.quiet || !first_rank()) return;
  const std::string line = "shoal: warning: " + printable_lines(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace shoal::app
