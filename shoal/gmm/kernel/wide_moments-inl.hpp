// Moments of wide rows under diagonal covariances: vectors lie along the columns, rows where they are.
#if defined(SHOAL_GMM_KERNEL_WIDE_MOMENTS) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_WIDE_MOMENTS
#undef SHOAL_GMM_KERNEL_WIDE_MOMENTS
#else
#define SHOAL_GMM_KERNEL_WIDE_MOMENTS
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/highway.h>

#include <shoal/gmm/kernel/moments-inl.hpp>
#include <shoal/gmm/kernel/wide_norms-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// Components whose sums are taken together of rows that they share, which are then packed once for all of them.
inline constexpr std::size_t wide_components = 16;

// Columns of a tile of moments: two vectors.
template <class T>
HWY_INLINE std::size_t tile_columns() {
  return 2 * hn::Lanes(hn::ScalableTag<T>());
}

// The first column of tile `tile`; the last one may overlap with the one before it.
template <class T>
HWY_INLINE std::size_t tile_start(std::size_t tile, std::size_t columns) {
  return std::min(tile * tile_columns<T>(), columns - tile_columns<T>());
}

template <class T>
HWY_INLINE std::size_t tile_count(std::size_t columns) {
  return (columns + tile_columns<T>() - 1) / tile_columns<T>();
}

// One component's part of a tile: S, then the diagonal of Q, two vectors each, in the scalar of the rows.
template <class T>
struct wide_tile {
  const T* centre;          // of the tile's columns
  const T* responsibility;  // of the rows
  T* sums;
};

// One vector of columns of a row into S and the diagonal of Q.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void add_columns_of(D, V x, V centre, V responsibility, V& first, V& second) {
  const V difference = hn::Sub(x, centre);
  const V weighted = hn::Mul(responsibility, difference);
  first = hn::Add(first, weighted);
  second = hn::MulAdd(weighted, difference, second);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void add_to(D d, hn::Vec<D> sum, T* HWY_RESTRICT into) {
  hn::Store(hn::Add(hn::Load(d, into), sum), d, into);
}

// Adds `count` rows to two tiles: of two components when both are of the same columns, else of one. Rows lie `stride`
// apart in `packed`, or, when that is null, start at `column_a` of those that the list names.
template <bool SameColumns, bool Packed, class T>
HWY_NOINLINE void wide_tile_moments(const T* const* rows, const T* HWY_RESTRICT packed, std::size_t count,
                                    std::size_t column_a, std::size_t column_b, const wide_tile<T>& a,
                                    const wide_tile<T>& b) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const T *HWY_RESTRICT const of_a = a.responsibility, *HWY_RESTRICT const of_b = b.responsibility;
  const auto centre_a0 = hn::LoadU(d, a.centre), centre_a1 = hn::LoadU(d, a.centre + lanes);
  const auto centre_b0 = hn::LoadU(d, b.centre), centre_b1 = hn::LoadU(d, b.centre + lanes);
  auto s_a0 = zero, s_a1 = zero, s_b0 = zero, s_b1 = zero, q_a0 = zero, q_a1 = zero, q_b0 = zero, q_b1 = zero;
  for (std::size_t r = 0; r < count; ++r) {
    const T* HWY_RESTRICT const x = Packed ? packed + 2 * lanes * r : rows[r] + column_a;
    auto x0 = in_register(hn::LoadU(d, x)), x1 = in_register(hn::LoadU(d, x + lanes));
    auto responsibility = in_register(hn::Set(d, of_a[r]));
    add_columns_of(d, x0, centre_a0, responsibility, s_a0, q_a0);
    add_columns_of(d, x1, centre_a1, responsibility, s_a1, q_a1);
    if constexpr (SameColumns) {
      responsibility = in_register(hn::Set(d, of_b[r]));
    } else {
      x0 = hn::LoadU(d, rows[r] + column_b), x1 = hn::LoadU(d, rows[r] + column_b + lanes);
    }
    add_columns_of(d, x0, centre_b0, responsibility, s_b0, q_b0);
    add_columns_of(d, x1, centre_b1, responsibility, s_b1, q_b1);
  }
  add_to(d, s_a0, a.sums), add_to(d, s_a1, a.sums + lanes);
  add_to(d, q_a0, a.sums + 2 * lanes), add_to(d, q_a1, a.sums + 3 * lanes);
  add_to(d, s_b0, b.sums), add_to(d, s_b1, b.sums + lanes);
  add_to(d, q_b0, b.sums + 2 * lanes), add_to(d, q_b1, b.sums + 3 * lanes);
}

