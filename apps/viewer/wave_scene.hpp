// A quantity over a line or a plane as heights: over place and time, or moving.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "viewer/scene.hpp"

namespace shoal::viewer {

struct wave_request {
  std::string title;
  std::string subtitle;
  std::size_t times = 0;
  std::size_t rows = 1;  ///< 1: a line, shown over place and time
  std::size_t columns = 0;
  std::span<const double> values;  ///< [times][rows][columns]
  std::string value_word = "v";
  double spacing = 1;
  std::vector<double> times_at;  ///< [times]; empty: their numbers
};

/// Throws bad_argument for fewer than two nodes or times (of a line), sizes that do not fit, and values that are not
/// finite.
scene wave_scene(const wave_request& request, const view_settings& view);

}  // namespace shoal::viewer
