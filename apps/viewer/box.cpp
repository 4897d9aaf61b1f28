#include "viewer/box.hpp"

#include <algorithm>
#include <cmath>

namespace shoal::viewer {

box::box(const std::array<std::string, 3>& labels, const std::array<report::range, 3>& shown, bool one_scale)
    : shown_(shown) {
  constexpr int ticks = 5;
  double longest = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (!labels[i].empty()) longest = std::max(longest, shown[i].high - shown[i].low);
  for (std::size_t i = 0; i < 3; ++i) {
    if (labels[i].empty()) {
      axes_[i].half = 0;
      continue;
    }
    factor_[i] = 2 / (one_scale ? longest : shown[i].high - shown[i].low);
    axes_[i].half = factor_[i] * (shown[i].high - shown[i].low) / 2;
    const report::axis made = report::make_axis(labels[i], shown[i], ticks);
    axes_[i].label = made.label;
    for (std::size_t t = 0; t < made.ticks.size(); ++t)
      axes_[i].ticks.push_back({place(i, made.ticks[t]), made.tick_labels[t]});
  }
}

double box::place(std::size_t axis, double value) const {
  return factor_[axis] * (value - (shown_[axis].low + shown_[axis].high) / 2);
}

bool box::holds(std::size_t axis, double value) const {
  return factor_[axis] == 0 || (value >= shown_[axis].low && value <= shown_[axis].high);
}

std::uint16_t box::quantised(std::size_t axis, double value) const {
  if (factor_[axis] == 0) return 32768;
  const double share = (value - shown_[axis].low) / (shown_[axis].high - shown_[axis].low);
  return static_cast<std::uint16_t>(std::lround(65535 * std::clamp(share, 0.0, 1.0)));
}

}  // namespace shoal::viewer
