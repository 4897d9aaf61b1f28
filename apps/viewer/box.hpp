// From values of three quantities to places in the scene's box.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "report/axis.hpp"
#include "viewer/scene.hpp"

namespace shoal::viewer {

class box {
 public:
  /// What each side of the box shows; an empty label makes it flat. With `one_scale` equal lengths stay equal.
  box(const std::array<std::string, 3>& labels, const std::array<report::range, 3>& shown, bool one_scale);

  const std::array<scene_axis, 3>& axes() const { return axes_; }
  double place(std::size_t axis, double value) const;
  /// Scene units for one unit of the axis.
  double factor(std::size_t axis) const { return factor_[axis]; }
  bool holds(std::size_t axis, double value) const;
  /// The place in 16 bits: 0 is the low side, 65535 the high one.
  std::uint16_t quantised(std::size_t axis, double value) const;

 private:
  std::array<report::range, 3> shown_;
  std::array<scene_axis, 3> axes_;
  std::array<double, 3> factor_{};
};

}  // namespace shoal::viewer
