// Second derivatives on nodes that are not evenly spaced, with v_x = 0 at both ends, or around.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/reaction_diffusion/options.hpp>

namespace shoal::reaction_diffusion {

/// derivative[i] ← v_xx at x[i], for ascending places of at least 3 nodes. Beyond the ends the nodes are mirrored, or
/// with a `period` above 0, which no spline has, they begin anew.
void second_derivative(second_differences kind, const std::vector<double>& x, const std::vector<double>& v,
                       std::vector<double>& derivative, double period = 0);

}  // namespace shoal::reaction_diffusion
