// Vectors of nodes at a time; the last nodes are taken one by one through the same code.
#include <cstddef>

#include <shoal/core/simd_targets.hpp>
#include <shoal/reaction_diffusion/runge_kutta_stage.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/reaction_diffusion/runge_kutta_stage.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::reaction_diffusion {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// (−u[−2] + 16·u[−1] − 30·u + 16·u[1] − u[2])
template <class D, class Scalar>
HWY_INLINE hn::Vec<D> bend_of(D d, const Scalar* u, std::size_t at) {
  const auto near = hn::Add(hn::LoadU(d, u + at - 1), hn::LoadU(d, u + at + 1));
  const auto far = hn::Add(hn::LoadU(d, u + at - 2), hn::LoadU(d, u + at + 2));
  return hn::NegMulAdd(hn::Set(d, Scalar(30)), hn::LoadU(d, u + at), hn::MulSub(hn::Set(d, Scalar(16)), near, far));
}

template <bool recovery_spreads, class D, class Scalar>
HWY_INLINE void step_nodes(D d, const stage_arrays<Scalar>& nodes, const stage_coefficients<Scalar>& by,
                           std::size_t at) {
  const auto v = hn::LoadU(d, nodes.v + at), w = hn::LoadU(d, nodes.w + at);
  const auto bend = bend_of(d, nodes.v, at);  // 12·Δx²·v_xx
  const auto reaction = hn::MulSub(hn::Mul(v, hn::Sub(hn::Set(d, Scalar(1)), v)), hn::Sub(v, hn::Set(d, by.a)), w);
  const auto rate_v = hn::MulAdd(hn::Set(d, by.weight), bend, reaction);
  auto rate_w = hn::Mul(hn::Set(d, by.epsilon), hn::NegMulAdd(hn::Set(d, by.gamma), w, v));
  if constexpr (recovery_spreads) rate_w = hn::MulAdd(hn::Set(d, by.recovery_weight), bend_of(d, nodes.w, at), rate_w);
  const auto reach = hn::Set(d, by.reach), share = hn::Set(d, by.share);
  hn::StoreU(hn::MulAdd(share, rate_v, hn::LoadU(d, nodes.sum_v + at)), d, nodes.sum_v + at);
  hn::StoreU(hn::MulAdd(share, rate_w, hn::LoadU(d, nodes.sum_w + at)), d, nodes.sum_w + at);
  hn::StoreU(hn::MulAdd(reach, rate_v, hn::LoadU(d, nodes.begin_v + at)), d, nodes.next_v + at);
  hn::StoreU(hn::MulAdd(reach, rate_w, hn::LoadU(d, nodes.begin_w + at)), d, nodes.next_w + at);
}

template <bool recovery_spreads, class Scalar>
void step_stage_nodes(const stage_arrays<Scalar>& nodes, const stage_coefficients<Scalar>& by, std::size_t first,
                      std::size_t end) {
  const hn::ScalableTag<Scalar> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t at = first;
  for (; at + lanes <= end; at += lanes) step_nodes<recovery_spreads>(d, nodes, by, at);
  for (; at < end; ++at) step_nodes<recovery_spreads>(hn::CappedTag<Scalar, 1>(), nodes, by, at);
}

template <class Scalar>
void step_stage_target(const stage_arrays<Scalar>& nodes, const stage_coefficients<Scalar>& by, std::size_t first,
                       std::size_t end) {
  if (by.recovery_weight != 0) return step_stage_nodes<true>(nodes, by, first, end);
  step_stage_nodes<false>(nodes, by, first, end);
}

void stage_f64(const stage_arrays<double>& nodes, const stage_coefficients<double>& by, std::size_t first,
               std::size_t end) {
  step_stage_target(nodes, by, first, end);
}
void stage_f32(const stage_arrays<float>& nodes, const stage_coefficients<float>& by, std::size_t first,
               std::size_t end) {
  step_stage_target(nodes, by, first, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::reaction_diffusion
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::reaction_diffusion {

HWY_EXPORT(stage_f64);
HWY_EXPORT(stage_f32);

void step_stage(const stage_arrays<double>& nodes, const stage_coefficients<double>& by, std::size_t first,
                std::size_t end) {
  HWY_DYNAMIC_DISPATCH(stage_f64)(nodes, by, first, end);
}

void step_stage(const stage_arrays<float>& nodes, const stage_coefficients<float>& by, std::size_t first,
                std::size_t end) {
  HWY_DYNAMIC_DISPATCH(stage_f32)(nodes, by, first, end);
}

}  // namespace shoal::reaction_diffusion
#endif
