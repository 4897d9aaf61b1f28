// How far a step goes for the rows that it is taken on: the rule alone, for hosts and GPUs.
#pragma once

#include <shoal/core/host_device.hpp>

namespace shoal {

/// The step for a batch of weight `weight`, where `step_size` is meant for one of weight `usual_weight`: in proportion,
/// so that every row pulls alike whichever batch it came in, and at most one.
SHOAL_HD inline double step_for(double step_size, double weight, double usual_weight) {
  const double scaled = step_size * (weight / usual_weight);
  return scaled < 1 ? scaled : 1;
}

}  // namespace shoal
