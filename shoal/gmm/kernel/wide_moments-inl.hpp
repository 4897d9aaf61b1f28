// Moments of wide rows under diagonal covariances: vectors lie along the columns, rows where they are.
#if defined(SHOAL_GMM_KERNEL_WIDE_MOMENTS) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_WIDE_MOMENTS
#undef SHOAL_GMM_KERNEL_WIDE_MOMENTS
#else
#define SHOAL_GMM_KERNEL_WIDE_MOMENTS
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <shoal/gmm/kernel/moments-inl.hpp>
#include <shoal/gmm/kernel/wide_norms-inl.hpp>
#include <shoal/gmm/tuning.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// Components whose sums are taken together of rows that they share, which are packed once for all of them.
inline constexpr std::size_t wide_components = 16;

// Columns of a tile of moments: two vectors.
template <class T>
HWY_INLINE std::size_t tile_columns() {
  return 2 * hn::Lanes(hn::ScalableTag<T>());
}

template <class T>
HWY_INLINE std::size_t tile_count(std::size_t columns) {
  return (columns + tile_columns<T>() - 1) / tile_columns<T>();
}

// The first column of tile `tile`; the last one may overlap with the one before it.
template <class T>
HWY_INLINE std::size_t tile_start(std::size_t tile, std::size_t columns) {
  return std::min(tile * tile_columns<T>(), columns - tile_columns<T>());
}

// A block's sums in the scalar of its rows, [tile][K]: S of the tile's columns, then the diagonal of Q. One tile more
// is read by nobody.
template <class T>
struct wide_sums {
  T* values;
  std::size_t components;
  std::size_t columns;

  static std::size_t size(std::size_t components, std::size_t columns) {
    return (tile_count<T>(columns) * components + 1) * 2 * tile_columns<T>();
  }
  HWY_INLINE T* tile(std::size_t t, std::size_t k) const {
    return values + (t * components + k) * 2 * tile_columns<T>();
  }
  HWY_INLINE T* nobody() const { return tile(tile_count<T>(columns), 0); }
};

// One component, what its sums are about, and its responsibilities for some rows.
template <class T>
struct wide_component {
  std::size_t k;
  const T* centre;
  const T* responsibility;
};

// The mean of the centres of all components.
template <class T>
void find_origin(const T* HWY_RESTRICT centres, std::size_t components, std::size_t columns, T* HWY_RESTRICT origin) {
  const hn::ScalableTag<T> d;
  const auto share = hn::Set(d, T{1} / static_cast<T>(components));
  for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) {
    const std::size_t column = std::min(j, columns - hn::Lanes(d));
    auto mean = hn::Zero(d);
    for (std::size_t k = 0; k < components; ++k) {
      mean = hn::MulAdd(share, hn::LoadU(d, centres + k * columns + column), mean);
    }
    hn::StoreU(mean, d, origin + column);
  }
}

// Whether a centre lies so near to the origin, in its component's own deviations, that sums about it keep their digits.
template <class T>
bool lies_near(const T* HWY_RESTRICT centre, const T* HWY_RESTRICT origin, const T* HWY_RESTRICT inverse,
               std::size_t columns) {
  const hn::ScalableTag<T> d;
  const auto most = hn::Set(d, static_cast<T>(most_origin_deviations));
  for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) {
    const std::size_t column = std::min(j, columns - hn::Lanes(d));
    const auto way = hn::Abs(hn::Sub(hn::LoadU(d, centre + column), hn::LoadU(d, origin + column)));
    // Written so that a NaN counts as far.
    if (!hn::AllTrue(d, hn::Le(hn::Mul(way, hn::LoadU(d, inverse + column)), most))) return false;
  }
  return true;
}

// One vector of columns of a row into S and the diagonal of Q.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void add_columns_of(D, V x, V responsibility, V& first, V& second) {
  const V weighted = hn::Mul(responsibility, x);
  first = hn::Add(first, weighted);
  second = hn::MulAdd(weighted, x, second);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void add_to(D d, hn::Vec<D> sum, T* HWY_RESTRICT into) {
  hn::Store(hn::Add(hn::Load(d, into), sum), d, into);
}

