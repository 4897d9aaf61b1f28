// Rows as columns: transposing a block, or the rows of it that a list names, into a panel.
#if defined(SHOAL_GMM_KERNEL_PANEL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_PANEL
#undef SHOAL_GMM_KERNEL_PANEL
#else
#define SHOAL_GMM_KERNEL_PANEL
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <shoal/core/matrix_view.hpp>
#include <shoal/gmm/kernel/memory.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

#if HWY_TARGET != HWY_SCALAR
// 16 bytes of each of the rows first, first + step, …, as many as there are 16-byte blocks in a vector.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* const* rows, std::size_t column) {
  constexpr std::size_t in_block = 16 / sizeof(T);
  if constexpr (hn::MaxLanes(D()) == in_block) {
    return hn::LoadU(d, rows[0] + column);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, rows + hn::Lanes(d) / 2, column), load_blocks(half, rows, column));
  }
}

// The columns in 16 bytes, from `column` on, of a vector of rows.
template <class D>
HWY_INLINE void transpose_columns(D d, const float* const* rows, std::size_t column, float* HWY_RESTRICT panel) {
  const auto r0 = load_blocks(d, rows, column);
  const auto r1 = load_blocks(d, rows + 1, column);
  const auto r2 = load_blocks(d, rows + 2, column);
  const auto r3 = load_blocks(d, rows + 3, column);
  const auto even_lower = hn::InterleaveLower(d, r0, r2);
  const auto odd_lower = hn::InterleaveLower(d, r1, r3);
  const auto even_upper = hn::InterleaveUpper(d, r0, r2);
  const auto odd_upper = hn::InterleaveUpper(d, r1, r3);
  float* const out = panel + column * panel_stride;
  hn::Store(hn::InterleaveLower(d, even_lower, odd_lower), d, out);
  hn::Store(hn::InterleaveUpper(d, even_lower, odd_lower), d, out + panel_stride);
  hn::Store(hn::InterleaveLower(d, even_upper, odd_upper), d, out + 2 * panel_stride);
  hn::Store(hn::InterleaveUpper(d, even_upper, odd_upper), d, out + 3 * panel_stride);
}
template <class D>
HWY_INLINE void transpose_columns(D d, const double* const* rows, std::size_t column, double* HWY_RESTRICT panel) {
  const auto r0 = load_blocks(d, rows, column);
  const auto r1 = load_blocks(d, rows + 1, column);
  hn::Store(hn::InterleaveLower(d, r0, r1), d, panel + column * panel_stride);
  hn::Store(hn::InterleaveUpper(d, r0, r1), d, panel + (column + 1) * panel_stride);
}
#endif

// As many rows as a vector has lanes become neighbours in each column of the panel.
template <class T>
HWY_INLINE void transpose_vector(const T* const* rows, std::size_t columns, T* HWY_RESTRICT panel) {
  const hn::ScalableTag<T> d;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t in_block = 16 / sizeof(T);
  if (columns >= in_block) {
    std::size_t j = 0;
    for (; j + in_block <= columns; j += in_block) transpose_columns(d, rows, j, panel);
    // The last columns overlap with some that are done.
    if (j < columns) transpose_columns(d, rows, columns - in_block, panel);
    return;
  }
#endif
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t r = 0; r < hn::Lanes(d); ++r) panel[j * panel_stride + r] = rows[r][j];
  }
}

// The first `count` rows, or those that `list` names when it is not null, and `blank` ones to the end of a vector.
template <class T>
void transpose(matrix_view<const T> rows, const row_index* list, std::size_t count, const T* blank,
               T* HWY_RESTRICT panel) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const T* neighbours[hn::MaxLanes(hn::ScalableTag<T>())];
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t here = std::min(lanes, count - first);
    for (std::size_t r = 0; r < here; ++r) neighbours[r] = rows.row(list == nullptr ? first + r : list[first + r]);
    std::fill(neighbours + here, neighbours + lanes, blank);
    transpose_vector(neighbours, rows.columns(), panel + first);
  }
}

// Asks for the `part`th of `parts` of the rows that come next. A block is too short for the processor to see what comes
// after it, and too much to ask for at once.
template <class T>
void prefetch_next(const block_memory<T>& memory, std::size_t part, std::size_t parts) {
  constexpr std::size_t line = 64;
  const std::size_t lines = memory.next_bytes / line;
  for (std::size_t i = part * lines / parts; i < (part + 1) * lines / parts; ++i) {
    hwy::Prefetch(memory.next_rows + i * line);
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
