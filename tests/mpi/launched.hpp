// Starts the program on ranks that share the processors of this machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

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

/// The ranks that a launcher has started.
inline std::vector<pid_t> ranks_of(pid_t launcher) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string id, name, state;
    pid_t parent = 0;
    if (stat >> id >> name >> state >> parent && parent == launcher && name == "(shoal)")
      found.push_back(std::stoi(id));
  }
  return found;
}

/// Waits until a fit has written a checkpoint; false when it ended before.
inline bool wait_for_checkpoint(process& fit, const std::string& checkpoint) {
  while (fit.running()) {
    std::error_code none;
    const auto bytes = fs::file_size(checkpoint, none);
    if (!none && bytes > 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// How often a text holds another.
inline std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace shoal_test
