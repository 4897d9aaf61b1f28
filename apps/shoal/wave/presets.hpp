// Waves by name: equations, ends, beginning and duration.
#pragma once

#include <functional>

#include <shoal/reaction_diffusion/initial_state.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>

#include "common/options.hpp"

namespace shoal::app {

struct wave_preset {
  reaction_diffusion::parameters parameters;
  reaction_diffusion::boundary boundary = reaction_diffusion::boundary::no_flux;
  std::function<reaction_diffusion::initial_state(const reaction_diffusion::problem&)> begin;
  double time = 0;
  bool in_plane = false;
};

enum class wave_preset_name {
  axon_input,
  impulse,
  oscillation,
  front,
  self_excitation,
  impulse_train,
  return_to_rest,
  spiral
};

const choices<wave_preset_name>& wave_preset_choices();

wave_preset wave_preset_of(wave_preset_name name);

const choices<reaction_diffusion::boundary>& wave_boundary_choices();

}  // namespace shoal::app
