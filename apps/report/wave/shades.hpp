// Values on a grid as an image of shades.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "report/frame.hpp"

namespace shoal::report {

/// An image of `height` × `width` values over the whole frame, row 0 at the bottom; of more than `most_pixels` each way
/// some are left out. `at(row, column)` is a value; pale is shown.low, dark is shown.high.
std::string shades(const frame& axes, std::size_t width, std::size_t height, range shown,
                   const std::function<double(std::size_t, std::size_t)>& at, std::size_t most_pixels = 400);

}  // namespace shoal::report
