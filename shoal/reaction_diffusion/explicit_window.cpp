// Steps in place, tile by tile: each step of a tile lies one vector to the left of the step before, so that its right
// neighbours have been stepped already; its left neighbours' old values are carried from the tile before.
#include <algorithm>
#include <cstddef>

#include <shoal/core/simd_targets.hpp>
#include <shoal/reaction_diffusion/explicit_window.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/reaction_diffusion/explicit_window.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::reaction_diffusion {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of a tile: v and w of it and of the vectors that it moves over lie in a core's first cache.
constexpr std::size_t tile_vectors = 128;

template <class Scalar>
struct old_vectors {
  hn::Vec<hn::ScalableTag<Scalar>> v, w;
};

// One step of the vectors [first, end); `left` are the old values one node before each, and become those behind the
// end.
template <bool recovery_spreads, class Scalar>
HWY_INLINE void step_vectors(Scalar* HWY_RESTRICT v, Scalar* HWY_RESTRICT w, std::size_t first, std::size_t end,
                             const explicit_coefficients<Scalar>& by, old_vectors<Scalar>& left) {
  const hn::ScalableTag<Scalar> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto step = hn::Set(d, by.step), rest = hn::Set(d, by.rest), quadratic = hn::Set(d, by.quadratic),
             spread = hn::Set(d, by.spread), decay = hn::Set(d, by.decay), gain = hn::Set(d, by.gain),
             recovery_spread = hn::Set(d, by.recovery_spread);
  auto left_v = left.v, left_w = left.w;
  for (std::size_t at = first * lanes; at < end * lanes; at += lanes) {
    const auto old_v = hn::Load(d, v + at), old_w = hn::Load(d, w + at);
    const auto sides = hn::Add(left_v, hn::LoadU(d, v + at + 1));
    left_v = hn::LoadU(d, v + at + lanes - 1);
    const auto slope = hn::MulAdd(old_v, hn::NegMulAdd(step, old_v, quadratic), rest);
    const auto flow = hn::NegMulAdd(step, old_w, hn::Mul(spread, sides));
    hn::Store(hn::MulAdd(slope, old_v, flow), d, v + at);
    auto new_w = hn::MulAdd(decay, old_w, hn::Mul(gain, old_v));
    if constexpr (recovery_spreads) {
      new_w = hn::MulAdd(recovery_spread, hn::Add(left_w, hn::LoadU(d, w + at + 1)), new_w);
      left_w = hn::LoadU(d, w + at + lanes - 1);
    }
    hn::Store(new_w, d, w + at);
  }
  left.v = left_v;
  left.w = left_w;
}

template <bool recovery_spreads, class Scalar>
void step_tiles(const window<Scalar>& nodes, const explicit_coefficients<Scalar>& by, std::size_t steps,
                Scalar* HWY_RESTRICT carried) {
  const hn::ScalableTag<Scalar> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t vectors = (nodes.nodes + lanes - 1) / lanes;
  Scalar* v = nodes.v;
  Scalar* w = nodes.w;
  // What is left of a tile's place after `step` steps. A tile that would leave the last vector alone takes it too: the
  // mirror of the last node may stand in the one before.
  const auto bound = [&](std::size_t tile, std::size_t step) {
    const std::size_t place = tile * tile_vectors;
    const std::size_t moved = place > step ? place - step : 0;
    if (moved == 0) return moved;
    return moved + 1 >= vectors ? vectors : moved;
  };
  for (std::size_t tile = 0; bound(tile, steps - 1) < vectors; ++tile) {
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t first = bound(tile, step), end = bound(tile + 1, step);
      if (first >= end) continue;
      old_vectors<Scalar> left;
      if (first == 0) {
        if (nodes.left == window_end::mirror) {
          v[-1] = v[1];
          w[-1] = w[1];
        }
        left = {hn::LoadU(d, v - 1), hn::LoadU(d, w - 1)};
      } else {
        left = {hn::Load(d, carried + 2 * step * window_margin), hn::Load(d, carried + (2 * step + 1) * window_margin)};
      }
      if (end == vectors) {
        if (nodes.right == window_end::input) v[nodes.nodes - 1] = nodes.input[step];
        if (nodes.right != window_end::open) {
          v[nodes.nodes] = v[nodes.nodes - 2];
          w[nodes.nodes] = w[nodes.nodes - 2];
        }
      }
      step_vectors<recovery_spreads>(v, w, first, end, by, left);
      hn::Store(left.v, d, carried + 2 * step * window_margin);
      hn::Store(left.w, d, carried + (2 * step + 1) * window_margin);
    }
  }
  if (nodes.right == window_end::input) v[nodes.nodes - 1] = nodes.input[steps];
}

template <class Scalar>
void step_window_target(const window<Scalar>& nodes, const explicit_coefficients<Scalar>& by, std::size_t steps,
                        Scalar* carried) {
  if (by.recovery_spread == 0) {
    step_tiles<false>(nodes, by, steps, carried);
  } else {
    step_tiles<true>(nodes, by, steps, carried);
  }
}

template <class Scalar>
void copy_past_cache_target(const Scalar* HWY_RESTRICT from, std::size_t count, Scalar* HWY_RESTRICT to) {
  const hn::ScalableTag<Scalar> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::Stream(hn::Load(d, from + i), d, to + i);
  std::copy(from + i, from + count, to + i);
  hwy::FlushStream();
}

void step_f64(const window<double>& nodes, const explicit_coefficients<double>& by, std::size_t steps,
              double* carried) {
  step_window_target(nodes, by, steps, carried);
}
void step_f32(const window<float>& nodes, const explicit_coefficients<float>& by, std::size_t steps, float* carried) {
  step_window_target(nodes, by, steps, carried);
}
void copy_f64(const double* from, std::size_t count, double* to) { copy_past_cache_target(from, count, to); }
void copy_f32(const float* from, std::size_t count, float* to) { copy_past_cache_target(from, count, to); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::reaction_diffusion
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::reaction_diffusion {

HWY_EXPORT(step_f64);
HWY_EXPORT(step_f32);
HWY_EXPORT(copy_f64);
HWY_EXPORT(copy_f32);

void step_window(const window<double>& nodes, const explicit_coefficients<double>& by, std::size_t steps,
                 double* carried) {
  HWY_DYNAMIC_DISPATCH(step_f64)(nodes, by, steps, carried);
}

void step_window(const window<float>& nodes, const explicit_coefficients<float>& by, std::size_t steps,
                 float* carried) {
  HWY_DYNAMIC_DISPATCH(step_f32)(nodes, by, steps, carried);
}

void copy_past_cache(const double* from, std::size_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(copy_f64)(from, count, to);
}

void copy_past_cache(const float* from, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(copy_f32)(from, count, to);
}

}  // namespace shoal::reaction_diffusion
#endif
