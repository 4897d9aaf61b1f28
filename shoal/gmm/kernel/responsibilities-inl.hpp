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

// What one vector of rows knows of its components.
template <class D>
struct row_terms {
  hn::Vec<D> greatest;  // of ln p so far
  hn::Vec<D> best;      // ‖y‖² of that component
  hn::Vec<D> sum;       // of exp(ln p − greatest)

  HWY_INLINE explicit row_terms(D d)
      : greatest(hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::infinity())),
        best(hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity())),
        sum(hn::Zero(d)) {}
  HWY_INLINE void consider(D d, hn::Vec<D> norm, hn::Vec<D> log_constant) {
    const auto log_p = hn::MulAdd(norm, hn::Set(d, static_cast<hn::TFromD<D>>(-0.5)), log_constant);
    // A comparison, not a maximum: it leaves out a ‖y‖² that overflowed to NaN.
    const auto better = hn::Gt(log_p, greatest);
    greatest = hn::IfThenElse(better, log_p, greatest);
    best = hn::IfThenElse(better, norm, best);
  }
  HWY_INLINE void add(D d, hn::Vec<D> log_constant, hn::Vec<D> least, hn::TFromD<D>* HWY_RESTRICT term_of) {
    const auto norm = hn::Load(d, term_of);
    const auto log_p = hn::MulAdd(norm, hn::Set(d, static_cast<hn::TFromD<D>>(-0.5)), log_constant);
    const auto ratio = hn::Sub(log_p, greatest);
    // Clamped, because the exponentials of what is dropped anyway would be denormal, which is slow.
    const auto term = hn::IfThenElseZero(hn::Ge(ratio, least), exponential(d, hn::Max(ratio, least)));
    hn::Store(term, d, term_of);
    sum = hn::Add(sum, term);
  }
  template <class T>
  HWY_INLINE void store(D d, std::size_t r, block_memory<T>& memory) const {
    hn::Store(greatest, d, memory.greatest.data() + r);
    hn::Store(best, d, memory.best_norm.data() + r);
    hn::Store(sum, d, memory.sum.data() + r);
    hn::Store(hn::Log(d, sum), d, memory.log_sum.data() + r);
    const auto weight = hn::Load(d, memory.weights.data() + r);
    // A row that weighs nothing may have a density of zero.
    const auto scale = hn::IfThenElseZero(hn::Gt(weight, hn::Zero(d)), hn::Div(weight, sum));
    hn::Store(scale, d, memory.scale.data() + r);
  }
};

// For rows [first, last) (multiples of the vector length) turns ‖y‖² in memory.terms into exp(ln p − greatest), zero
// where that is below exp(−cut), and fills greatest, best_norm, sum, log_sum and scale. Four vectors side by side,
// because each waits for its last comparison.
template <class T>
void normalise(const T* HWY_RESTRICT log_constants, std::size_t components, std::size_t first, std::size_t last, T cut,
               block_memory<T>& memory) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto least = hn::Set(d, -cut);
  std::size_t r = first;
  for (; r + 4 * lanes <= last; r += 4 * lanes) {
    row_terms a(d), b(d), c(d), e(d);
    T* HWY_RESTRICT terms = memory.terms.data() + r;
    for (std::size_t k = 0; k < components; ++k, terms += panel_stride) {
      const auto constant = hn::Set(d, log_constants[k]);
      a.consider(d, hn::Load(d, terms), constant), b.consider(d, hn::Load(d, terms + lanes), constant);
      c.consider(d, hn::Load(d, terms + 2 * lanes), constant), e.consider(d, hn::Load(d, terms + 3 * lanes), constant);
    }
    terms = memory.terms.data() + r;
    for (std::size_t k = 0; k < components; ++k, terms += panel_stride) {
      const auto constant = hn::Set(d, log_constants[k]);
      a.add(d, constant, least, terms), b.add(d, constant, least, terms + lanes);
      c.add(d, constant, least, terms + 2 * lanes), e.add(d, constant, least, terms + 3 * lanes);
    }
    a.store(d, r, memory), b.store(d, r + lanes, memory);
    c.store(d, r + 2 * lanes, memory), e.store(d, r + 3 * lanes, memory);
  }
  for (; r < last; r += lanes) {
    row_terms a(d);
    T* HWY_RESTRICT const terms = memory.terms.data() + r;
    for (std::size_t k = 0; k < components; ++k) {
      a.consider(d, hn::Load(d, terms + k * panel_stride), hn::Set(d, log_constants[k]));
    }
    for (std::size_t k = 0; k < components; ++k) {
      a.add(d, hn::Set(d, log_constants[k]), least, terms + k * panel_stride);
    }
    a.store(d, r, memory);
  }
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
