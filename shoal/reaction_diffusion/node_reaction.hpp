// The reaction of each node by itself, v_t = f(v) − w and w_t = ε(v − γw), by implicit steps.
#pragma once

#include <cstddef>
#include <numbers>
#include <vector>

#include <shoal/reaction_diffusion/parameters.hpp>

namespace shoal::reaction_diffusion {

/// How a part of a split step is taken.
enum class part_rule {
  backward_euler,  ///< of first order, damps
  trapezoid,       ///< of second order
  tr_bdf2,         ///< of second order, L-stable
};

/// The middle of TR-BDF2 lies at this share of the step, so that both stages have one matrix, and the end is
/// from_middle · middle − from_begin · begin and the rate there.
struct tr_bdf2_weights {
  static constexpr double share = 2 - std::numbers::sqrt2;
  static constexpr double from_middle = 1 / (share * (2 - share));
  static constexpr double from_begin = (1 - share) * (1 - share) / (share * (2 - share));
};

template <class Scalar>
class node_reaction {
 public:
  node_reaction(const problem& wave, double accuracy);

  /// Steps v and w of the nodes [first, end). Returns the iterations of Newton's method, 0 where it did not converge.
  std::size_t step(part_rule rule, double step, std::size_t first, std::size_t end, Scalar* v, Scalar* w) const;

 private:
  std::size_t take(part_rule rule, Scalar step, std::size_t first, std::size_t count, Scalar* v, Scalar* w) const;

  bool varied_;
  Scalar everywhere_a_, everywhere_gamma_, everywhere_epsilon_, accuracy_;
  std::vector<Scalar> a_, gamma_, epsilon_;
};

}  // namespace shoal::reaction_diffusion
