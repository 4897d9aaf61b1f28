// Implicit diffusion along the lines of a grid, all with one matrix or each with its own.
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

/// (I − weight·L)⁻¹ for the second difference L on a line of `nodes` ≥ 2 (3 around), eliminated once for all lines; or
/// for (L·u)ᵢ = D_{i+½}·(u_{i+1} − u_i) − D_{i−½}·(u_i − u_{i−1}), where D of each line differs from node to node.
template <class Scalar>
class diffusion_lines {
 public:
  diffusion_lines(std::size_t nodes, line_ends ends) : nodes_(nodes), ends_(ends) {}
  /// `count` lines: D of node i of line k is field[i · node_stride + k · line_stride], and between two nodes the mean.
  diffusion_lines(std::size_t nodes, line_ends ends, std::size_t count, const std::vector<double>& field,
                  std::size_t node_stride, std::size_t line_stride);

  /// Eliminates for another weight ≥ 0, unless it is the last one's.
  void prepare(double weight);

  /// u ← (I − weight·L)⁻¹·u on the lines [first, first + lines) side by side: node i of line first + k is
  /// u[i · stride + k].
  void solve(Scalar* u, std::size_t first, std::size_t lines, std::size_t stride) const;

  std::size_t nodes() const { return nodes_; }

  /// What prepare() found, [nodes] where all lines have one matrix: below the diagonal, 1 / pivots, above over the
  /// pivots, and around what the corners add (else empty) with its two factors.
  const std::vector<Scalar>& lower() const { return lower_; }
  const std::vector<Scalar>& inverse() const { return inverse_; }
  const std::vector<Scalar>& upper() const { return upper_; }
  const std::vector<Scalar>& correction() const { return correction_; }
  Scalar corner_share() const { return corner_share_.empty() ? Scalar(0) : corner_share_[0]; }
  Scalar corner_scale() const { return corner_scale_.empty() ? Scalar(0) : corner_scale_[0]; }

 private:
  void eliminate(std::size_t line, double weight);
  template <class At>
  void solve(Scalar* u, std::size_t lines, std::size_t stride, const At& at) const;

  std::size_t nodes_;
  line_ends ends_;
  std::size_t matrices_ = 1;
  std::vector<double> between_;  // D of node i and the next, [nodes][matrices]; empty: 1
  double weight_ = -1;
  // [nodes][matrices]: of the rows below the diagonal, 1 / pivots, and above over the pivots
  std::vector<Scalar> lower_, inverse_, upper_;
  std::vector<Scalar> correction_;  // around: the solution for what the corners add
  std::vector<Scalar> corner_share_, corner_scale_;
};

}  // namespace shoal::reaction_diffusion
