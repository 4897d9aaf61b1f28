// When an accelerated fit leaps, how far, and what it makes of where it comes to: the rule alone, for hosts and GPUs.
#pragma once

#include <cmath>
#include <limits>

#include <shoal/core/host_device.hpp>

namespace shoal::gmm {

/// What the next pass of an accelerated fit is: an iteration from θ₀, one from θ₁, or one from the model that the two
/// lead to. The last is the next cycle's iteration from θ₀ when the model is kept.
enum class squarem_phase : int { base, second, leap };

/// What an accelerated fit knows beside its models.
struct squarem_course {
  /// How the bound of a step's length begins, grows when it was met, and shrinks when it was too long.
  static constexpr double first_longest = 4;
  static constexpr double growth = 4;
  /// Where each pass of batch leaves the share ρ of the way, ‖r‖ / ‖v‖ is 1 / (1 − ρ). A leap that does not pay costs a
  /// pass, so until one has been kept, and after one that was not, ρ must be 5/6 or more. Without this rule, mixtures
  /// of unit Gaussians whose means are N(0, 10²) needed more passes than batch from 15 of 25 starts by k-means++, by up
  /// to 5, with it from none; where means are N(0, 1.3²) it needs 3.4 times fewer than batch, without the rule 3.7.
  static constexpr double least_ratio = 6;

  squarem_phase phase = squarem_phase::base;
  bool trusted = false;                                         ///< the last leap was kept
  bool bounded = false;                                         ///< the last step was as long as its bound
  double longest = first_longest;                               ///< bound of −α
  double objective = std::numeric_limits<double>::quiet_NaN();  ///< of the last model that was kept; or not known

  /// In phase leap: −α for these ‖r‖² and ‖v‖²; 0, and phase base, where no leap is to be tried.
  SHOAL_HD double step_length(double r_squared, double v_squared) {
    const double ratio = v_squared > 0 ? std::sqrt(r_squared / v_squared) : longest;
    if (!trusted && ratio < least_ratio) {
      phase = squarem_phase::base;
      return 0;
    }
    const double length = ratio < 1 ? 1 : ratio < longest ? ratio : longest;
    bounded = length == longest;
    return length;
  }

  /// In phase leap, when the pass from the model that was tried has found `reached`: whether that model is kept. If so,
  /// its pass is an iteration from θ₀ by follow().
  SHOAL_HD bool judge(double reached) {
    if (!(reached >= objective)) {
      go_back();
      return false;
    }
    trusted = true;
    if (bounded) longest *= growth;
    phase = squarem_phase::base;
    objective = std::numeric_limits<double>::quiet_NaN();  // what a leap gains is not what an iteration of batch gains
    return true;
  }

  /// In phase leap: the model that was tried is dropped, for its pass found too little or it was none.
  SHOAL_HD void go_back() {
    phase = squarem_phase::base;
    longest = longest / growth > first_longest ? longest / growth : first_longest;
    trusted = false;
  }

  /// In phase base or second, after a pass that found `reached`: what it gained, infinite where that is not known.
  /// `extrapolates` is false for an iteration whose model has no part in an extrapolation.
  SHOAL_HD double follow(double reached, bool extrapolates) {
    const double gain = std::isnan(objective) ? std::numeric_limits<double>::infinity() : reached - objective;
    objective = reached;
    const squarem_phase next = phase == squarem_phase::base ? squarem_phase::second : squarem_phase::leap;
    phase = extrapolates ? next : squarem_phase::base;
    return gain;
  }
};

}  // namespace shoal::gmm
