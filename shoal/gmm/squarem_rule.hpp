// When an accelerated fit leaps, how far, and what it makes of where it comes to: the rule alone, for hosts and GPUs.
#pragma once

#include <cmath>
#include <limits>

#include <shoal/core/host_device.hpp>

namespace shoal::gmm {

/// What the next pass of an accelerated fit is: an iteration from θ₀, one from θ₁, or one from the model that the two
/// lead to. The last is the next cycle's iteration from θ₀ when the model is kept.
enum class squarem_phase : int { base, second, leap };

/// What an accelerated fit knows apart from its models.
struct squarem_course {
  /// How the bound of a step's length begins, grows when it was met, and shrinks when it was too long.
  static constexpr double first_longest = 4;
  static constexpr double growth = 2;
  /// A leap that does not pay costs a pass. So until one has been kept, and after one that was not, it must be likely
  /// to pay. Where each pass of batch leaves the share ρ of the way, ‖r‖ / ‖v‖ is 1 / (1 − ρ), and a pass gains ρ²
  /// times as much as the one before it. ρ must be 5/6 or more, and gains must be at most 1.1 ρ times those before:
  /// they are more where a model gets away from a saddle, and leaps from there end nowhere. After a leap that was kept,
  /// ρ ≥ 1/3 is enough. Of 685 starts by k-means++ and k-means from mixtures of unit Gaussians none needed more passes
  /// than batch; with ρ ≥ 5/6 alone 13 did, by up to 2. From random rows 4 of 567 did, by up to 64: there a leap to a
  /// better model may lead past another saddle.
  static constexpr double least_ratio = 6;
  static constexpr double least_trusted_ratio = 1.5;
  static constexpr double greatest_gain = 1.1;

  squarem_phase phase = squarem_phase::base;
  bool trusted = false;                                         ///< the last leap was kept
  bool bounded = false;                                         ///< the last step was as long as its bound
  double longest = first_longest;                               ///< bound of −α
  double objective = std::numeric_limits<double>::quiet_NaN();  ///< of the last model that was kept; or not known
  /// What the last iteration gained, and the one before it; infinite where that is not known.
  double gain = std::numeric_limits<double>::infinity();
  double gain_before = std::numeric_limits<double>::infinity();

  /// In phase leap: −α for these ‖r‖² and ‖v‖²; 0, and phase base, where no leap is to be tried.
  SHOAL_HD double step_length(double r_squared, double v_squared) {
    const double ratio = v_squared > 0 ? std::sqrt(r_squared / v_squared) : longest;
    if (!may_pay(ratio)) {
      phase = squarem_phase::base;
      return 0;
    }
    const double length = ratio < longest ? ratio : longest;
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
    gain_before = gain;
    gain = std::isnan(objective) ? std::numeric_limits<double>::infinity() : reached - objective;
    objective = reached;
    const squarem_phase next = phase == squarem_phase::base ? squarem_phase::second : squarem_phase::leap;
    phase = extrapolates ? next : squarem_phase::base;
    return gain;
  }

 private:
  SHOAL_HD bool may_pay(double ratio) const {
    if (trusted) return ratio >= least_trusted_ratio;
    return ratio >= least_ratio && std::isfinite(gain_before) && gain <= greatest_gain * (1 - 1 / ratio) * gain_before;
  }
};

}  // namespace shoal::gmm
