// Refuses what cannot be computed, with the limit that it crosses.
#pragma once

#include <shoal/reaction_diffusion/initial_state.hpp>
#include <shoal/reaction_diffusion/options.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>

namespace shoal::reaction_diffusion {

/// Throws bad_argument.
void check(const problem& wave, const options& how);

/// Throws bad_data with the index of a value that is not finite, and bad_argument when there are not as many as nodes.
void check(const problem& wave, const initial_state& begin);

}  // namespace shoal::reaction_diffusion
