// exp(x) for x that are not above zero and not so low that the result is denormal: what responsibilities are made of.
#if defined(SHOAL_GMM_KERNEL_EXPONENTIAL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_EXPONENTIAL
#undef SHOAL_GMM_KERNEL_EXPONENTIAL
#else
#define SHOAL_GMM_KERNEL_EXPONENTIAL
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// In float32 for x in [−87, 0] and within a unit in the last place, in half the instructions of Highway's, which serves
// every x: x = n ln 2 + r, eʳ by the polynomial of degree 6 whose greatest relative error on |r| ≤ ln 2 / 2 is least
// (1.9e-9, found by Remez' exchange), and n onto its exponent. ln 2 is cut in two so that n times its first part is
// exact (Cody and Waite 1980).
template <class D>
HWY_INLINE hn::Vec<D> exponential(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::RebindToSigned<D> di;
    // Adding 1.5 · 2²³ rounds to a whole number and leaves it in the lowest bits.
    const auto shift = hn::Set(d, 12582912.0F);
    const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), shift);
    const auto n = hn::Sub(shifted, shift);
    const auto r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x));
    auto power = hn::MulAdd(hn::Set(d, 0.00138382055F), r, hn::Set(d, 0.00837495551F));
    power = hn::MulAdd(power, r, hn::Set(d, 0.0416682065F));
    power = hn::MulAdd(power, r, hn::Set(d, 0.166664183F));
    power = hn::MulAdd(power, r, hn::Set(d, 0.499999911F));
    power = hn::MulAdd(power, r, hn::Set(d, 1.0F));
    power = hn::MulAdd(power, r, hn::Set(d, 1.0F));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, power), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  } else {
    return hn::Exp(d, x);
  }
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
