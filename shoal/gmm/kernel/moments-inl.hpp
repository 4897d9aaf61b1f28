// The sums of the maximisation step: a block's weighted moments about one component's centre.
#if defined(SHOAL_GMM_KERNEL_MOMENTS) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_MOMENTS
#undef SHOAL_GMM_KERNEL_MOMENTS
#else
#define SHOAL_GMM_KERNEL_MOMENTS
#endif

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <hwy/highway.h>

#include <shoal/gmm/kernel/memory.hpp>
#include <shoal/gmm/kernel/panel-inl.hpp>
#include <shoal/gmm/statistics.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// The sum over the 128-bit blocks of a vector, as one of them.
template <class D, class V = hn::Vec<D>>
HWY_INLINE auto sum_blocks(D d, V v) {
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) == 16) {
    (void)d;
    return v;
  } else {
    const hn::Half<D> half;
    return sum_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
#endif

// Four vectors. Members rather than an array, which compilers keep in memory.
template <class D>
struct four_vectors {
  hn::Vec<D> a;
  hn::Vec<D> b;
  hn::Vec<D> c;
  hn::Vec<D> d;
};

#if HWY_TARGET != HWY_SCALAR
// The sums over the lanes of four vectors of float32, side by side.
template <class D>
HWY_INLINE auto four_sums(D d, const four_vectors<D>& four) {
  const auto ab = hn::Add(hn::InterleaveLower(d, four.a, four.b), hn::InterleaveUpper(d, four.a, four.b));
  const auto cd = hn::Add(hn::InterleaveLower(d, four.c, four.d), hn::InterleaveUpper(d, four.c, four.d));
  const hn::Repartition<double, D> pairs;
  const auto ab_pairs = hn::BitCast(pairs, ab);
  const auto cd_pairs = hn::BitCast(pairs, cd);
  return sum_blocks(d, hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab_pairs, cd_pairs)),
                               hn::BitCast(d, hn::InterleaveUpper(pairs, ab_pairs, cd_pairs))));
}

// Stores the sums over the lanes of two vectors of float64.
template <class D>
HWY_INLINE void store_two_sums(D d, hn::Vec<D> a, hn::Vec<D> b, double* HWY_RESTRICT sums) {
  const auto ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  hn::StoreU(sum_blocks(d, ab), hn::FixedTag<double, 2>(), sums);
}
#endif

// The sums over the lanes of four vectors, in their own scalar.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_lane_sums(D d, const four_vectors<D>& four, T* HWY_RESTRICT sums) {
#if HWY_TARGET == HWY_SCALAR
  (void)d;
  sums[0] = hn::GetLane(four.a);
  sums[1] = hn::GetLane(four.b);
  sums[2] = hn::GetLane(four.c);
  sums[3] = hn::GetLane(four.d);
#else
  if constexpr (sizeof(T) == 4) {
    hn::StoreU(four_sums(d, four), hn::FixedTag<float, 4>(), sums);
  } else {
    store_two_sums(d, four.a, four.b, sums);
    store_two_sums(d, four.c, four.d, sums + 2);
  }
#endif
}

// The same in float64.
template <class D>
HWY_INLINE void lane_totals(D d, const four_vectors<D>& four, double* HWY_RESTRICT totals) {
#if HWY_TARGET == HWY_SCALAR
  (void)d;
  totals[0] = static_cast<double>(hn::GetLane(four.a));
  totals[1] = static_cast<double>(hn::GetLane(four.b));
  totals[2] = static_cast<double>(hn::GetLane(four.c));
  totals[3] = static_cast<double>(hn::GetLane(four.d));
#else
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const auto sum = four_sums(d, four);
    const hn::CappedTag<double, 4> wide;
    if constexpr (hn::MaxLanes(decltype(wide)()) == 4) {
      hn::StoreU(hn::PromoteTo(wide, sum), wide, totals);
    } else {
      const hn::Half<hn::FixedTag<float, 4>> half;
      hn::StoreU(hn::PromoteTo(wide, hn::LowerHalf(half, sum)), wide, totals);
      hn::StoreU(hn::PromoteTo(wide, hn::UpperHalf(half, sum)), wide, totals + 2);
    }
  } else {
    store_lane_sums(d, four, totals);
  }
#endif
}

