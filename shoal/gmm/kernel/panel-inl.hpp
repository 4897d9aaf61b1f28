// Rows as columns: transposing a block, or the rows of it that a list names, into a panel.
#if defined(SHOAL_GMM_KERNEL_PANEL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_PANEL
#undef SHOAL_GMM_KERNEL_PANEL
#else
#define SHOAL_GMM_KERNEL_PANEL
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/highway.h>

#include <shoal/core/matrix_view.hpp>
#include <shoal/gmm/kernel/memory.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

// Four rows become four neighbours in each column of the panel.
template <class T>
HWY_INLINE void transpose_plain(const T* const* rows, std::size_t count, std::size_t first, std::size_t columns,
                                T* HWY_RESTRICT out) {
  for (std::size_t j = first; j < columns; ++j) {
    for (std::size_t r = 0; r < count; ++r) out[j * panel_stride + r] = rows[r][j];
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
HWY_INLINE void transpose_four(const T* const* rows, std::size_t columns, T* HWY_RESTRICT out) {
  transpose_plain(rows, 4, 0, columns, out);
}
#else
HWY_INLINE void transpose_four(const float* const* rows, std::size_t columns, float* HWY_RESTRICT out) {
  const hn::FixedTag<float, 4> d;
  std::size_t j = 0;
  for (; j + 4 <= columns; j += 4) {
    const auto r0 = hn::LoadU(d, rows[0] + j);
    const auto r1 = hn::LoadU(d, rows[1] + j);
    const auto r2 = hn::LoadU(d, rows[2] + j);
    const auto r3 = hn::LoadU(d, rows[3] + j);
    const auto even_lower = hn::InterleaveLower(d, r0, r2);
    const auto odd_lower = hn::InterleaveLower(d, r1, r3);
    const auto even_upper = hn::InterleaveUpper(d, r0, r2);
    const auto odd_upper = hn::InterleaveUpper(d, r1, r3);
    hn::StoreU(hn::InterleaveLower(d, even_lower, odd_lower), d, out + (j + 0) * panel_stride);
    hn::StoreU(hn::InterleaveUpper(d, even_lower, odd_lower), d, out + (j + 1) * panel_stride);
    hn::StoreU(hn::InterleaveLower(d, even_upper, odd_upper), d, out + (j + 2) * panel_stride);
    hn::StoreU(hn::InterleaveUpper(d, even_upper, odd_upper), d, out + (j + 3) * panel_stride);
  }
  transpose_plain(rows, 4, j, columns, out);
}

HWY_INLINE void transpose_four(const double* const* rows, std::size_t columns, double* HWY_RESTRICT out) {
  const hn::FixedTag<double, 2> d;
  std::size_t j = 0;
  for (; j + 2 <= columns; j += 2) {
    for (std::size_t pair = 0; pair < 4; pair += 2) {
      const auto r0 = hn::LoadU(d, rows[pair] + j);
      const auto r1 = hn::LoadU(d, rows[pair + 1] + j);
      hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out + j * panel_stride + pair);
      hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + (j + 1) * panel_stride + pair);
    }
  }
  transpose_plain(rows, 4, j, columns, out);
}
#endif

// The first `count` rows, or those that `list` names when it is not null. The panel is zero from there to `padded`,
// which is `count` rounded up to whole vectors.
template <class T>
void transpose(matrix_view<const T> rows, const row_index* list, std::size_t count, std::size_t padded,
               T* HWY_RESTRICT panel) {
  const std::size_t columns = rows.columns();
  if (count < padded) {
    // Less than a vector of each column: clearing all of it first is one store, where a fill would be a call.
    const hn::ScalableTag<T> d;
    T* const last = panel + padded - hn::Lanes(d);
    for (std::size_t j = 0; j < columns; ++j) hn::Store(hn::Zero(d), d, last + j * panel_stride);
  }
  const T* four[4];
  for (std::size_t first = 0; first < count; first += 4) {
    const std::size_t here = std::min<std::size_t>(4, count - first);
    for (std::size_t r = 0; r < here; ++r) four[r] = rows.row(list == nullptr ? first + r : list[first + r]);
    if (here == 4) {
      transpose_four(four, columns, panel + first);
    } else {
      transpose_plain(four, here, 0, columns, panel + first);
    }
  }
}

// The largest |x| of each row of the panel.
template <class T>
void row_extents(const T* HWY_RESTRICT panel, std::size_t columns, std::size_t padded, T* HWY_RESTRICT extent) {
  const hn::ScalableTag<T> d;
  for (std::size_t r = 0; r < padded; r += hn::Lanes(d)) {
    auto largest = hn::Zero(d);
    for (std::size_t j = 0; j < columns; ++j) {
      largest = hn::Max(largest, hn::Abs(hn::Load(d, panel + j * panel_stride + r)));
    }
    hn::Store(largest, d, extent + r);
  }
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
