// The page of one wave: a moving picture, v over space and time, profiles, the phase plane, and where v crosses ½.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shoal/reaction_diffusion/parameters.hpp>

#include "report/page.hpp"

namespace shoal::report {

/// States that were kept, [times][2][rows][columns].
struct wave_data {
  std::string title;
  std::vector<fact> facts;  ///< of the run
  reaction_diffusion::grid grid;
  std::vector<double> times;
  std::vector<double> states;
  std::vector<std::vector<std::size_t>> nodes_in_use;  ///< of an adaptive run, at each time; else empty
};

/// In the plane the page shows v at some of the times in place of curves. Needs at least one time.
page wave_page(const wave_data& wave);

}  // namespace shoal::report
