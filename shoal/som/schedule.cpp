#include <shoal/som/schedule.hpp>

#include <algorithm>
#include <cmath>

namespace shoal::som {

double decayed(decay decay, range range, std::size_t step, std::size_t steps) {
  if (steps <= 1 || step == 0) return range.first;
  if (step + 1 >= steps) return range.last;
  const double s = static_cast<double>(step) / static_cast<double>(steps - 1);
  switch (decay) {
    case decay::linear:
      return range.first + (range.last - range.first) * s;
    case decay::exponential:
      return range.first * std::pow(range.last / range.first, s);
    case decay::asymptotic:
      break;
  }
  return range.first / (1 + (range.first / range.last - 1) * s);
}

range radius_range(const options& options) {
  if (options.radius) return *options.radius;
  const std::size_t smaller = std::min(options.width, options.height);
  const std::size_t side = smaller > 1 ? smaller : std::max(options.width, options.height);
  return {std::max(1.0, static_cast<double>(side) / 2), 1.0};
}

}  // namespace shoal::som