// Adds the sums over the lanes of four vectors to four float64 numbers.
template <class D>
HWY_INLINE void add_lanes(D d, const four_vectors<D>& four, double* HWY_RESTRICT into) {
  double totals[4];
  lane_totals(d, four, totals);
  for (std::size_t i = 0; i < 4; ++i) into[i] += totals[i];
}

// Values of either scalar in float64.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_double(D d, const T* from) {
  if constexpr (sizeof(T) == 8) {
    return hn::Load(d, from);
  } else {
    return hn::PromoteTo(d, hn::Load(hn::Rebind<T, D>(), from));
  }
}
template <class D, class T>
HWY_INLINE hn::Vec<D> load_double_at(D d, const T* from) {  // wherever it lies
  if constexpr (sizeof(T) == 8) {
    return hn::LoadU(d, from);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), from));
  }
}

// Rows that are summed in the scalar before the sums go on in float64.
template <class D>
HWY_INLINE std::size_t rows_between_flushes(D d) {
  return most_lane_rows * hn::Lanes(d);
}

// Where the upper triangle of Σ z zᵀ goes: columns below `order` into a packed triangle of that order, the column
// `order` (if z has one more) into `beyond`.
struct triangle_sink {
  double* triangle;
  std::size_t order;
  double* beyond;
};

// RI × RJ elements of Σ z zᵀ, a row each.
template <class D>
struct tile_sums {
  four_vectors<D> a;
  four_vectors<D> b;
  four_vectors<D> c;
};

// Such a tile over the rows [from, to), where z are columns that start at `left` and at `right`. Twelve variables
// rather than the structure, of which GCC would store a part in every step. On the diagonal (left = right) the elements
// below it stay zero.
template <std::size_t RI, std::size_t RJ, bool OnDiagonal = false, class D, class T = hn::TFromD<D>>
HWY_INLINE tile_sums<D> sum_tile(D d, const T* HWY_RESTRICT left, const T* HWY_RESTRICT right, std::size_t from,
                                 std::size_t to) {
  const auto zero = hn::Zero(d);
  auto s00 = zero, s01 = zero, s02 = zero, s03 = zero;
  auto s10 = zero, s11 = zero, s12 = zero, s13 = zero;
  auto s20 = zero, s21 = zero, s22 = zero, s23 = zero;
  for (std::size_t r = from; r < to; r += hn::Lanes(d)) {
    const auto a0 = hn::Load(d, left + r);
    const auto a1 = RI > 1 ? hn::Load(d, left + panel_stride + r) : zero;
    const auto a2 = RI > 2 ? hn::Load(d, left + 2 * panel_stride + r) : zero;
    const auto b0 = hn::Load(d, right + r);
    s00 = hn::MulAdd(a0, b0, s00);
    if constexpr (RI > 1 && !OnDiagonal) s10 = hn::MulAdd(a1, b0, s10);
    if constexpr (RI > 2 && !OnDiagonal) s20 = hn::MulAdd(a2, b0, s20);
    if constexpr (RJ > 1) {
      const auto b1 = hn::Load(d, right + panel_stride + r);
      s01 = hn::MulAdd(a0, b1, s01);
      if constexpr (RI > 1) s11 = hn::MulAdd(a1, b1, s11);
      if constexpr (RI > 2 && !OnDiagonal) s21 = hn::MulAdd(a2, b1, s21);
    }
    if constexpr (RJ > 2) {
      const auto b2 = hn::Load(d, right + 2 * panel_stride + r);
      s02 = hn::MulAdd(a0, b2, s02);
      if constexpr (RI > 1) s12 = hn::MulAdd(a1, b2, s12);
      if constexpr (RI > 2) s22 = hn::MulAdd(a2, b2, s22);
    }
    if constexpr (RJ > 3) {
      const auto b3 = hn::Load(d, right + 3 * panel_stride + r);
      s03 = hn::MulAdd(a0, b3, s03);
      if constexpr (RI > 1) s13 = hn::MulAdd(a1, b3, s13);
      if constexpr (RI > 2) s23 = hn::MulAdd(a2, b3, s23);
    }
  }
  return {{s00, s01, s02, s03}, {s10, s11, s12, s13}, {s20, s21, s22, s23}};
}

// Adds one row of a tile that lies on the diagonal or at the end of the columns, element by element.
template <std::size_t RJ, class D>
HWY_INLINE void add_row_of_edge(D d, const four_vectors<D>& sums, std::size_t i, std::size_t j0,
                                const triangle_sink& sink) {
  double totals[4];
  lane_totals(d, sums, totals);
  double* const row = sink.triangle + statistics_layout::triangle_row(sink.order, i) + j0;
  for (std::size_t j = 0; j < RJ; ++j) {
    if (i > j0 + j) continue;
    if (j0 + j < sink.order) {
      row[j] += totals[j];
    } else {
      sink.beyond[i] += totals[j];
    }
  }
}