// The sums of a block's components in the scalar of its rows: [tile][K] tiles, and one that nobody reads.
template <class T>
struct wide_sums {
  T* values;
  std::size_t components;
  std::size_t columns;

  static std::size_t size(std::size_t components, std::size_t columns) {
    return (tile_count<T>(columns) * components + 1) * 2 * tile_columns<T>();
  }
  HWY_INLINE T* tile(std::size_t t, std::size_t k) const { return values + (t * components + k) * 2 * tile_columns<T>(); }
  HWY_INLINE T* nobody() const { return tile(tile_count<T>(columns), 0); }
};

// One component's responsibilities and centre.
template <class T>
struct wide_component {
  const T* centre;
  const T* responsibility;
  std::size_t k;
};

// Adds rows that a list names to the sums of one component, two tiles at a time.
template <class T>
void add_listed_rows(const T* const* rows, std::size_t count, const wide_component<T>& of, const wide_sums<T>& sums) {
  const std::size_t tiles = tile_count<T>(sums.columns);
  for (std::size_t t = 0; t < tiles; t += 2) {
    const bool two = t + 1 < tiles;
    const std::size_t a = tile_start<T>(t, sums.columns), b = two ? tile_start<T>(t + 1, sums.columns) : a;
    wide_tile_moments<false, false>(rows, static_cast<const T*>(nullptr), count, a, b,
                                    wide_tile<T>{of.centre + a, of.responsibility, sums.tile(t, of.k)},
                                    wide_tile<T>{of.centre + b, of.responsibility,
                                                 two ? sums.tile(t + 1, of.k) : sums.nobody()});
  }
}

// Adds all rows of the block to the sums of several components. `packed` is memory for a tile of all rows. Rows whose
// tile is no more than a cache line are put there first, because rows that lie a multiple of a large power of two
// apart push each other out of the first cache.
template <class T>
void add_shared_rows(const T* const* rows, std::size_t count, const wide_component<T>* of, std::size_t components,
                     const wide_sums<T>& sums, T* HWY_RESTRICT packed) {
  constexpr bool pack = 2 * hn::MaxLanes(hn::ScalableTag<T>()) * sizeof(T) <= 64;
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), tiles = tile_count<T>(sums.columns);
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t column = tile_start<T>(t, sums.columns);
    if constexpr (pack) {
      for (std::size_t r = 0; r < count; ++r) {
        hn::Store(hn::LoadU(d, rows[r] + column), d, packed + 2 * r * lanes);
        hn::Store(hn::LoadU(d, rows[r] + column + lanes), d, packed + (2 * r + 1) * lanes);
      }
    }
    for (std::size_t n = 0; n < components; n += 2) {
      const bool two = n + 1 < components;
      const wide_component<T>&a = of[n], &b = of[two ? n + 1 : n];
      wide_tile_moments<true, pack>(rows, packed, count, column, column,
                                    wide_tile<T>{a.centre + column, a.responsibility, sums.tile(t, a.k)},
                                    wide_tile<T>{b.centre + column, b.responsibility,
                                                 two ? sums.tile(t, b.k) : sums.nobody()});
    }
  }
}

template <class T>
void clear_wide(const wide_sums<T>& sums, std::size_t k) {
  for (std::size_t t = 0; t < tile_count<T>(sums.columns); ++t) std::fill_n(sums.tile(t, k), 2 * tile_columns<T>(), T{0});
}

// Adds the sums of component k to float64 ones, which begin at `values`: columns of S, then columns of Q.
template <class T>
void flush_wide(const wide_sums<T>& sums, std::size_t k, double* HWY_RESTRICT values) {
  const hn::ScalableTag<double> d;
  const std::size_t columns = sums.columns, width = tile_columns<T>();
  for (std::size_t t = 0; t < tile_count<T>(columns); ++t) {
    const std::size_t column = tile_start<T>(t, columns), done = t * width - column;
    const T* const tile = sums.tile(t, k);
    for (std::size_t part = 0; part < 2; ++part) {
      const T* const from = tile + part * width;
      double* const into = values + part * columns + column;
      if (done > 0) {
        for (std::size_t i = done; i < width; ++i) into[i] += static_cast<double>(from[i]);
        continue;
      }
      for (std::size_t i = 0; i < width; i += hn::Lanes(d)) {
        hn::StoreU(hn::Add(hn::LoadU(d, into + i), load_double(d, from + i)), d, into + i);
      }
    }
  }
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