// Memory that will be read soon, a little of it asked for with each row: so many bytes.
struct bytes_ahead {
  const char* next;
  std::size_t each;
};

// Adds `count` packed rows to a tile of two components.
template <class T>
HWY_NOINLINE void add_packed_tile(const T* HWY_RESTRICT packed, std::size_t count, const T* HWY_RESTRICT of_a,
                                  const T* HWY_RESTRICT of_b, T* HWY_RESTRICT sums_a, T* HWY_RESTRICT sums_b,
                                  bytes_ahead ahead) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  auto s_a0 = zero, s_a1 = zero, s_b0 = zero, s_b1 = zero, q_a0 = zero, q_a1 = zero, q_b0 = zero, q_b1 = zero;
  for (std::size_t r = 0; r < count; ++r, packed += 2 * lanes) {
    const auto x0 = in_register(hn::Load(d, packed)), x1 = in_register(hn::Load(d, packed + lanes));
    auto responsibility = in_register(hn::Set(d, of_a[r]));
    add_columns_of(d, x0, responsibility, s_a0, q_a0);
    add_columns_of(d, x1, responsibility, s_a1, q_a1);
    responsibility = in_register(hn::Set(d, of_b[r]));
    add_columns_of(d, x0, responsibility, s_b0, q_b0);
    add_columns_of(d, x1, responsibility, s_b1, q_b1);
    hwy::Prefetch(ahead.next);
    ahead.next += ahead.each;
  }
  add_to(d, s_a0, sums_a), add_to(d, s_a1, sums_a + lanes);
  add_to(d, q_a0, sums_a + 2 * lanes), add_to(d, q_a1, sums_a + 3 * lanes);
  add_to(d, s_b0, sums_b), add_to(d, s_b1, sums_b + lanes);
  add_to(d, q_b0, sums_b + 2 * lanes), add_to(d, q_b1, sums_b + 3 * lanes);
}

// Adds all rows of the block to the sums of several components about one `origin`. `packed` is memory for a tile of
// these rows, x − origin.
template <class T>
void add_shared_rows(const T* const* rows, std::size_t count, const T* origin, const wide_component<T>* of,
                     std::size_t components, const wide_sums<T>& sums, T* HWY_RESTRICT packed, bytes_ahead ahead) {
  if (components == 0) return;
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), tiles = tile_count<T>(sums.columns);
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t column = tile_start<T>(t, sums.columns);
    const auto origin0 = hn::LoadU(d, origin + column), origin1 = hn::LoadU(d, origin + column + lanes);
    for (std::size_t r = 0; r < count; ++r) {
      const T* const x = rows[r] + column;
      hn::Store(hn::Sub(hn::LoadU(d, x), origin0), d, packed + 2 * r * lanes);
      hn::Store(hn::Sub(hn::LoadU(d, x + lanes), origin1), d, packed + (2 * r + 1) * lanes);
    }
    for (std::size_t n = 0; n < components; n += 2) {
      const bool two = n + 1 < components;
      const wide_component<T>&a = of[n], &b = of[two ? n + 1 : n];
      add_packed_tile(packed, count, a.responsibility, b.responsibility, sums.tile(t, a.k),
                      two ? sums.tile(t, b.k) : sums.nobody(), ahead);
      ahead.next += count * ahead.each;
    }
  }
}

