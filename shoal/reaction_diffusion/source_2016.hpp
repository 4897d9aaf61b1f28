// The implicit scheme of the source of 2016, with its faults: for its figures, and for nothing else.
#pragma once

#include <vector>

#include <shoal/reaction_diffusion/options.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// On an axon. Crank–Nicolson for v with rows v[0] = v[1] and v[n − 1] = v[n − 2] at the ends, which are of first
/// order; w beforehand by a leapfrog, w⁺ = w⁻ + 2Δtε(v − γw), which no step makes stable; Newton's method from the
/// state before, until its change is at most `accuracy`. The Jacobian's end rows are (1, 1), as printed, with which
/// Newton's method converges linearly, or (1, −1), the derivative of those rows.
template <class Scalar>
class source_2016 final : public stepper<Scalar> {
 public:
  source_2016(const problem& wave, double step, double accuracy, source_end_rows rows);

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override;
  std::vector<double> memory() const override;
  void restore(const std::vector<double>& kept) override;
  std::size_t newton_iterations() const override { return iterations_; }

  /// The largest |change| of each iteration of the last step.
  const std::vector<double>& changes() const { return changes_; }

 private:
  void take_step(state<Scalar>& now, double step, double time);

  problem wave_;
  double step_;
  double accuracy_;
  double corner_;  // of the Jacobian's end rows
  std::size_t iterations_ = 0;
  std::vector<double> before_w_;  // of the step before; empty at the first
  std::vector<double> changes_;
};

}  // namespace shoal::reaction_diffusion
