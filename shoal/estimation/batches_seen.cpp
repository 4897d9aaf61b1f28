#include <shoal/estimation/batches_seen.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/step_for.hpp>

namespace shoal {

double batches_seen::next_step(double step_size, double next) const {
  if (!std::isfinite(weight) || weight < 0) {
    throw bad_argument(
        fmt::format("the weight of the batches seen so far is {}; it must be finite and not negative", weight));
  }
  return step_for(step_size, next, (weight + next) / static_cast<double>(count + 1));
}

}  // namespace shoal
