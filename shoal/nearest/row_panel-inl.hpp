// Rows turned so that a vector register holds one column of several rows. Compiled once for each instruction set.
#if defined(SHOAL_ESTIMATION_ROW_PANEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_ESTIMATION_ROW_PANEL_INL
#undef SHOAL_ESTIMATION_ROW_PANEL_INL
#else
#define SHOAL_ESTIMATION_ROW_PANEL_INL
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include <shoal/core/matrix_view.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x[j] = column j of as many rows as a vector has lanes, which lie without gaps at `rows`. At most 4 columns.
template <std::size_t Columns, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void load_columns(D d, const T* rows, std::array<V, Columns>& x) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t j = 0; j < Columns; ++j) x[j] = hn::LoadU(d, rows + j);
#else
  if constexpr (Columns == 1) {
    x[0] = hn::LoadU(d, rows);
  } else if constexpr (Columns == 2) {
    hn::LoadInterleaved2(d, rows, x[0], x[1]);
  } else if constexpr (Columns == 3) {
    hn::LoadInterleaved3(d, rows, x[0], x[1], x[2]);
  } else {
    hn::LoadInterleaved4(d, rows, x[0], x[1], x[2], x[3]);
  }
#endif
}

// Numbers that are whole, such as labels.
template <class D>
HWY_INLINE void store_whole(D, hn::Vec<D> numbers, std::int32_t* to) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::RebindToSigned<D> di;
    hn::StoreU(hn::ConvertTo(di, numbers), di, to);
  } else {
    const hn::Rebind<std::int32_t, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, numbers), narrow, to);
  }
}

#if HWY_TARGET != HWY_SCALAR
// The four lanes of the sum of a vector's 16-byte blocks.
template <class D>
HWY_INLINE auto sum_blocks(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// Sums of the lanes of four vectors of float32, in this order, in the four lanes of the result.
template <class D, class V = hn::Vec<D>>
HWY_INLINE auto sum_four(D d, V a, V b, V c, V e) {
  const hn::Repartition<double, D> wide;
  const auto ab = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  return sum_blocks(
      d, hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, ab, ce)), hn::BitCast(d, hn::InterleaveUpper(wide, ab, ce))));
}
#endif

// Vectors of rows in one panel: with 4 centroids they make 12 accumulators, which hides the latency of a multiply-add
// and leaves four of AVX2's sixteen registers for operands.
inline constexpr std::size_t panel_vectors = 3;

#if HWY_TARGET != HWY_SCALAR
// 16-byte pieces of the rows first, first + B, first + 2B, …, where B elements fill 16 bytes.
template <class D>
HWY_INLINE hn::Vec<D> load_pieces(D d, const hn::TFromD<D>* from, std::size_t stride) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) <= 16) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_pieces(half, from + hn::Lanes(d) / 2 * stride, stride), load_pieces(half, from, stride));
  }
}

// Column j + c of as many rows as a vector has lanes goes to out + c * out_stride, for the columns in 16 bytes.
template <class D>
HWY_INLINE void turn_columns(D d, const float* from, std::size_t stride, const float* origin, float* out,
                             std::size_t out_stride) {
  const hn::Repartition<double, D> wide;
  const auto a0 = load_pieces(d, from, stride);
  const auto a1 = load_pieces(d, from + stride, stride);
  const auto a2 = load_pieces(d, from + 2 * stride, stride);
  const auto a3 = load_pieces(d, from + 3 * stride, stride);
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, a0, a1));
  const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, a2, a3));
  const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, a0, a1));
  const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, a2, a3));
  const auto c0 = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
  const auto c1 = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
  const auto c2 = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
  const auto c3 = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
  hn::Store(hn::Sub(c0, hn::Set(d, origin[0])), d, out);
  hn::Store(hn::Sub(c1, hn::Set(d, origin[1])), d, out + out_stride);
  hn::Store(hn::Sub(c2, hn::Set(d, origin[2])), d, out + 2 * out_stride);
  hn::Store(hn::Sub(c3, hn::Set(d, origin[3])), d, out + 3 * out_stride);
}

template <class D>
HWY_INLINE void turn_columns(D d, const double* from, std::size_t stride, const double* origin, double* out,
                             std::size_t out_stride) {
  const auto a0 = load_pieces(d, from, stride);
  const auto a1 = load_pieces(d, from + stride, stride);
  hn::Store(hn::Sub(hn::InterleaveLower(d, a0, a1), hn::Set(d, origin[0])), d, out);
  hn::Store(hn::Sub(hn::InterleaveUpper(d, a0, a1), hn::Set(d, origin[1])), d, out + out_stride);
}
#endif

// panel[j * width + i] = rows[i][j] − origin[j] for width = panel_vectors · lanes rows, all of which may be read.
template <class D>
HWY_INLINE void turn_rows(D d, const hn::TFromD<D>* rows, std::size_t stride, std::size_t columns,
                          const hn::TFromD<D>* origin, hn::TFromD<D>* HWY_RESTRICT panel) {
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t width = panel_vectors * lanes;
  std::size_t j = 0;
#if HWY_TARGET != HWY_SCALAR
  if (columns == 2 && stride == 2) {
    for (std::size_t i = 0; i < width; i += lanes) {
      hn::Vec<D> c0, c1;
      hn::LoadInterleaved2(d, rows + i * 2, c0, c1);
      hn::Store(hn::Sub(c0, hn::Set(d, origin[0])), d, panel + i);
      hn::Store(hn::Sub(c1, hn::Set(d, origin[1])), d, panel + width + i);
    }
    return;
  }
  if (columns == 3 && stride == 3) {
    for (std::size_t i = 0; i < width; i += lanes) {
      hn::Vec<D> c0, c1, c2;
      hn::LoadInterleaved3(d, rows + i * 3, c0, c1, c2);
      hn::Store(hn::Sub(c0, hn::Set(d, origin[0])), d, panel + i);
      hn::Store(hn::Sub(c1, hn::Set(d, origin[1])), d, panel + width + i);
      hn::Store(hn::Sub(c2, hn::Set(d, origin[2])), d, panel + 2 * width + i);
    }
    return;
  }
  constexpr std::size_t piece = 16 / sizeof(hn::TFromD<D>);
  // Not unrolled: the addresses of one vector's rows are as many as there are registers.
#pragma GCC unroll 1
  for (std::size_t i = 0; i < width; i += lanes) {
    const hn::TFromD<D>* HWY_RESTRICT const from = rows + i * stride;
#pragma GCC unroll 1
    for (j = 0; j + piece <= columns; j += piece) {
      turn_columns(d, from + j, stride, origin + j, panel + j * width + i, width);
    }
  }
#endif
  for (; j < columns; ++j) {
    for (std::size_t i = 0; i < width; ++i) panel[j * width + i] = rows[i * stride + j] - origin[j];
  }
}

// Turns the panel of rows that starts at row `first`; rows beyond the end are zero.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void turn_panel(D d, matrix_view<const T> rows, std::size_t first, const T* origin, T* panel, T* padded) {
  const std::size_t width = panel_vectors * hn::Lanes(d);
  const std::size_t columns = rows.columns();
  const std::size_t count = std::min(width, rows.rows() - first);
  if (count == width) return turn_rows(d, rows.row(first), rows.row_stride(), columns, origin, panel);
  std::fill(padded, padded + width * columns, T{0});
  for (std::size_t i = 0; i < count; ++i) std::copy_n(rows.row(first + i), columns, padded + i * columns);
  turn_rows(d, padded, columns, columns, origin, panel);
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();

#endif
