// Axes: which values get a tick, how ticks are written, and where a value lies on the page.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace shoal::report {

/// Values that an axis shows, low < high, both finite.
struct range {
  double low = 0;
  double high = 1;
};

/// The least range that holds the finite values, widened by `margin` of its length on both sides; a single value v
/// gets room around it, no finite value gives [0, 1].
range range_of(std::span<const double> values, double margin = 0);

/// The range of all values unless a few lie far out: then the 1 % and 99 % quantiles moved out by their distance. Two
/// columns with rare huge values would otherwise show one dot in each corner.
range robust_range(std::span<const double> values, double margin = 0);

/// Multiples of 1, 2 or 5 × 10ⁿ inside the range, ascending: at most `target` + 1, and at least two unless `integers`
/// asks for whole numbers only.
std::vector<double> nice_ticks(range shown, int target, bool integers = false);

/// An axis ready to be drawn.
struct axis {
  range shown;
  std::vector<double> ticks;
  std::vector<std::string> tick_labels;
  std::string label;  ///< with the common power of ten of the tick labels, where there is one
};

/// Ticks, their labels (all with the same decimals; a common factor ×10ⁿ moves to the axis label when values reach 10⁶
/// or stay below 10⁻³).
axis make_axis(std::string label, range shown, int target, bool integers = false);

/// Where values lie between two page coordinates; `from` may be greater than `to`, as on a y axis.
class scale {
 public:
  scale(range shown, double from, double to) : shown_(shown), from_(from), to_(to) {}
  double operator()(double value) const { return from_ + (value - shown_.low) * factor(); }
  double factor() const { return (to_ - from_) / (shown_.high - shown_.low); }

 private:
  range shown_;
  double from_;
  double to_;
};

}  // namespace shoal::report
