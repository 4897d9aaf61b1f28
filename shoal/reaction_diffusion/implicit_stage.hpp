// One implicit stage on an axon by Newton's method: v − κ·(D·v_xx + f(v) − w) = right with w = α + β·v node by node,
// which leaves a tridiagonal system.
#pragma once

#include <cstddef>
#include <functional>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>

namespace shoal::reaction_diffusion {

/// What one stage asks for.
template <class Scalar>
struct stage {
  double kappa;
  double beta;
  const Scalar* right;  ///< [nodes]; −κ·α was added
  double input;         ///< v at the last node, where there is input
  double accuracy;      ///< what Newton's method may leave of the error
  double time;          ///< for messages
};

/// The stages of one axon, with the memory that they need.
template <class Scalar>
class implicit_stage {
 public:
  implicit_stage(const problem& wave, executor& executor);

  /// Finds v, [nodes], from a guess in its place. Throws numerical_error with the time when the iterations do not
  /// converge. Returns how many there were.
  std::size_t solve(const stage<Scalar>& asked, Scalar* v);

  /// rate ← D·v_xx + f(v) − w.
  void rate(const Scalar* v, const Scalar* w, Scalar* rate);

  /// error ← (I − κ·J)⁻¹·error, with the matrix of the last iteration of solve(), which rate() overwrites.
  void damp(Scalar* error);

  /// The rows of Newton's system at v: residual and matrix, [nodes] each. Tests look at them.
  void assemble(const stage<Scalar>& asked, const Scalar* v);
  const Scalar* lower() const { return lower_.data(); }
  const Scalar* diagonal() const { return diagonal_.data(); }
  const Scalar* upper() const { return upper_.data(); }
  const Scalar* residual() const { return residual_.data(); }

  /// Calls work(first, end) for ranges of nodes on all threads.
  void for_each_range(const std::function<void(std::size_t first, std::size_t end)>& work);

 private:
  void fill_rows(const stage<Scalar>& asked, const Scalar* v);
  void solve_linear();
  void solve_linear_around();

  problem wave_;
  executor& executor_;
  std::size_t nodes_;
  double weight_;          // D / Δx²
  double filled_for_ = 0;  // κ of the off-diagonals
  aligned_buffer<Scalar> lower_, diagonal_, upper_, residual_, around_, correction_, zero_;
};

}  // namespace shoal::reaction_diffusion
