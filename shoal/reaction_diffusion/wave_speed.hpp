// Where v crosses ½, and how fast that place moves.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <shoal/reaction_diffusion/parameters.hpp>

namespace shoal::reaction_diffusion {

/// The places x = index · spacing where v, [columns], crosses ½, each between two nodes by the line through them;
/// ascending.
std::vector<double> crossings(const float* v, const grid& nodes);
std::vector<double> crossings(const double* v, const grid& nodes);

/// Speed of the level v = ½ from one state to a later one, positive to the right. Nothing where there is not one
/// crossing in each, in the plane, or where no time lies between them.
std::optional<double> wave_speed(const float* before, const float* after, double time_between, const grid& nodes);
std::optional<double> wave_speed(const double* before, const double* after, double time_between, const grid& nodes);

}  // namespace shoal::reaction_diffusion