// Adds a tile of Σ z zᵀ whose first element is (i0, j0) to the sink. `centred` is the panel that holds z. Row by row
// rather than in loops, so that the sums never leave their registers.
template <std::size_t RI, std::size_t RJ, class T>
HWY_NOINLINE void tile_moments(const T* HWY_RESTRICT centred, std::size_t rows, std::size_t i0, std::size_t j0,
                               const triangle_sink& sink) {
  const hn::ScalableTag<T> d;
  const T* HWY_RESTRICT const left = centred + i0 * panel_stride;
  const T* HWY_RESTRICT const right = centred + j0 * panel_stride;
  const bool inside = RJ == 4 && i0 + RI <= j0 + 1 && j0 + 4 <= sink.order;
  for (std::size_t from = 0; from < rows; from += rows_between_flushes(d)) {
    const auto sums = sum_tile<RI, RJ>(d, left, right, from, std::min(rows, from + rows_between_flushes(d)));
    if (inside) {
      double* const first = sink.triangle + statistics_layout::triangle_row(sink.order, i0) + j0;
      const std::size_t second = sink.order - i0 - 1;
      add_lanes(d, sums.a, first);
      if constexpr (RI > 1) add_lanes(d, sums.b, first + second);
      if constexpr (RI > 2) add_lanes(d, sums.c, first + 2 * second - 1);
    } else {
      add_row_of_edge<RJ>(d, sums.a, i0, j0, sink);
      if constexpr (RI > 1) add_row_of_edge<RJ>(d, sums.b, i0 + 1, j0, sink);
      if constexpr (RI > 2) add_row_of_edge<RJ>(d, sums.c, i0 + 2, j0, sink);
    }
  }
}

template <std::size_t RI, class T>
HWY_INLINE void tile_moments(std::size_t width, const T* centred, std::size_t rows, std::size_t i0, std::size_t j0,
                             const triangle_sink& sink) {
  switch (width) {
    case 1:
      return tile_moments<RI, 1>(centred, rows, i0, j0, sink);
    case 2:
      return tile_moments<RI, 2>(centred, rows, i0, j0, sink);
    case 3:
      return tile_moments<RI, 3>(centred, rows, i0, j0, sink);
    default:
      return tile_moments<RI, 4>(centred, rows, i0, j0, sink);
  }
}

// The next tile's height of `left` rows: threes, and twos rather than a one, which would leave registers idle.
HWY_INLINE std::size_t next_height(std::size_t left) {
  if (left == 4 || left == 2) return 2;
  return std::min<std::size_t>(3, left);
}

// The next tile's width of `left` columns: fours, and threes rather than a one or a two.
HWY_INLINE std::size_t next_width(std::size_t left) {
  if (left == 9 || left == 6 || left == 5 || left == 3) return 3;
  return std::min<std::size_t>(4, left);
}

// The upper triangle of Σ z zᵀ of `order` columns. Member `rank` of `team` does its share of the tiles.
template <class T>
void triangle_moments(const T* centred, std::size_t rows, std::size_t order, std::size_t rank, std::size_t team,
                      const triangle_sink& sink) {
  std::size_t tile = 0;
  for (std::size_t j0 = 0; j0 < order;) {
    const std::size_t width = next_width(order - j0);
    for (std::size_t i0 = 0; i0 < j0 + width;) {
      const std::size_t height = next_height(j0 + width - i0);
      if (tile++ % team == rank) {
        if (height == 3) {
          tile_moments<3>(width, centred, rows, i0, j0, sink);
        } else if (height == 2) {
          tile_moments<2>(width, centred, rows, i0, j0, sink);
        } else {
          tile_moments<1>(width, centred, rows, i0, j0, sink);
        }
      }
      i0 += height;
    }
    j0 += width;
  }
}

