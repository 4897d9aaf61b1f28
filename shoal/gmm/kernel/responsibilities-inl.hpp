// From ‖y‖² to responsibilities: a log-sum-exp over the components of each row.
#if defined(SHOAL_GMM_KERNEL_RESPONSIBILITIES) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_RESPONSIBILITIES
#undef SHOAL_GMM_KERNEL_RESPONSIBILITIES
#else
#define SHOAL_GMM_KERNEL_RESPONSIBILITIES
#endif

#include <cstddef>
#include <limits>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <shoal/gmm/kernel/exponential-inl.hpp>
#include <shoal/gmm/kernel/memory.hpp>
#include <shoal/gmm/kernel/panel-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// For rows [first, last) (multiples of the vector length) turns ‖y‖² in memory.terms into exp(ln p − greatest), zero
// where that is below exp(−cut), and fills greatest, best_norm, sum, log_sum and scale.
template <class T>
void normalise(const T* HWY_RESTRICT log_constants, std::size_t components, std::size_t first, std::size_t last, T cut,
               block_memory<T>& memory) {
  const hn::ScalableTag<T> d;
  const auto minus_half = hn::Set(d, static_cast<T>(-0.5));
  const auto least = hn::Set(d, -cut);
  for (std::size_t r = first; r < last; r += hn::Lanes(d)) {
    T* HWY_RESTRICT const terms = memory.terms.data() + r;
    auto greatest = hn::Set(d, -std::numeric_limits<T>::infinity());
    auto best = hn::Set(d, std::numeric_limits<T>::infinity());
    for (std::size_t k = 0; k < components; ++k) {
      const auto norm = hn::Load(d, terms + k * panel_stride);
      const auto log_p = hn::MulAdd(norm, minus_half, hn::Set(d, log_constants[k]));
      // A comparison, not a maximum: it leaves out a ‖y‖² that overflowed to NaN.
      const auto better = hn::Gt(log_p, greatest);
      greatest = hn::IfThenElse(better, log_p, greatest);
      best = hn::IfThenElse(better, norm, best);
    }
    auto sum = hn::Zero(d);
    for (std::size_t k = 0; k < components; ++k) {
      const auto norm = hn::Load(d, terms + k * panel_stride);
      const auto ratio = hn::Sub(hn::MulAdd(norm, minus_half, hn::Set(d, log_constants[k])), greatest);
      // Clamped, because the exponentials of what is dropped anyway would be denormal, which is slow.
      const auto term = hn::IfThenElseZero(hn::Ge(ratio, least), exponential(d, hn::Max(ratio, least)));
      hn::Store(term, d, terms + k * panel_stride);
      sum = hn::Add(sum, term);
    }
    hn::Store(greatest, d, memory.greatest.data() + r);
    hn::Store(best, d, memory.best_norm.data() + r);
    hn::Store(sum, d, memory.sum.data() + r);
    hn::Store(hn::Log(d, sum), d, memory.log_sum.data() + r);
    hn::Store(hn::Div(hn::Load(d, memory.weights.data() + r), sum), d, memory.scale.data() + r);
  }
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
