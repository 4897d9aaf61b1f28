// How split steps are taken, wherever their parts are computed.
#pragma once

namespace shoal::reaction_diffusion {

/// How the parts of a split step are taken.
struct split_rule {
  bool by_tr_bdf2 = false;  ///< else by the trapezoidal rule; the first two steps are then damped (Rannacher 1984)
  double step = 0;          ///< fixes the step; 0: as long as `tolerance` allows, found by halving each step
  double tolerance = 0;
  double accuracy = 0;  ///< what Newton's method may leave of the error
};

}  // namespace shoal::reaction_diffusion
