// The expectation step up to its exponentials: ‖y‖² of each row of a panel under one component.
#if defined(SHOAL_GMM_KERNEL_EXPECTATION) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_EXPECTATION
#undef SHOAL_GMM_KERNEL_EXPECTATION
#else
#define SHOAL_GMM_KERNEL_EXPECTATION
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/highway.h>

#include <shoal/gmm/kernel/panel-inl.hpp>
#include <shoal/gmm/tuning.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// One component as its kernels see it.
template <class T>
struct component_view {
  const T* centre;
  const T* offset;
  const T* factor;
  std::size_t columns;
};

// Up to three vectors of rows side by side. Members rather than an array, which compilers keep in memory.
template <std::size_t V, class D>
struct row_vectors {
  static_assert(V >= 1 && V <= 3);
  hn::Vec<D> a;
  hn::Vec<D> b;
  hn::Vec<D> c;
};

template <std::size_t V, class D, class T = hn::TFromD<D>>
HWY_INLINE row_vectors<V, D> load_rows(D d, const T* HWY_RESTRICT from) {
  row_vectors<V, D> rows;
  rows.a = hn::Load(d, from);
  rows.b = V > 1 ? hn::Load(d, from + hn::Lanes(d)) : rows.a;
  rows.c = V > 2 ? hn::Load(d, from + 2 * hn::Lanes(d)) : rows.a;
  return rows;
}

template <std::size_t V, class D, class T = hn::TFromD<D>>
HWY_INLINE void store_rows(D d, const row_vectors<V, D>& rows, T* HWY_RESTRICT to) {
  hn::Store(rows.a, d, to);
  if constexpr (V > 1) hn::Store(rows.b, d, to + hn::Lanes(d));
  if constexpr (V > 2) hn::Store(rows.c, d, to + 2 * hn::Lanes(d));
}

// x − c of V vectors of rows, column by column: from a group that holds them as [column][V vectors] …
template <std::size_t V, class T>
struct stored_columns {
  const T* HWY_RESTRICT group;
  template <class D>
  HWY_INLINE row_vectors<V, D> operator()(D d, std::size_t column) const {
    return load_rows<V>(d, group + column * V * hn::Lanes(d));
  }
};

// … or by subtracting anew, which is faster than storing them when a column is needed at most twice.
template <std::size_t V, class T>
struct subtracted_columns {
  const T* HWY_RESTRICT panel;
  const T* HWY_RESTRICT centre;
  template <class D>
  HWY_INLINE row_vectors<V, D> operator()(D d, std::size_t column) const {
    auto x = load_rows<V>(d, panel + column * panel_stride);
    const auto c = hn::Set(d, centre[column]);
    x.a = hn::Sub(x.a, c);
    if constexpr (V > 1) x.b = hn::Sub(x.b, c);
    if constexpr (V > 2) x.c = hn::Sub(x.c, c);
    return x;
  }
};

template <std::size_t V, class D>
HWY_INLINE row_vectors<V, D> set_rows(hn::Vec<D> value) {
  return {value, value, value};
}

// sum += factor · x
template <std::size_t V, class D>
HWY_INLINE void multiply_add(hn::Vec<D> factor, const row_vectors<V, D>& x, row_vectors<V, D>& sum) {
  sum.a = hn::MulAdd(factor, x.a, sum.a);
  if constexpr (V > 1) sum.b = hn::MulAdd(factor, x.b, sum.b);
  if constexpr (V > 2) sum.c = hn::MulAdd(factor, x.c, sum.c);
}

template <std::size_t V, class D>
HWY_INLINE void add_squares(const row_vectors<V, D>& y, row_vectors<V, D>& sum) {
  sum.a = hn::MulAdd(y.a, y.a, sum.a);
  if constexpr (V > 1) sum.b = hn::MulAdd(y.b, y.b, sum.b);
  if constexpr (V > 2) sum.c = hn::MulAdd(y.c, y.c, sum.c);
}

