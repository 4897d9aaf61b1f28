// Where v crosses ½, and how fast that place moves.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <shoal/reaction_diffusion/device_state.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/result.hpp>

namespace shoal::reaction_diffusion {

/// The places x = index · spacing where v, [columns], crosses ½, each between two nodes by the line through them;
/// ascending.
std::vector<double> crossings(const float* v, const grid& nodes);
std::vector<double> crossings(const double* v, const grid& nodes);

/// Speed of the level v = ½ from one state to a later one, positive to the right. Nothing where there is not one
/// crossing in each, in the plane, or where no time lies between them.
std::optional<double> wave_speed(const float* before, const float* after, double time_between, const grid& nodes);
std::optional<double> wave_speed(const double* before, const double* after, double time_between, const grid& nodes);

/// The same of states in the memory of one CUDA device. Throws not_built where CUDA was not built.
template <class Scalar>
std::optional<double> wave_speed(const device_state<Scalar>& before, const device_state<Scalar>& after,
                                 double time_between, const grid& nodes);

/// The same between the last two states of a run that lie apart in time.
template <class Scalar>
std::optional<double> wave_speed(const result<Scalar>& found, const grid& nodes) {
  const std::size_t last = found.times.size() - 1, size = 2 * nodes.nodes();
  std::size_t before = last;
  while (before > 0 && found.times[before] == found.times[last]) --before;
  return wave_speed(found.states.data() + before * size, found.states.data() + last * size,
                    found.times[last] - found.times[before], nodes);
}

}  // namespace shoal::reaction_diffusion
