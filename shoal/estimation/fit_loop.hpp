// The one fitting loop: steps, stop rule, restarts, checkpoints, progress and interruption, whatever the family.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <shoal/core/progress.hpp>
#include <shoal/io/checkpoint.hpp>

namespace shoal {

/// What one step of a fit did.
struct step_record {
  double objective = 0;  ///< of the parameters that the step started from
  double change =
      0;  ///< what the family's stop rule compares: k-means Σ‖Δc‖²; a mixture leaves it at zero but for SQUAREM
  bool settled = false;  ///< a further step could change nothing (no label changed)
};

/// A family's fit in progress on some executor.
class stepper {
 public:
  virtual ~stepper() = default;

  /// Chooses first parameters for restart `restart` (0, 1, …), forgetting the present ones.
  virtual void seed(std::size_t restart) = 0;

  /// Runs between one and `most_steps` steps and says what they did. When it throws interrupted, save()
  /// gives a state from which the same steps follow: the parameters of the last step that was reported, or a place
  /// within the step that was not.
  virtual std::vector<step_record> advance(std::size_t most_steps) = 0;

  /// How good the present parameters are, greater being better: what restarts are compared by. One fold at most.
  virtual double score() = 0;

  /// Everything that the next step depends on, and the family's counters, as 64-bit words of exact meaning.
  virtual std::vector<double> save() const = 0;
  /// Throws bad_data for words that save() cannot have given; the stepper is then good for seed() and restore() alone.
  virtual void restore(std::span<const double> state) = 0;
};

struct loop_options {
  std::string_view phase;  ///< for progress: the name of the family
  std::size_t max_iterations = 0;
  std::size_t restarts = 1;
  /// The family's stop rule, asked after every step with all steps of this restart.
  std::function<bool(std::span<const step_record>)> stop;
  std::string checkpoint;         ///< file; empty: none
  double checkpoint_seconds = 1;  ///< least time between two checkpoints
  fit_identity identity;          ///< what a checkpoint must agree with; needed with `checkpoint`
};

/// The best restart. The stepper is left at its parameters.
struct loop_result {
  std::vector<double> history;  ///< objective that each iteration started from
  std::size_t iterations = 0;
  bool converged = false;
  double score = 0;  ///< of the parameters returned
  /// Spent in advance(), and the steps that it was spent in: of all restarts, but in this process alone. Their quotient
  /// is what one iteration takes; `iterations` counts the best restart, also what was done before it was resumed.
  double loop_seconds = 0;
  std::size_t loop_iterations = 0;
  double seeding_seconds = 0;  ///< spent in seed(), of all restarts, in this process alone
};

/// Runs every restart and keeps the one with the greatest score (the first of equals). With a checkpoint file it first
/// resumes from it; no other fit may have the file at the same time. Of several ranks, rank 0 alone has the file, tells
/// the others what it holds, and reports. Throws what checkpoint_file throws, interrupted on request (after writing the
/// last whole state), and what the stepper throws.
loop_result run_fit(stepper& fit, const loop_options& options, const control& control);

}  // namespace shoal