// y_j = b_j + Σ_{i≤j} U_ij (x − c)_i for W neighbouring columns and V vectors of rows, and its squares onto `norm`.
// `column(d, i)` is x − c; `factor` is the packed tile of U whose first column is `first`.
template <std::size_t W, std::size_t V, class D, class Column, class T = hn::TFromD<D>>
HWY_INLINE void tile_norms(D d, const Column& column, std::size_t first, const T* HWY_RESTRICT factor,
                           const T* HWY_RESTRICT offset, row_vectors<V, D>& norm) {
  const auto zero = hn::Zero(d);
  offset += first;
  auto y0 = set_rows<V, D>(hn::Set(d, offset[0]));
  auto y1 = set_rows<V, D>(W > 1 ? hn::Set(d, offset[1]) : zero);
  auto y2 = set_rows<V, D>(W > 2 ? hn::Set(d, offset[2]) : zero);
  auto y3 = set_rows<V, D>(W > 3 ? hn::Set(d, offset[3]) : zero);
  for (std::size_t i = 0; i < first; ++i) {
    const auto x = column(d, i);
    multiply_add<V, D>(hn::Set(d, factor[0]), x, y0);
    if constexpr (W > 1) multiply_add<V, D>(hn::Set(d, factor[1]), x, y1);
    if constexpr (W > 2) multiply_add<V, D>(hn::Set(d, factor[2]), x, y2);
    if constexpr (W > 3) multiply_add<V, D>(hn::Set(d, factor[3]), x, y3);
    factor += factor_tile;
  }
  // The triangle on the diagonal.
  const auto x0 = column(d, first);
  multiply_add<V, D>(hn::Set(d, factor[0]), x0, y0);
  if constexpr (W > 1) {
    multiply_add<V, D>(hn::Set(d, factor[1]), x0, y1);
    const auto x1 = column(d, first + 1);
    multiply_add<V, D>(hn::Set(d, factor[5]), x1, y1);
    if constexpr (W > 2) {
      multiply_add<V, D>(hn::Set(d, factor[2]), x0, y2);
      multiply_add<V, D>(hn::Set(d, factor[6]), x1, y2);
      const auto x2 = column(d, first + 2);
      multiply_add<V, D>(hn::Set(d, factor[10]), x2, y2);
      if constexpr (W > 3) {
        multiply_add<V, D>(hn::Set(d, factor[3]), x0, y3);
        multiply_add<V, D>(hn::Set(d, factor[7]), x1, y3);
        multiply_add<V, D>(hn::Set(d, factor[11]), x2, y3);
        multiply_add<V, D>(hn::Set(d, factor[15]), column(d, first + 3), y3);
      }
    }
  }
  add_squares<V, D>(y0, norm);
  if constexpr (W > 1) add_squares<V, D>(y1, norm);
  if constexpr (W > 2) add_squares<V, D>(y2, norm);
  if constexpr (W > 3) add_squares<V, D>(y3, norm);
}

// The squares of y's columns [first, last) onto `norm`; both ends are multiples of factor_tile, or the end of the
// columns.
template <std::size_t V, class D, class Column, class T = hn::TFromD<D>>
HWY_INLINE void tiles_norms(D d, const Column& column, const component_view<T>& component, std::size_t first,
                            std::size_t last, row_vectors<V, D>& norm) {
  const T* factor = component.factor + packed_tile_start(first);
  std::size_t j = first;
  for (; j + factor_tile <= last; j += factor_tile) {
    tile_norms<4, V>(d, column, j, factor, component.offset, norm);
    factor += factor_tile * (j + factor_tile);
  }
  switch (last - j) {
    case 1:
      tile_norms<1, V>(d, column, j, factor, component.offset, norm);
      break;
    case 2:
      tile_norms<2, V>(d, column, j, factor, component.offset, norm);
      break;
    case 3:
      tile_norms<3, V>(d, column, j, factor, component.offset, norm);
      break;
    default:
      break;
  }
}

// Adds the squares of y's columns [first, last) to `norms` for V vectors of rows. `group` is memory for their x − c.
template <std::size_t V, class D, class T = hn::TFromD<D>>
HWY_INLINE void group_norms(D d, const T* HWY_RESTRICT panel, const component_view<T>& component, std::size_t first,
                            std::size_t last, T* HWY_RESTRICT group, T* HWY_RESTRICT norms) {
  const std::size_t lanes = hn::Lanes(d);
  row_vectors<V, D> norm = first == 0 ? set_rows<V, D>(hn::Zero(d)) : load_rows<V>(d, norms);
  if (last <= most_subtracted_columns) {
    tiles_norms<V>(d, subtracted_columns<V, T>{panel, component.centre}, component, first, last, norm);
  } else {
    for (std::size_t j = 0; j < last; ++j) {
      const auto centre = hn::Set(d, component.centre[j]);
      for (std::size_t v = 0; v < V; ++v) {
        hn::Store(hn::Sub(hn::Load(d, panel + j * panel_stride + v * lanes), centre), d, group + (j * V + v) * lanes);
      }
    }
    tiles_norms<V>(d, stored_columns<V, T>{group}, component, first, last, norm);
  }
  store_rows<V>(d, norm, norms);
}

