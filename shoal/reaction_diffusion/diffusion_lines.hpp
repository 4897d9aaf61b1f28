// Implicit diffusion along the lines of a grid, all with one matrix.
#pragma once

#include <cstddef>
#include <vector>

namespace shoal::reaction_diffusion {

/// What stands at the ends of a line.
enum class line_ends {
  mirror,  ///< a wall without flux: a ghost node mirrors the neighbour
  open,    ///< nothing: the first and the last node have one neighbour
  around,  ///< the last node's neighbour is the first
};

/// (I − weight·L)⁻¹ for the second difference L on a line of `nodes` ≥ 2 (3 around), eliminated once for all lines.
template <class Scalar>
class diffusion_lines {
 public:
  diffusion_lines(std::size_t nodes, line_ends ends) : nodes_(nodes), ends_(ends) {}

  /// Eliminates for another weight ≥ 0, unless it is the last one's.
  void prepare(double weight);

  /// u ← (I − weight·L)⁻¹·u on `lines` lines side by side: node i of line k is u[i · stride + k].
  void solve(Scalar* u, std::size_t lines, std::size_t stride) const;

  std::size_t nodes() const { return nodes_; }

 private:
  std::size_t nodes_;
  line_ends ends_;
  double weight_ = -1;
  std::vector<Scalar> lower_, inverse_,
      upper_;                       // of the rows below the diagonal, 1 / pivots, and above over the pivots
  std::vector<Scalar> correction_;  // around: the solution for what the corners add
  Scalar corner_share_ = 0, corner_scale_ = 0;
};

}  // namespace shoal::reaction_diffusion
