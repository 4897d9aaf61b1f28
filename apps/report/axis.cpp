// Axes: ranges, nice ticks and their labels.
#include "report/axis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "report/text.hpp"

namespace shoal::report {
namespace {

// Axis arithmetic (differences, multiples) must not overflow or lose all digits.
constexpr double greatest_shown = 1e300;
constexpr double least_shown = 1e-290;

std::vector<double> finite(std::span<const double> values) {
  std::vector<double> kept;
  for (const double value : values)
    if (std::isfinite(value)) kept.push_back(std::clamp(value, -greatest_shown, greatest_shown));
  return kept;
}

range widened(double low, double high, double margin) {
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= std::max(least_shown, 64 * std::numeric_limits<double>::epsilon() * size)) {
    const double room = size <= least_shown ? 1 : 0.05 * size;
    return {low - room, high + room};
  }
  const double room = margin * (high - low);
  return {low - room, high + room};
}

// A step of `multiple` · 10^`power`.
struct tick_step {
  double multiple = 1;
  int power = 0;
  // Dividing by a power of ten rounds once, so that the tick 3 · 0.1 is the double nearest to 0.3.
  double times(double count) const {
    return power < 0 ? count * multiple / std::pow(10.0, -power) : count * multiple * std::pow(10.0, power);
  }
};

tick_step step_for(double length, int target, bool integers) {
  const int power = static_cast<int>(std::floor(std::log10(length / target)));
  tick_step step{1, power + 1};
  for (const double multiple : {5.0, 2.0, 1.0})
    if (length <= target * tick_step{multiple, power}.times(1)) step = {multiple, power};
  return integers && step.power < 0 ? tick_step{1, 0} : step;
}

}  // namespace

range range_of(std::span<const double> values, double margin) {
  const std::vector<double> kept = finite(values);
  if (kept.empty()) return {};
  const auto [low, high] = std::minmax_element(kept.begin(), kept.end());
  return widened(*low, *high, margin);
}

range robust_range(std::span<const double> values, double margin) {
  std::vector<double> kept = finite(values);
  if (kept.empty()) return {};
  std::sort(kept.begin(), kept.end());
  const auto quantile = [&](double share) {
    return kept[static_cast<std::size_t>(share * static_cast<double>(kept.size() - 1))];
  };
  const double reach = quantile(0.99) - quantile(0.01);
  const double low = std::max(kept.front(), quantile(0.01) - reach);
  const double high = std::min(kept.back(), quantile(0.99) + reach);
  return reach > 0 ? widened(low, high, margin) : widened(kept.front(), kept.back(), margin);
}

std::vector<double> nice_ticks(range shown, int target, bool integers) {
  if (!(shown.high - shown.low > least_shown)) return {shown.low, shown.high};
  std::vector<double> ticks;
  // A short range can fall between two multiples of its step; one tick alone gives no scale, so the step shrinks.
  for (int wanted = std::max(target, 2); ticks.size() < 2; ++wanted) {
    ticks.clear();
    const tick_step step = step_for(shown.high - shown.low, wanted, integers);
    const double slack = 1e-9;
    const double first = std::ceil(shown.low / step.times(1) - slack);
    const double last = std::floor(shown.high / step.times(1) + slack);
    for (double multiple = first; multiple <= last; ++multiple)
      ticks.push_back(std::clamp(step.times(multiple) + 0.0, shown.low, shown.high));
    if (integers && step.times(1) <= 1) break;
  }
  return ticks;
}

axis make_axis(std::string label, range shown, int target, bool integers) {
  axis made{shown, nice_ticks(shown, target, integers), {}, std::move(label)};
  double greatest = 0;
  for (const double tick : made.ticks) greatest = std::max(greatest, std::abs(tick));
  int power = 0;
  if (greatest >= 1e6 || (greatest > 0 && greatest < 1e-3))
    power = 3 * static_cast<int>(std::floor(std::log10(greatest * (1 + 1e-9)) / 3));
  const double step = made.ticks.size() > 1 ? made.ticks[1] - made.ticks[0] : shown.high - shown.low;
  const double exponent = std::floor(std::log10(step) + 1e-6) - power;
  const int decimals = std::clamp(static_cast<int>(-exponent), 0, 12);
  for (const double tick : made.ticks) {
    std::string text = fmt::format("{:.{}f}", std::abs(tick) / std::pow(10.0, power), decimals);
    const bool zero = text.find_first_not_of("0.") == std::string::npos;
    made.tick_labels.push_back(fmt::format("{}{}", tick < 0 && !zero ? "\u2212" : "", text));
  }
  if (power != 0) made.label += fmt::format(" (×10{})", superscript(power));
  return made;
}

}  // namespace shoal::report