// ‖y‖² over y's columns [first, last) of `rows` rows, added to `norms` when first > 0. `group` is memory for one group.
template <class T>
void matrix_norms(const T* panel, std::size_t rows, const component_view<T>& component, std::size_t first,
                  std::size_t last, T* group, T* norms) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t vectors = (rows + lanes - 1) / lanes;
  std::size_t v = 0;
  for (; v + expectation_vectors <= vectors; v += expectation_vectors) {
    group_norms<expectation_vectors>(d, panel + v * lanes, component, first, last, group, norms + v * lanes);
  }
  static_assert(expectation_vectors == 3);
  if (vectors - v == 2) {
    group_norms<2>(d, panel + v * lanes, component, first, last, group, norms + v * lanes);
  } else if (vectors - v == 1) {
    group_norms<1>(d, panel + v * lanes, component, first, last, group, norms + v * lanes);
  }
}

// One column of one vector of rows onto ‖y‖².
template <class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE V add_diagonal(D d, const T* HWY_RESTRICT x, V centre, V inverse, V offset, V norm) {
  const V y = hn::MulAdd(hn::Sub(hn::Load(d, x), centre), inverse, offset);
  return hn::MulAdd(y, y, norm);
}

// ‖y‖² of one vector of rows under a component whose covariance is diagonal.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void diagonal_norm(D d, const T* HWY_RESTRICT panel, const component_view<T>& component,
                              T* HWY_RESTRICT norms) {
  auto norm = hn::Zero(d);
  for (std::size_t j = 0; j < component.columns; ++j) {
    norm = add_diagonal(d, panel + j * panel_stride, hn::Set(d, component.centre[j]), hn::Set(d, component.factor[j]),
                        hn::Set(d, component.offset[j]), norm);
  }
  hn::Store(norm, d, norms);
}

// Four vectors of rows under one such component or two, whose sums hide that each waits for its last addition.
template <std::size_t Components, class D, class T = hn::TFromD<D>>
HWY_INLINE void diagonal_group(D d, const T* HWY_RESTRICT panel, const component_view<T>& a, const component_view<T>& b,
                               T* HWY_RESTRICT norms_a, T* HWY_RESTRICT norms_b) {
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  auto a0 = zero, a1 = zero, a2 = zero, a3 = zero, b0 = zero, b1 = zero, b2 = zero, b3 = zero;
  for (std::size_t j = 0; j < a.columns; ++j) {
    const T* HWY_RESTRICT const x = panel + j * panel_stride;
    auto centre = hn::Set(d, a.centre[j]), inverse = hn::Set(d, a.factor[j]), offset = hn::Set(d, a.offset[j]);
    a0 = add_diagonal(d, x, centre, inverse, offset, a0);
    a1 = add_diagonal(d, x + lanes, centre, inverse, offset, a1);
    a2 = add_diagonal(d, x + 2 * lanes, centre, inverse, offset, a2);
    a3 = add_diagonal(d, x + 3 * lanes, centre, inverse, offset, a3);
    if constexpr (Components == 1) continue;
    centre = hn::Set(d, b.centre[j]), inverse = hn::Set(d, b.factor[j]), offset = hn::Set(d, b.offset[j]);
    b0 = add_diagonal(d, x, centre, inverse, offset, b0);
    b1 = add_diagonal(d, x + lanes, centre, inverse, offset, b1);
    b2 = add_diagonal(d, x + 2 * lanes, centre, inverse, offset, b2);
    b3 = add_diagonal(d, x + 3 * lanes, centre, inverse, offset, b3);
  }
  hn::Store(a0, d, norms_a), hn::Store(a1, d, norms_a + lanes);
  hn::Store(a2, d, norms_a + 2 * lanes), hn::Store(a3, d, norms_a + 3 * lanes);
  if constexpr (Components == 1) return;
  hn::Store(b0, d, norms_b), hn::Store(b1, d, norms_b + lanes);
  hn::Store(b2, d, norms_b + 2 * lanes), hn::Store(b3, d, norms_b + 3 * lanes);
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