// Adds the rows that a list names to two tiles of one component, about its own centre.
template <class T>
HWY_NOINLINE void add_listed_tiles(const T* const* rows, std::size_t count, const wide_component<T>& of, std::size_t a,
                                   std::size_t b, T* HWY_RESTRICT sums_a, T* HWY_RESTRICT sums_b) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const T* HWY_RESTRICT const responsibilities = of.responsibility;
  const auto centre_a0 = hn::LoadU(d, of.centre + a), centre_a1 = hn::LoadU(d, of.centre + a + lanes);
  const auto centre_b0 = hn::LoadU(d, of.centre + b), centre_b1 = hn::LoadU(d, of.centre + b + lanes);
  auto s_a0 = zero, s_a1 = zero, s_b0 = zero, s_b1 = zero, q_a0 = zero, q_a1 = zero, q_b0 = zero, q_b1 = zero;
  for (std::size_t r = 0; r < count; ++r) {
    const T *HWY_RESTRICT const x = rows[r] + a, *HWY_RESTRICT const y = rows[r] + b;
    const auto responsibility = in_register(hn::Set(d, responsibilities[r]));
    add_columns_of(d, hn::Sub(hn::LoadU(d, x), centre_a0), responsibility, s_a0, q_a0);
    add_columns_of(d, hn::Sub(hn::LoadU(d, x + lanes), centre_a1), responsibility, s_a1, q_a1);
    add_columns_of(d, hn::Sub(hn::LoadU(d, y), centre_b0), responsibility, s_b0, q_b0);
    add_columns_of(d, hn::Sub(hn::LoadU(d, y + lanes), centre_b1), responsibility, s_b1, q_b1);
  }
  add_to(d, s_a0, sums_a), add_to(d, s_a1, sums_a + lanes);
  add_to(d, q_a0, sums_a + 2 * lanes), add_to(d, q_a1, sums_a + 3 * lanes);
  add_to(d, s_b0, sums_b), add_to(d, s_b1, sums_b + lanes);
  add_to(d, q_b0, sums_b + 2 * lanes), add_to(d, q_b1, sums_b + 3 * lanes);
}

// Adds the rows that a list names to the sums of one component.
template <class T>
void add_listed_rows(const T* const* rows, std::size_t count, const wide_component<T>& of, const wide_sums<T>& sums) {
  const std::size_t tiles = tile_count<T>(sums.columns);
  for (std::size_t t = 0; t < tiles; t += 2) {
    const bool two = t + 1 < tiles;
    const std::size_t a = tile_start<T>(t, sums.columns), b = two ? tile_start<T>(t + 1, sums.columns) : a;
    add_listed_tiles(rows, count, of, a, b, sums.tile(t, of.k), two ? sums.tile(t + 1, of.k) : sums.nobody());
  }
}

template <class T>
void clear_wide(const wide_sums<T>& sums, std::size_t k) {
  for (std::size_t t = 0; t < tile_count<T>(sums.columns); ++t) {
    std::fill_n(sums.tile(t, k), 2 * tile_columns<T>(), T{0});
  }
}

// Adds the sums of one component, which are about `origin` and weigh `weight`, to float64 ones about its centre:
// columns of S from `values` on, then columns of Q.
template <class T>
void flush_wide(const wide_sums<T>& sums, const wide_component<T>& of, const T* origin, double weight,
                double* HWY_RESTRICT values) {
  const hn::ScalableTag<double> d;
  const std::size_t columns = sums.columns, width = tile_columns<T>();
  const auto total = hn::Set(d, weight);
  for (std::size_t t = 0; t < tile_count<T>(columns); ++t) {
    const std::size_t column = tile_start<T>(t, columns), done = t * width - column;
    const T* const tile = sums.tile(t, of.k);
    for (std::size_t i = done; done > 0 && i < width; ++i) {
      const double shift = static_cast<double>(of.centre[column + i]) - static_cast<double>(origin[column + i]);
      const auto first = static_cast<double>(tile[i]), second = static_cast<double>(tile[width + i]);
      values[column + i] += first - shift * weight;
      values[columns + column + i] += second - shift * (2 * first - shift * weight);
    }
    if (done > 0) continue;
    for (std::size_t i = 0; i < width; i += hn::Lanes(d)) {
      double* const into = values + column + i;
      const auto shift = hn::Sub(load_double_at(d, of.centre + column + i), load_double_at(d, origin + column + i));
      const auto first = load_double(d, tile + i), moved = hn::NegMulAdd(shift, total, first);
      hn::StoreU(hn::Add(hn::LoadU(d, into), moved), d, into);
      // Σ r (x − o − δ)² = Q − δ S − δ (S − δ W)
      const auto second = hn::NegMulAdd(shift, hn::Add(first, moved), load_double(d, tile + width + i));
      hn::StoreU(hn::Add(hn::LoadU(d, into + columns), second), d, into + columns);
    }
  }
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
