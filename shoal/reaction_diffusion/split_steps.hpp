// Implicit steps in the plane, of coupled axons, and where w spreads: reaction and diffusion by turns (Strang 1968).
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// How the parts of a split step are taken.
struct split_rule {
  bool by_tr_bdf2 = false;  ///< else by the trapezoidal rule; the first two steps are then damped (Rannacher 1984)
  double step = 0;          ///< fixes the step; 0: as long as `tolerance` allows, found by halving each step
  double tolerance = 0;
  double accuracy = 0;  ///< what Newton's method may leave of the error
};

/// Half a step of the reaction in each node, a whole one of diffusion along the rows and then along the columns, half
/// one of the reaction: of second order. Ends without flux or periodic, any fields but that of D.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_split_steps(const problem& wave, const split_rule& rule, executor& executor);

}  // namespace shoal::reaction_diffusion
