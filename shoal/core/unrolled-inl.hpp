// Loops over constants in vector code. Compiled once for each instruction set.
#if defined(SHOAL_CORE_UNROLLED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CORE_UNROLLED_INL
#undef SHOAL_CORE_UNROLLED_INL
#else
#define SHOAL_CORE_UNROLLED_INL
#endif

#include <cstddef>
#include <utility>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {

// Calls f(0), f(1), … f(Count − 1) with constants, so that arrays of vectors can live in registers.
template <std::size_t Count, class F>
HWY_INLINE void unrolled(const F& f) {
  // Always inlined: what a call would be given by reference could not live in registers.
  [&]<std::size_t... i>(std::index_sequence<i...>) HWY_ATTR __attribute__((always_inline)) {
    (f(std::integral_constant<std::size_t, i>()), ...);
  }
  (std::make_index_sequence<Count>());
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();

#endif
