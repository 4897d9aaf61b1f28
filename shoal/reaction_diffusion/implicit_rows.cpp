// Vectors of nodes at a time; the last nodes are taken one by one through the same code.
#include <cmath>
#include <cstddef>

#include <shoal/core/simd_targets.hpp>
#include <shoal/reaction_diffusion/implicit_rows.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/reaction_diffusion/implicit_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::reaction_diffusion {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class Scalar>
HWY_INLINE void assemble(D d, const row_coefficients<Scalar>& by, const Scalar* HWY_RESTRICT v,
                         const Scalar* HWY_RESTRICT right, std::size_t at, Scalar* HWY_RESTRICT residual,
                         Scalar* HWY_RESTRICT diagonal) {
  const auto one = hn::Set(d, Scalar(1)), a = hn::Set(d, by.a), kappa = hn::Set(d, by.kappa), own = hn::Set(d, by.own);
  const auto here = hn::LoadU(d, v + at);
  const auto sides = hn::Add(hn::LoadU(d, v + at - 1), hn::LoadU(d, v + at + 1));
  const auto bend = hn::Sub(sides, hn::Add(here, here));
  const auto reaction = hn::Mul(hn::Mul(here, hn::Sub(one, here)), hn::Sub(here, a));
  const auto rate = hn::MulAdd(hn::Set(d, by.weight), bend, reaction);
  hn::StoreU(hn::MulAdd(kappa, rate, hn::NegMulAdd(own, here, hn::LoadU(d, right + at))), d, residual + at);
  // f' = −3v² + 2(1 + a)v − a
  const auto steep = hn::Set(d, 2 * (1 + by.a));
  const auto derivative = hn::Sub(hn::Mul(here, hn::NegMulAdd(hn::Set(d, Scalar(3)), here, steep)), a);
  const auto still = hn::Set(d, by.own + 2 * by.kappa * by.weight);
  hn::StoreU(hn::NegMulAdd(kappa, derivative, still), d, diagonal + at);
}

template <class Scalar>
void assemble_rows_target(const row_coefficients<Scalar>& by, const Scalar* v, const Scalar* right, std::size_t first,
                          std::size_t end, Scalar* residual, Scalar* diagonal) {
  const hn::ScalableTag<Scalar> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t at = first;
  for (; at + lanes <= end; at += lanes) assemble(d, by, v, right, at, residual, diagonal);
  for (; at < end; ++at) assemble(hn::CappedTag<Scalar, 1>(), by, v, right, at, residual, diagonal);
}

template <class Scalar>
Scalar add_change_target(const Scalar* HWY_RESTRICT change, std::size_t count, Scalar* HWY_RESTRICT v) {
  const hn::ScalableTag<Scalar> d;
  const std::size_t lanes = hn::Lanes(d);
  auto largest = hn::Zero(d), sum = hn::Zero(d);  // the sum alone keeps a not-a-number
  std::size_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    const auto by = hn::LoadU(d, change + at);
    largest = hn::Max(largest, hn::Abs(by));
    sum = hn::Add(sum, by);
    hn::StoreU(hn::Add(hn::LoadU(d, v + at), by), d, v + at);
  }
  Scalar found = hn::GetLane(hn::MaxOfLanes(d, largest));
  Scalar whole = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; at < count; ++at) {
    v[at] += change[at];
    whole += change[at];
    if (std::abs(change[at]) > found) found = std::abs(change[at]);
  }
  return std::isfinite(whole) ? found : whole - whole;
}

void assemble_f64(const row_coefficients<double>& by, const double* v, const double* right, std::size_t first,
                  std::size_t end, double* residual, double* diagonal) {
  assemble_rows_target(by, v, right, first, end, residual, diagonal);
}
void assemble_f32(const row_coefficients<float>& by, const float* v, const float* right, std::size_t first,
                  std::size_t end, float* residual, float* diagonal) {
  assemble_rows_target(by, v, right, first, end, residual, diagonal);
}
double add_f64(const double* change, std::size_t count, double* v) { return add_change_target(change, count, v); }
float add_f32(const float* change, std::size_t count, float* v) { return add_change_target(change, count, v); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::reaction_diffusion
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::reaction_diffusion {

HWY_EXPORT(assemble_f64);
HWY_EXPORT(assemble_f32);
HWY_EXPORT(add_f64);
HWY_EXPORT(add_f32);

void assemble_rows(const row_coefficients<double>& by, const double* v, const double* right, std::size_t first,
                   std::size_t end, double* residual, double* diagonal) {
  HWY_DYNAMIC_DISPATCH(assemble_f64)(by, v, right, first, end, residual, diagonal);
}

void assemble_rows(const row_coefficients<float>& by, const float* v, const float* right, std::size_t first,
                   std::size_t end, float* residual, float* diagonal) {
  HWY_DYNAMIC_DISPATCH(assemble_f32)(by, v, right, first, end, residual, diagonal);
}

double add_change(const double* change, std::size_t count, double* v) {
  return HWY_DYNAMIC_DISPATCH(add_f64)(change, count, v);
}

float add_change(const float* change, std::size_t count, float* v) {
  return HWY_DYNAMIC_DISPATCH(add_f32)(change, count, v);
}

}  // namespace shoal::reaction_diffusion
#endif
