#include <shoal/reaction_diffusion/implicit_stage.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/implicit_rows.hpp>
#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t most_iterations = 40;
constexpr std::size_t range_nodes = std::size_t{1} << 14;  // of one thread at a time

}  // namespace

template <class Scalar>
implicit_stage<Scalar>::implicit_stage(const problem& wave, executor& executor)
    : wave_(wave),
      executor_(executor),
      nodes_(wave.grid.columns),
      weight_(wave.parameters.diffusion / (wave.grid.spacing * wave.grid.spacing)) {
  for (aligned_buffer<Scalar>* part : {&lower_, &diagonal_, &upper_, &residual_}) part->grow(nodes_);
  zero_.grow(nodes_);
  std::fill_n(zero_.data(), nodes_, Scalar(0));
  if (wave.boundary == boundary::periodic) {
    around_.grow(nodes_);
    correction_.grow(nodes_);
  }
}

template <class Scalar>
void implicit_stage<Scalar>::for_each_range(const std::function<void(std::size_t, std::size_t)>& work) {
  executor_.run((nodes_ + range_nodes - 1) / range_nodes, 1, [&](std::size_t range, const team_member&) {
    work(range * range_nodes, std::min(nodes_, (range + 1) * range_nodes));
  });
}

template <class Scalar>
void implicit_stage<Scalar>::assemble(const stage<Scalar>& asked, const Scalar* v) {
  const std::size_t last = nodes_ - 1;
  if (filled_for_ != asked.kappa) {
    filled_for_ = asked.kappa;
    const auto beside = static_cast<Scalar>(-asked.kappa * weight_);
    std::fill_n(lower_.data(), nodes_, beside);
    std::fill_n(upper_.data(), nodes_, beside);
    if (wave_.boundary != boundary::periodic) {
      upper_[0] *= 2;
      lower_[last] *= 2;
    }
    if (wave_.has_input()) lower_[last] = 0;
  }
  fill_rows(asked, v);
}

template <class Scalar>
void implicit_stage<Scalar>::fill_rows(const stage<Scalar>& asked, const Scalar* v) {
  const row_coefficients<Scalar> by{static_cast<Scalar>(wave_.parameters.a), static_cast<Scalar>(weight_),
                                    static_cast<Scalar>(asked.kappa),
                                    static_cast<Scalar>(1 + asked.kappa * asked.beta)};
  const std::size_t last = nodes_ - 1;
  for_each_range([&](std::size_t first, std::size_t end) {
    assemble_rows(by, v, asked.right, std::max<std::size_t>(first, 1), std::min(end, last), residual_.data(),
                  diagonal_.data());
  });
  // The ends, through the same code on three nodes.
  const bool around = wave_.boundary == boundary::periodic;
  const auto at_end = [&](std::size_t node, Scalar before, Scalar behind) {
    const Scalar three[3] = {before, v[node], behind}, right[3] = {0, asked.right[node], 0};
    Scalar residual[3], diagonal[3];
    assemble_rows(by, three, right, 1, 2, residual, diagonal);
    residual_[node] = residual[1];
    diagonal_[node] = diagonal[1];
  };
  at_end(0, around ? v[last] : v[1], v[1]);
  at_end(last, v[last - 1], around ? v[0] : v[last - 1]);
  if (wave_.has_input()) {
    residual_[last] = static_cast<Scalar>(asked.input) - v[last];
    diagonal_[last] = 1;
  }
}

template <class Scalar>
std::size_t implicit_stage<Scalar>::solve(const stage<Scalar>& asked, Scalar* v) {
  // Newton's next error is at most κ·max|f''| / 2 ≤ 3κ times the square of this change while v lies near [0, 1].
  const double squared = 3 * asked.kappa;
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t iteration = 1; iteration <= most_iterations; ++iteration) {
    assemble(asked, v);
    solve_linear();
    const double change = static_cast<double>(add_change(residual_.data(), nodes_, v));
    if (!std::isfinite(change)) break;
    if (change <= asked.accuracy || squared * change * change <= asked.accuracy) return iteration;
    // What is left is rounding when a small change no longer shrinks.
    if (change >= before && change <= 1e3 * static_cast<double>(std::numeric_limits<Scalar>::epsilon())) {
      return iteration;
    }
    before = change;
  }
  throw numerical_error(fmt::format("Newton's method did not converge in {} iterations at time {}; give a shorter step",
                                    most_iterations, asked.time));
}

template <class Scalar>
void implicit_stage<Scalar>::solve_linear() {
  if (wave_.boundary == boundary::periodic) return solve_linear_around();
  tridiagonal::solve<Scalar>({lower_.data(), diagonal_.data(), upper_.data(), residual_.data(), nodes_},
                             residual_.data(), tridiagonal::method::partition, executor_);
}

// The corners that a periodic axon adds to the matrix are a product of two vectors (Sherman & Morrison 1950).
template <class Scalar>
void implicit_stage<Scalar>::solve_linear_around() {
  const std::size_t last = nodes_ - 1;
  const Scalar corner = lower_[0], factor = -diagonal_[0];
  std::copy_n(diagonal_.data(), nodes_, around_.data());
  around_[0] -= factor;
  around_[last] -= corner * corner / factor;
  std::fill_n(correction_.data(), nodes_, Scalar(0));
  correction_[0] = factor;
  correction_[last] = corner;
  for (Scalar* right : {residual_.data(), correction_.data()}) {
    tridiagonal::solve<Scalar>({lower_.data(), around_.data(), upper_.data(), right, nodes_}, right,
                               tridiagonal::method::partition, executor_);
  }
  const Scalar share = corner / factor;
  const Scalar by = (residual_[0] + share * residual_[last]) / (1 + correction_[0] + share * correction_[last]);
  for (std::size_t i = 0; i < nodes_; ++i) residual_[i] -= by * correction_[i];
}

template <class Scalar>
void implicit_stage<Scalar>::rate(const Scalar* v, const Scalar* w, Scalar* rate) {
  // The residual of a stage with κ = 1 whose own term is zero.
  fill_rows({1, -1, zero_.data(), 0, 0, 0}, v);
  if (wave_.has_input()) residual_[nodes_ - 1] = w[nodes_ - 1];  // prescribed: it has no rate
  for_each_range([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) rate[i] = residual_[i] - w[i];
  });
}

template <class Scalar>
void implicit_stage<Scalar>::damp(Scalar* error) {
  std::copy_n(error, nodes_, residual_.data());
  solve_linear();
  std::copy_n(residual_.data(), nodes_, error);
}

template class implicit_stage<double>;
template class implicit_stage<float>;

}  // namespace shoal::reaction_diffusion
