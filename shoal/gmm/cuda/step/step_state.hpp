// The state of the loop on a GPU: what steps did, and why they stopped.
#pragma once

#include <cstddef>

namespace shoal::gmm {

/// Why the steps that follow do nothing.
enum class stop_reason : int {
  none = 0,
  converged = 1,  ///< the objective changed by less than the tolerance; the last step is whole
  empty = 2,      ///< a component has no rows: model and parameters are still those that the last step started from
  failed = 3,     ///< the last step's model is whole, but cannot be prepared: see step_state::failure
  jumped = 4,     ///< a mean has jumped (jump_rule.hpp): the model before the step is step_arguments::before
};

/// What cannot be prepared: kind, component, and what the kind needs beside it; the least of all components' is kept,
/// which is what a processor that looks at them in order would find first.
namespace refusal {
using code = unsigned long long;
inline constexpr code none = ~code{0};
inline constexpr code mean = 1;      ///< detail: the column
inline constexpr code variance = 2;  ///< detail: the column
inline constexpr code indefinite = 3;
inline constexpr code singular = 4;
/// A code is the component << 34 | kind << 30 | detail, and above these a bit that puts covariances after all means.
inline constexpr code after_means = code{1} << 62;
constexpr code kind(code value) { return value >> 30 & 15; }
constexpr std::size_t component(code value) { return value >> 34 & 0xfffffff; }
constexpr std::size_t detail(code value) { return value & 0x3fffffff; }
}  // namespace refusal

/// Most components and columns that a failure can name.
inline constexpr std::size_t most_components = std::size_t{1} << 28;

/// Most steps between two looks of the host.
inline constexpr unsigned most_steps = 512;

/// The loop's state on the GPU: what the host writes before some steps and reads after them.
struct step_state {
  refusal::code failure = refusal::none;
  stop_reason reason = stop_reason::none;
  unsigned steps = 0;                  ///< steps done since the host wrote this
  unsigned followed = 0;               ///< of which so many have been taken in by squarem_kernels.hpp
  unsigned finished_blocks = 0;        ///< of the launch in progress
  int far = 0;                         ///< in the step in progress some mean moves by more than its deviation
  int has_previous = 0;                ///< is there an objective before the present pass?
  unsigned pass_steps = 1;             ///< steps of a pass over the rows, at whose end alone it may stop
  double previous = 0;                 ///< the objective of the pass before
  double tolerance = 0;                ///< 0: never stop
  double objectives[most_steps] = {};  ///< mean log-likelihood that each step started from
};

}  // namespace shoal::gmm
