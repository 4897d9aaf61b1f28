#include "wave/presets.hpp"

namespace shoal::app {
namespace {

namespace rd = reaction_diffusion;

rd::initial_state at_rest(const rd::problem& wave) { return rd::rest(wave.grid); }
rd::initial_state with_impulse(const rd::problem& wave) { return rd::impulse(wave.grid); }
rd::initial_state with_front(const rd::problem& wave) { return rd::front(wave.grid, wave.parameters); }

rd::initial_state with_free_end(const rd::problem& wave) { return rd::broken_front(wave.grid); }

}  // namespace

const choices<wave_preset_name>& wave_preset_choices() {
  static const choices<wave_preset_name> known = {
      {"axon-input", wave_preset_name::axon_input},           {"impulse", wave_preset_name::impulse},
      {"oscillation", wave_preset_name::oscillation},         {"front", wave_preset_name::front},
      {"self-excitation", wave_preset_name::self_excitation}, {"impulse-train", wave_preset_name::impulse_train},
      {"return-to-rest", wave_preset_name::return_to_rest},   {"spiral", wave_preset_name::spiral}};
  return known;
}

wave_preset wave_preset_of(wave_preset_name name) {
  constexpr rd::parameters source{.a = 0.01, .gamma = 2, .epsilon = 0.01};
  constexpr rd::parameters without_recovery{.a = 0.01, .gamma = 2, .epsilon = 0};
  constexpr rd::parameters bistable{.a = 0.1, .gamma = 2, .epsilon = 0};
  // Rest is unstable where a < −εγ, and no other state is at rest where γ is small.
  constexpr rd::parameters excited{.a = -0.1, .gamma = 2, .epsilon = 0.01};
  constexpr rd::parameters insensitive{.a = 0.3, .gamma = 2, .epsilon = 0.01};  // the impulse does not reach far enough
  constexpr rd::parameters excitable{.a = 0.1, .gamma = 2, .epsilon = 0.008};
  switch (name) {
    case wave_preset_name::axon_input:
      return {source, rd::boundary::input, at_rest, 306.19};
    case wave_preset_name::impulse:
      return {source, rd::boundary::no_flux, with_impulse, 242.98};
    case wave_preset_name::oscillation:
      return {without_recovery, rd::boundary::no_flux, with_impulse, 120.11};
    case wave_preset_name::front:
      return {bistable, rd::boundary::no_flux, with_front, 60};
    case wave_preset_name::self_excitation:
      return {excited, rd::boundary::no_flux, with_impulse, 600};
    case wave_preset_name::impulse_train:
      return {source, rd::boundary::periodic_input, at_rest, 600};
    case wave_preset_name::return_to_rest:
      return {insensitive, rd::boundary::no_flux, with_impulse, 100};
    case wave_preset_name::spiral:
      return {excitable, rd::boundary::no_flux, with_free_end, 400, true};
  }
  throw bad_argument("a preset must be one of the values of wave_preset_name");
}

const choices<rd::boundary>& wave_boundary_choices() {
  static const choices<rd::boundary> known = {{"no-flux", rd::boundary::no_flux},
                                              {"input", rd::boundary::input},
                                              {"periodic-input", rd::boundary::periodic_input},
                                              {"periodic", rd::boundary::periodic}};
  return known;
}

}  // namespace shoal::app
