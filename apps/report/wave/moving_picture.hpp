// A wave that moves, as frames of one drawing that show one after the other; no script is needed.
#pragma once

#include <cstddef>
#include <vector>

#include "report/axis.hpp"
#include "report/wave/wave_report.hpp"

namespace shoal::report {

/// v over x, or v in the plane as shades, at up to 60 of the times, 12 a second, over and over. Needs at least 2 times.
picture moving_picture(const wave_data& wave, range values);

/// Numbers of at most `most` of `count` times, evenly, the last among them.
std::vector<std::size_t> some_times(std::size_t count, std::size_t most);

}  // namespace shoal::report
