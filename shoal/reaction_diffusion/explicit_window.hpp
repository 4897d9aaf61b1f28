// Several explicit steps on a window of an axon that lies in cache.
#pragma once

#include <cstddef>

namespace shoal::reaction_diffusion {

/// Coefficients of one step, in the scalar of the nodes:
/// v⁺ = v·(rest + v·(quadratic − step·v)) + spread·(left + right) − step·w and w⁺ = decay·w + gain·v + …, the same for
/// w.
template <class Scalar>
struct explicit_coefficients {
  Scalar step, rest, quadratic, spread, decay, gain, recovery_spread;
};

/// What stands at an end of a window.
enum class window_end {
  open,    ///< more nodes, whose values are not known: those of the window go wrong, one more node in each step
  mirror,  ///< a wall without flux
  input,   ///< v is prescribed
};

/// `nodes` values of v and w, and before and behind them room for `window_margin` each, which is overwritten. Both are
/// aligned to a cache line.
template <class Scalar>
struct window {
  Scalar* v;
  Scalar* w;
  std::size_t nodes;
  window_end left, right;
  const Scalar* input;  ///< [steps + 1] v at an end with input, at the beginning of each step and at the end
};

/// A cache line of floats: no vector is longer.
inline constexpr std::size_t window_margin = 16;

/// Takes `steps` steps. `carried` holds 2 · steps · window_margin values. Each node's bits are those of any other
/// window and of one step at a time.
void step_window(const window<double>& nodes, const explicit_coefficients<double>& by, std::size_t steps,
                 double* carried);
void step_window(const window<float>& nodes, const explicit_coefficients<float>& by, std::size_t steps, float* carried);

/// Copies to memory that is not read again soon; both are aligned to a cache line.
void copy_past_cache(const double* from, std::size_t count, double* to);
void copy_past_cache(const float* from, std::size_t count, float* to);

}  // namespace shoal::reaction_diffusion
