// Norms of wide rows under diagonal covariances: vectors lie along the columns, rows where they are.
#if defined(SHOAL_GMM_KERNEL_WIDE_NORMS) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_WIDE_NORMS
#undef SHOAL_GMM_KERNEL_WIDE_NORMS
#else
#define SHOAL_GMM_KERNEL_WIDE_NORMS
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/highway.h>

#include <shoal/gmm/kernel/expectation-inl.hpp>
#include <shoal/gmm/kernel/moments-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// The largest |x| of a row of at least a vector of columns.
template <class T>
T wide_extent(const T* HWY_RESTRICT row, std::size_t columns) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto even = hn::Zero(d), odd = hn::Zero(d);
  std::size_t j = 0;
  for (; j + 2 * lanes <= columns; j += 2 * lanes) {
    even = hn::Max(even, hn::Abs(hn::LoadU(d, row + j)));
    odd = hn::Max(odd, hn::Abs(hn::LoadU(d, row + j + lanes)));
  }
  if (j + lanes <= columns) even = hn::Max(even, hn::Abs(hn::LoadU(d, row + j)));
  odd = hn::Max(odd, hn::Abs(hn::LoadU(d, row + columns - lanes)));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(even, odd)));
}

// Whether no centre is beyond `most` and no deviation either: then a row near to a component is not far beyond it.
template <class T>
bool lies_within(const component_view<T>& component, T most) {
  const hn::ScalableTag<T> d;
  const auto farthest = hn::Set(d, most), least = hn::Set(d, T{1} / most);
  for (std::size_t j = 0; j < component.columns; j += hn::Lanes(d)) {
    const std::size_t column = std::min(j, component.columns - hn::Lanes(d));
    const auto centre = hn::Le(hn::Abs(hn::LoadU(d, component.centre + column)), farthest);
    if (!hn::AllTrue(d, hn::And(centre, hn::Ge(hn::LoadU(d, component.factor + column), least)))) return false;
  }
  return true;
}

// Keeps GCC from reading a vector from memory again for each of its uses: the loops below would wait for their loads.
template <class V>
HWY_INLINE V in_register(V value) {
#if HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86 && defined(__GNUC__) && !defined(__clang__)
  asm("" : "+v"(value.raw));
#endif
  return value;
}

// One vector of columns of a row onto ‖y‖².
template <class D, class V = hn::Vec<D>>
HWY_INLINE void add_square_of(D, V x, V centre, V inverse, V offset, V& norm) {
  const V y = hn::MulAdd(hn::Sub(x, centre), inverse, offset);
  norm = hn::MulAdd(y, y, norm);
}

// That of each of four rows under one component. The last vector of a row may overlap with `done` columns that
// are done: they get y = 0.
template <bool Overlaps, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void add_squares_of(D d, V x0, V x1, V x2, V x3, const component_view<T>& of, std::size_t column,
                               std::size_t done, V& norm0, V& norm1, V& norm2, V& norm3) {
  const V centre = in_register(hn::LoadU(d, of.centre + column));
  V inverse = in_register(hn::LoadU(d, of.factor + column));
  V offset = in_register(hn::LoadU(d, of.offset + column));
  if constexpr (Overlaps) {
    const auto known = hn::FirstN(d, done);
    inverse = hn::IfThenZeroElse(known, inverse);
    offset = hn::IfThenZeroElse(known, offset);
  }
  add_square_of(d, x0, centre, inverse, offset, norm0);
  add_square_of(d, x1, centre, inverse, offset, norm1);
  add_square_of(d, x2, centre, inverse, offset, norm2);
  add_square_of(d, x3, centre, inverse, offset, norm3);
}

// ‖y‖² of four rows under one component or two. Eight sums hide that each waits for its last addition; the parameters
// of two components stay in the first cache while rows pass by.
template <std::size_t Components, class T>
HWY_NOINLINE void wide_norms(const T* const* rows, component_view<T> a, component_view<T> b, T* HWY_RESTRICT norms_a,
                             T* HWY_RESTRICT norms_b) {
  using D = hn::ScalableTag<T>;
  const D d;
  const std::size_t lanes = hn::Lanes(d), columns = a.columns;
  const T *HWY_RESTRICT const x0 = rows[0], *HWY_RESTRICT const x1 = rows[1];
  const T *HWY_RESTRICT const x2 = rows[2], *HWY_RESTRICT const x3 = rows[3];
  auto a0 = hn::Zero(d), a1 = hn::Zero(d), a2 = hn::Zero(d), a3 = hn::Zero(d);
  auto b0 = hn::Zero(d), b1 = hn::Zero(d), b2 = hn::Zero(d), b3 = hn::Zero(d);
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    const auto u0 = in_register(hn::LoadU(d, x0 + j)), u1 = in_register(hn::LoadU(d, x1 + j));
    const auto u2 = in_register(hn::LoadU(d, x2 + j)), u3 = in_register(hn::LoadU(d, x3 + j));
    add_squares_of<false>(d, u0, u1, u2, u3, a, j, 0, a0, a1, a2, a3);
    if constexpr (Components == 2) add_squares_of<false>(d, u0, u1, u2, u3, b, j, 0, b0, b1, b2, b3);
  }
  if (j < columns) {
    const std::size_t last = columns - lanes, done = j - last;
    const auto u0 = hn::LoadU(d, x0 + last), u1 = hn::LoadU(d, x1 + last);
    const auto u2 = hn::LoadU(d, x2 + last), u3 = hn::LoadU(d, x3 + last);
    add_squares_of<true>(d, u0, u1, u2, u3, a, last, done, a0, a1, a2, a3);
    if constexpr (Components == 2) add_squares_of<true>(d, u0, u1, u2, u3, b, last, done, b0, b1, b2, b3);
  }
  store_lane_sums(d, four_vectors<D>{a0, a1, a2, a3}, norms_a);
  if constexpr (Components == 2) store_lane_sums(d, four_vectors<D>{b0, b1, b2, b3}, norms_b);
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