// Such a tile into `sums`, which holds a vector for each element of the packed triangle. On the diagonal (i0 = j0) what
// lies below it is left out.
template <std::size_t RI, std::size_t RJ, bool OnDiagonal, class D, class T = hn::TFromD<D>>
HWY_INLINE void store_tile(D d, const T* HWY_RESTRICT centred, std::size_t from, std::size_t to, std::size_t order,
                           std::size_t i0, std::size_t j0, T* HWY_RESTRICT sums) {
  const auto tile = sum_tile<RI, RJ, OnDiagonal>(d, centred + i0 * panel_stride, centred + j0 * panel_stride, from, to);
  const auto store = [&](const four_vectors<D>& row, std::size_t i) HWY_ATTR {
    T* const at = sums + (statistics_layout::triangle_row(order, i0 + i) + j0) * hn::Lanes(d);
    const std::size_t skip = OnDiagonal ? i : 0;
    if (skip < 1) hn::Store(row.a, d, at);
    if (RJ > 1 && skip < 2) hn::Store(row.b, d, at + hn::Lanes(d));
    if (RJ > 2 && skip < 3) hn::Store(row.c, d, at + 2 * hn::Lanes(d));
  };
  store(tile.a, 0);
  if constexpr (RI > 1) store(tile.b, 1);
  if constexpr (RI > 2) store(tile.c, 2);
}

template <std::size_t RJ, class D, class T = hn::TFromD<D>>
HWY_INLINE void store_column_of_tiles(D d, const T* centred, std::size_t from, std::size_t to, std::size_t order,
                                      std::size_t j0, T* sums) {
  for (std::size_t i0 = 0; i0 < j0; i0 += 3) store_tile<3, RJ, false>(d, centred, from, to, order, i0, j0, sums);
  store_tile<RJ, RJ, true>(d, centred, from, to, order, j0, j0, sums);
}

// The upper triangle of Σ z zᵀ of few columns onto the packed `triangle`. `sums` is memory for a vector for each
// element.
template <class T>
void small_triangle_moments(const T* centred, std::size_t rows, std::size_t order, T* HWY_RESTRICT sums,
                            double* HWY_RESTRICT triangle) {
  using D = hn::ScalableTag<T>;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t elements = order * (order + 1) / 2;
  for (std::size_t from = 0; from < rows; from += rows_between_flushes(d)) {
    const std::size_t to = std::min(rows, from + rows_between_flushes(d));
    std::size_t j0 = 0;
    for (; j0 + 3 <= order; j0 += 3) store_column_of_tiles<3>(d, centred, from, to, order, j0, sums);
    if (order - j0 == 2) store_column_of_tiles<2>(d, centred, from, to, order, j0, sums);
    if (order - j0 == 1) store_column_of_tiles<1>(d, centred, from, to, order, j0, sums);
    const auto four_from = [&](std::size_t e) HWY_ATTR {
      const T* const at = sums + e * lanes;
      return four_vectors<D>{hn::Load(d, at), hn::Load(d, at + lanes), hn::Load(d, at + 2 * lanes),
                             hn::Load(d, at + 3 * lanes)};
    };
    std::size_t e = 0;
    for (; e + 4 <= elements; e += 4) add_lanes(d, four_from(e), triangle + e);
    if (e == elements) continue;
    double totals[4];
    lane_totals(d, four_from(e), totals);
    for (std::size_t i = 0; e + i < elements; ++i) triangle[e + i] += totals[i];
  }
}

// z = root · (x − c) for every column and z = root in one more; `panel` may be `centred` itself.
template <class T>
void centre_rows(const T* panel, std::size_t rows, std::size_t columns, const T* centre, const T* root, T* centred) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < columns; ++j) {
    const auto c = hn::Set(d, centre[j]);
    const T* const from = panel + j * panel_stride;
    T* const to = centred + j * panel_stride;
    for (std::size_t r = 0; r < rows; r += lanes) {
      hn::Store(hn::Mul(hn::Load(d, root + r), hn::Sub(hn::Load(d, from + r), c)), d, to + r);
    }
  }
  std::copy(root, root + round_up(rows, lanes), centred + columns * panel_stride);
}

// Σ v of one row vector.
template <class T>
double sum_rows(const T* values, std::size_t rows) {
  const hn::ScalableTag<T> d;
  double total = 0;
  for (std::size_t from = 0; from < rows; from += rows_between_flushes(d)) {
    const std::size_t to = std::min(rows, from + rows_between_flushes(d));
    auto sum = hn::Zero(d);
    for (std::size_t r = from; r < to; r += hn::Lanes(d)) sum = hn::Add(sum, hn::Load(d, values + r));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  return total;
}

// One vector of rows of one column into S and the diagonal of Q.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void add_column(D d, const T* HWY_RESTRICT from, T centre, hn::Vec<D> responsibility, hn::Vec<D>& first,
                           hn::Vec<D>& second) {
  const auto difference = hn::Sub(hn::Load(d, from), hn::Set(d, centre));
  const auto weighted = hn::Mul(responsibility, difference);
  first = hn::Add(first, weighted);
  second = hn::MulAdd(weighted, difference, second);
}

