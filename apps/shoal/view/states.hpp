// The states of a wave as a scene.
#pragma once

#include "view/viewable.hpp"

namespace shoal::app {

/// A `.npy` of shape [times][2][nodes] or [times][2][rows][columns], as `shoal wave run --output` writes it.
viewer::scene show_states(const view_command& command, const std::string& contents);

}  // namespace shoal::app
