// The file that an interrupted fit goes on from.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shoal/io/file.hpp>

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

/// What a checkpoint's file holds.
std::string format_checkpoint(const fit_identity& identity, const checkpoint& point);

/// Nothing when the text is empty: no fit has written yet. `path` stands in messages. Throws bad_data when it is
/// damaged or of another version of the program, and bad_argument, naming each difference, when it belongs to another
/// fit.
std::optional<checkpoint> parse_checkpoint(const std::string& path, std::string_view text,
                                           const fit_identity& identity);

/// The checkpoint of one fit, which has it to itself as long as this lives: another fit with the same file, of this
/// process or of another one, would go on from the wrong place. The lock is on the file itself and dies with the
/// process; a file that was made for it alone, and holds nothing yet, vanishes with it.
class checkpoint_file {
 public:
  /// Throws io_error when another fit has the file or it cannot be locked, and bad_argument when it is no file.
  checkpoint_file(std::string path, fit_identity identity);
  ~checkpoint_file();
  checkpoint_file(const checkpoint_file&) = delete;
  checkpoint_file& operator=(const checkpoint_file&) = delete;

  /// As parse_checkpoint reads it.
  std::optional<checkpoint> read() const;

  /// Replaces the contents, whole or not at all. Throws io_error, also when somebody has put another file there.
  void write(const checkpoint& checkpoint);

  /// Throws bad_data: the file cannot be gone on from, and why.
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  std::string path_;
  fit_identity identity_;
  file_handle locked_;
};

}  // namespace shoal
