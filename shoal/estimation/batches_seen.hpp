// The batches that a model was given, by which the next one is weighed.
#pragma once

#include <cstddef>

namespace shoal {

/// What a model that takes rows in batches knows of those that it was given.
struct batches_seen {
  std::size_t count = 0;
  double weight = 0;  ///< Σ w of all their rows, in the caller's units

  /// The step for the next batch, of weight `next`, where `step_size` is meant for the mean batch, this one among them.
  /// With step_size = 1 / (count + 1) it is the share of these rows in all. Throws bad_argument when `weight` is none.
  double next_step(double step_size, double next) const;
  void take(double next) {
    ++count;
    weight += next;
  }
};

}  // namespace shoal
