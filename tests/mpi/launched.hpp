// Starts the program on ranks that share the processors of this machine.
#pragma once

#include <cstddef>
#include <string>

#include "../command_line/program.hpp"

namespace shoal_test {

/// No start may take longer: the alarm ends the launcher, and with it the ranks.
inline constexpr unsigned longest_seconds = 20;

/// What a launcher needs to start so many processes here, whoever runs the test.
inline spawn_options on_ranks(std::size_t ranks) {
  spawn_options options;
  options.launcher = {SHOAL_MPIRUN, "-n", std::to_string(ranks)};
  options.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                         "OMPI_MCA_rmaps_base_oversubscribe=1",
                         "OMPI_MCA_hwloc_base_binding_policy=none",
                         "OMPI_MCA_btl=self,vader",
                         "SHOAL_THREADS=1"};
  options.seconds = longest_seconds;
  return options;
}

/// How often a text holds another.
inline std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace shoal_test