// S and the diagonal of Q for W neighbouring columns, 1 to 4.
template <std::size_t W, class T>
HWY_INLINE void diagonal_columns(const T* HWY_RESTRICT panel, std::size_t rows, const T* HWY_RESTRICT centre,
                                 const T* HWY_RESTRICT responsibility, double* HWY_RESTRICT first,
                                 double* HWY_RESTRICT second) {
  static_assert(W >= 1 && W <= 4);
  using D = hn::ScalableTag<T>;
  const D d;
  const auto zero = hn::Zero(d);
  for (std::size_t from = 0; from < rows; from += rows_between_flushes(d)) {
    const std::size_t to = std::min(rows, from + rows_between_flushes(d));
    auto s0 = zero, s1 = zero, s2 = zero, s3 = zero;
    auto q0 = zero, q1 = zero, q2 = zero, q3 = zero;
    for (std::size_t r = from; r < to; r += hn::Lanes(d)) {
      const auto weight = hn::Load(d, responsibility + r);
      add_column(d, panel + r, centre[0], weight, s0, q0);
      if constexpr (W > 1) add_column(d, panel + panel_stride + r, centre[1], weight, s1, q1);
      if constexpr (W > 2) add_column(d, panel + 2 * panel_stride + r, centre[2], weight, s2, q2);
      if constexpr (W > 3) add_column(d, panel + 3 * panel_stride + r, centre[3], weight, s3, q3);
    }
    if constexpr (W == 4) {
      add_lanes(d, four_vectors<D>{s0, s1, s2, s3}, first);
      add_lanes(d, four_vectors<D>{q0, q1, q2, q3}, second);
    } else if constexpr (W == 3) {
      double totals[4];
      lane_totals(d, four_vectors<D>{s0, s1, s2, s3}, totals);
      for (std::size_t i = 0; i < W; ++i) first[i] += totals[i];
      lane_totals(d, four_vectors<D>{q0, q1, q2, q3}, totals);
      for (std::size_t i = 0; i < W; ++i) second[i] += totals[i];
    } else {
      double totals[4];
      lane_totals(d, four_vectors<D>{s0, s1, q0, q1}, totals);
      for (std::size_t i = 0; i < W; ++i) first[i] += totals[i], second[i] += totals[2 + i];
    }
  }
}

// Components whose sums are taken together, so that their responsibilities stay in the first cache; and the columns
// from which on this pays, because a block of them does not.
inline constexpr std::size_t diagonal_components = 8;
inline constexpr std::size_t least_shared_columns = 16;

// Where one component's sums come from and go to: W, S and the diagonal of Q, laid out as the statistics are, one
// value, then columns, then columns.
template <class T>
struct diagonal_sums {
  const T* centre = nullptr;
  const T* responsibility = nullptr;
  double* values = nullptr;
};

// Adds the sums of `count` components.
template <class T>
void add_diagonals(const T* panel, std::size_t rows, std::size_t columns, const diagonal_sums<T>* components,
                   std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) components[n].values[0] += sum_rows(components[n].responsibility, rows);
  std::size_t j = 0;
  for (; j + 4 <= columns; j += 4) {
    for (std::size_t n = 0; n < count; ++n) {
      const auto& [centre, responsibility, values] = components[n];
      diagonal_columns<4>(panel + j * panel_stride, rows, centre + j, responsibility, values + 1 + j,
                          values + 1 + columns + j);
    }
  }
  const auto add_last = [&](auto last) HWY_ATTR {
    for (std::size_t n = 0; n < count; ++n) {
      const auto& [centre, responsibility, values] = components[n];
      diagonal_columns<last>(panel + j * panel_stride, rows, centre + j, responsibility, values + 1 + j,
                             values + 1 + columns + j);
    }
  };
  if (columns - j == 1) add_last(std::integral_constant<std::size_t, 1>());
  if (columns - j == 2) add_last(std::integral_constant<std::size_t, 2>());
  if (columns - j == 3) add_last(std::integral_constant<std::size_t, 3>());
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
