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

template <class D, class Scalar>
HWY_INLINE void step_nodes(D d, const stage_arrays<Scalar>& nodes, const stage_coefficients<Scalar>& by,
                           std::size_t at) {
  const auto v = hn::LoadU(d, nodes.v + at), w = hn::LoadU(d, nodes.w + at);
  // v_xx ≈ (−v[−2] + 16·v[−1] − 30·v + 16·v[1] − v[2]) / (12·Δx²)
  const auto near = hn::Add(hn::LoadU(d, nodes.v + at - 1), hn::LoadU(d, nodes.v + at + 1));
  const auto far = hn::Add(hn::LoadU(d, nodes.v + at - 2), hn::LoadU(d, nodes.v + at + 2));
  const auto bend = hn::NegMulAdd(hn::Set(d, Scalar(30)), v, hn::MulSub(hn::Set(d, Scalar(16)), near, far));
  const auto reaction = hn::MulSub(hn::Mul(v, hn::Sub(hn::Set(d, Scalar(1)), v)), hn::Sub(v, hn::Set(d, by.a)), w);
  const auto rate_v = hn::MulAdd(hn::Set(d, by.weight), bend, reaction);
  const auto rate_w = hn::Mul(hn::Set(d, by.epsilon), hn::NegMulAdd(hn::Set(d, by.gamma), w, v));
  const auto reach = hn::Set(d, by.reach), share = hn::Set(d, by.share);
  hn::StoreU(hn::MulAdd(share, rate_v, hn::LoadU(d, nodes.sum_v + at)), d, nodes.sum_v + at);
  hn::StoreU(hn::MulAdd(share, rate_w, hn::LoadU(d, nodes.sum_w + at)), d, nodes.sum_w + at);
  hn::StoreU(hn::MulAdd(reach, rate_v, hn::LoadU(d, nodes.begin_v + at)), d, nodes.next_v + at);
  hn::StoreU(hn::MulAdd(reach, rate_w, hn::LoadU(d, nodes.begin_w + at)), d, nodes.next_w + at);
}

template <class Scalar>
void step_stage_target(const stage_arrays<Scalar>& nodes, const stage_coefficients<Scalar>& by, std::size_t first,
                       std::size_t end) {
  const hn::ScalableTag<Scalar> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t at = first;
  for (; at + lanes <= end; at += lanes) step_nodes(d, nodes, by, at);
  for (; at < end; ++at) step_nodes(hn::CappedTag<Scalar, 1>(), nodes, by, at);
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
