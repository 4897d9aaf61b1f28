// What every scheme offers to the loop over time.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/reaction_diffusion/state.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
class stepper {
 public:
  virtual ~stepper() = default;

  /// Takes at most `most` steps towards `over.end`, and never past it. `now.time` is exactly that when it is reached.
  /// Returns how many steps were taken.
  virtual std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) = 0;

  /// What a resumed run must know beside the state.
  virtual std::vector<double> memory() const { return {}; }
  virtual void restore(const std::vector<double>&) {}

  virtual double mean_nodes() const { return 0; }
  virtual std::size_t refused_steps() const { return 0; }
  virtual std::size_t newton_iterations() const { return 0; }
};

}  // namespace shoal::reaction_diffusion
