// The file that an interrupted fit goes on from.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

/// What a checkpoint and the fit that resumes it must agree on, as named texts: data, options, instruction set.
using fit_identity = std::vector<std::pair<std::string, std::string>>;

/// One finished restart.
struct finished_restart {
  double score = 0;
  bool converged = false;
  std::vector<double> history;
  std::vector<double> state;
};

/// Where a fit is: in restart `restart` after `objectives.size()` steps, or at its end.
struct checkpoint {
  std::size_t restart = 0;
  bool finished = false;
  std::vector<double> objectives;  ///< of the steps of this restart; `changes` likewise
  std::vector<double> changes;
  std::vector<double> state;  ///< of the stepper; empty before the restart was seeded
  std::optional<finished_restart> best;
};

/// Replaces the file, whole or not at all. Throws io_error.
void write_checkpoint(const std::string& path, const fit_identity& identity, const checkpoint& checkpoint);

/// Nothing when there is no such file. Throws bad_data when it is damaged and bad_argument, naming each difference,
/// when it belongs to another fit.
std::optional<checkpoint> read_checkpoint(const std::string& path, const fit_identity& identity);

}  // namespace shoal
