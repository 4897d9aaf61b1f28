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

// y_j = b_j + Σ_{i≤j} U_ij (x − c)_i for W neighbouring columns and V vectors of rows, and its squares onto `norm`.
// `group` holds x − c as [column][V vectors]; `factor` is the packed tile of U whose first column is `first`.
template <std::size_t W, std::size_t V, class D, class T = hn::TFromD<D>>
HWY_INLINE void tile_norms(D d, const T* HWY_RESTRICT group, std::size_t first, const T* HWY_RESTRICT factor,
                           const T* HWY_RESTRICT offset, hn::Vec<D> (&norm)[V]) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> y[W][V];
  for (std::size_t c = 0; c < W; ++c) {
    for (std::size_t v = 0; v < V; ++v) y[c][v] = hn::Set(d, offset[first + c]);
  }
  for (std::size_t i = 0; i < first; ++i) {
    hn::Vec<D> x[V];
    for (std::size_t v = 0; v < V; ++v) x[v] = hn::Load(d, group + (i * V + v) * lanes);
    for (std::size_t c = 0; c < W; ++c) {
      const auto u = hn::Set(d, factor[i * factor_tile + c]);
      for (std::size_t v = 0; v < V; ++v) y[c][v] = hn::MulAdd(u, x[v], y[c][v]);
    }
  }
  for (std::size_t q = 0; q < W; ++q) {
    const std::size_t i = first + q;
    hn::Vec<D> x[V];
    for (std::size_t v = 0; v < V; ++v) x[v] = hn::Load(d, group + (i * V + v) * lanes);
    for (std::size_t c = q; c < W; ++c) {
      const auto u = hn::Set(d, factor[i * factor_tile + c]);
      for (std::size_t v = 0; v < V; ++v) y[c][v] = hn::MulAdd(u, x[v], y[c][v]);
    }
  }
  for (std::size_t c = 0; c < W; ++c) {
    for (std::size_t v = 0; v < V; ++v) norm[v] = hn::MulAdd(y[c][v], y[c][v], norm[v]);
  }
}

// Adds the squares of y's columns [first, last) to `norms` for V vectors of rows; both ends are multiples of
// factor_tile, or the end of the columns.
template <std::size_t V, class D, class T = hn::TFromD<D>>
HWY_INLINE void group_norms(D d, const T* HWY_RESTRICT panel, const component_view<T>& component, std::size_t first,
                            std::size_t last, T* HWY_RESTRICT group, T* HWY_RESTRICT norms) {
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < last; ++j) {
    const auto centre = hn::Set(d, component.centre[j]);
    for (std::size_t v = 0; v < V; ++v) {
      hn::Store(hn::Sub(hn::Load(d, panel + j * panel_stride + v * lanes), centre), d, group + (j * V + v) * lanes);
    }
  }
  hn::Vec<D> norm[V];
  for (std::size_t v = 0; v < V; ++v) norm[v] = first == 0 ? hn::Zero(d) : hn::Load(d, norms + v * lanes);
  const T* factor = component.factor + packed_tile_start(first);
  std::size_t j = first;
  for (; j + factor_tile <= last; j += factor_tile) {
    tile_norms<4, V>(d, group, j, factor, component.offset, norm);
    factor += factor_tile * (j + factor_tile);
  }
  switch (last - j) {
    case 1:
      tile_norms<1, V>(d, group, j, factor, component.offset, norm);
      break;
    case 2:
      tile_norms<2, V>(d, group, j, factor, component.offset, norm);
      break;
    case 3:
      tile_norms<3, V>(d, group, j, factor, component.offset, norm);
      break;
    default:
      break;
  }
  for (std::size_t v = 0; v < V; ++v) hn::Store(norm[v], d, norms + v * lanes);
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

template <std::size_t V, class D, class T = hn::TFromD<D>>
HWY_INLINE void diagonal_group(D d, const T* HWY_RESTRICT panel, const component_view<T>& component,
                               T* HWY_RESTRICT norms) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> norm[V];
  for (std::size_t v = 0; v < V; ++v) norm[v] = hn::Zero(d);
  for (std::size_t j = 0; j < component.columns; ++j) {
    const auto centre = hn::Set(d, component.centre[j]);
    const auto inverse = hn::Set(d, component.factor[j]);
    const auto offset = hn::Set(d, component.offset[j]);
    for (std::size_t v = 0; v < V; ++v) {
      const auto difference = hn::Sub(hn::Load(d, panel + j * panel_stride + v * lanes), centre);
      const auto y = hn::MulAdd(difference, inverse, offset);
      norm[v] = hn::MulAdd(y, y, norm[v]);
    }
  }
  for (std::size_t v = 0; v < V; ++v) hn::Store(norm[v], d, norms + v * lanes);
}

// ‖y‖² of `rows` rows under a component whose covariance is diagonal.
template <class T>
void diagonal_norms(const T* panel, std::size_t rows, const component_view<T>& component, T* norms) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t vectors = (rows + lanes - 1) / lanes;
  std::size_t v = 0;
  for (; v + 4 <= vectors; v += 4) diagonal_group<4>(d, panel + v * lanes, component, norms + v * lanes);
  for (; v < vectors; ++v) diagonal_group<1>(d, panel + v * lanes, component, norms + v * lanes);
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
