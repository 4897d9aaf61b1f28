// Vectors of nodes at a time; the last nodes are taken one by one through the same code.
#include <cstddef>

#include <shoal/core/simd_targets.hpp>
#include <shoal/reaction_diffusion/plane_row.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/reaction_diffusion/plane_row.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::reaction_diffusion {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class Scalar>
HWY_INLINE hn::Vec<D> neighbours(D d, const Scalar* above, const Scalar* row, const Scalar* below, std::size_t at) {
  return hn::Add(hn::Add(hn::LoadU(d, row + at - 1), hn::LoadU(d, row + at + 1)),
                 hn::Add(hn::LoadU(d, above + at), hn::LoadU(d, below + at)));
}

template <bool recovery_spreads, class D, class Scalar>
HWY_INLINE void step_nodes(D d, const plane_row<Scalar>& row, const explicit_coefficients<Scalar>& by, std::size_t at) {
  const auto v = hn::LoadU(d, row.v + at), w = hn::LoadU(d, row.w + at);
  const auto step = hn::Set(d, by.step);
  const auto sides = neighbours(d, row.above_v, row.v, row.below_v, at);
  const auto slope = hn::MulAdd(v, hn::NegMulAdd(step, v, hn::Set(d, by.quadratic)), hn::Set(d, by.rest));
  const auto flow = hn::NegMulAdd(step, w, hn::Mul(hn::Set(d, by.spread), sides));
  hn::StoreU(hn::MulAdd(slope, v, flow), d, row.new_v + at);
  auto new_w = hn::MulAdd(hn::Set(d, by.decay), w, hn::Mul(hn::Set(d, by.gain), v));
  if constexpr (recovery_spreads) {
    new_w = hn::MulAdd(hn::Set(d, by.recovery_spread), neighbours(d, row.above_w, row.w, row.below_w, at), new_w);
  }
  hn::StoreU(new_w, d, row.new_w + at);
}

template <bool recovery_spreads, class Scalar>
void step_row(const plane_row<Scalar>& row, const explicit_coefficients<Scalar>& by, std::size_t first,
              std::size_t end) {
  const hn::ScalableTag<Scalar> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t at = first;
  for (; at + lanes <= end; at += lanes) step_nodes<recovery_spreads>(d, row, by, at);
  for (; at < end; ++at) step_nodes<recovery_spreads>(hn::CappedTag<Scalar, 1>(), row, by, at);
}

void row_f64(const plane_row<double>& row, const explicit_coefficients<double>& by, std::size_t first,
             std::size_t end) {
  by.recovery_spread == 0 ? step_row<false>(row, by, first, end) : step_row<true>(row, by, first, end);
}
void row_f32(const plane_row<float>& row, const explicit_coefficients<float>& by, std::size_t first, std::size_t end) {
  by.recovery_spread == 0 ? step_row<false>(row, by, first, end) : step_row<true>(row, by, first, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::reaction_diffusion
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::reaction_diffusion {

HWY_EXPORT(row_f64);
HWY_EXPORT(row_f32);

void step_plane_row(const plane_row<double>& row, const explicit_coefficients<double>& by, std::size_t first,
                    std::size_t end) {
  HWY_DYNAMIC_DISPATCH(row_f64)(row, by, first, end);
}

void step_plane_row(const plane_row<float>& row, const explicit_coefficients<float>& by, std::size_t first,
                    std::size_t end) {
  HWY_DYNAMIC_DISPATCH(row_f32)(row, by, first, end);
}

}  // namespace shoal::reaction_diffusion
#endif
