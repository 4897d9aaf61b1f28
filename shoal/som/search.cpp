#include <shoal/som/search.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <shoal/core/simd_targets.hpp>
#include <shoal/som/distance.hpp>
#include <shoal/som/tuning.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/som/search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <shoal/core/unrolled-inl.hpp>

#ifndef SHOAL_SOM_SEARCH_ONCE
#define SHOAL_SOM_SEARCH_ONCE
namespace shoal::som {

// The first unit of the least rank so far.
struct ranked_unit {
  double rank = std::numeric_limits<double>::infinity();
  std::int32_t unit = -1;

  // Units come in ascending order.
  void consider(double other_rank, std::size_t other) {
    if (unit >= 0 && !(other_rank < rank)) return;
    rank = other_rank;
    unit = static_cast<std::int32_t>(other);
  }
};

}  // namespace shoal::som
#endif

HWY_BEFORE_NAMESPACE();
namespace shoal::som {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using shoal::HWY_NAMESPACE::unrolled;

// A panel is three vectors of units, or several times three where vectors are narrower.
constexpr std::size_t tile_rows = 4;
constexpr std::size_t tile_vectors = 3;
template <class T>
using vector_tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class D>
constexpr std::size_t tile_units(D d) {
  return tile_vectors * hn::Lanes(d);
}

template <class D, class M>
HWY_INLINE std::uint64_t bits_of(D d, M mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  return bytes[0] | static_cast<std::uint64_t>(bytes[1]) << 8;
}

template <metric Metric, class V>
HWY_INLINE V add_column(V x, V w, V sum) {
  if constexpr (Metric == metric::euclidean || Metric == metric::cosine) {
    return hn::NegMulAdd(x, w, sum);
  } else if constexpr (Metric == metric::taxicab) {
    return hn::Add(sum, hn::Abs(hn::Sub(x, w)));
  } else {
    return hn::Max(sum, hn::Abs(hn::Sub(x, w)));
  }
}

// Scores of Rows rows against one tile of units. `units` and `starts` point into a panel.
template <metric Metric, std::size_t Rows, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void score_tile(D d, const T* HWY_RESTRICT rows, std::size_t columns, const T* HWY_RESTRICT units,
                           const T* HWY_RESTRICT starts, std::array<V, Rows * tile_vectors>& scores) {
  constexpr std::size_t stride = codebook_index<T>::panel;
  const std::size_t lanes = hn::Lanes(d);
  unrolled<Rows>([&](auto r) HWY_ATTR {
    unrolled<tile_vectors>([&](auto v) HWY_ATTR { scores[r * tile_vectors + v] = hn::LoadU(d, starts + v * lanes); });
  });
  for (std::size_t j = 0; j < columns; ++j) {
    std::array<V, tile_vectors> w;
    unrolled<tile_vectors>([&](auto v) HWY_ATTR { w[v] = hn::LoadU(d, units + j * stride + v * lanes); });
    unrolled<Rows>([&](auto r) HWY_ATTR {
      const V x = hn::Set(d, rows[r * columns + j]);
      unrolled<tile_vectors>([&](auto v) HWY_ATTR {
        scores[r * tile_vectors + v] = add_column<Metric>(x, w[v], scores[r * tile_vectors + v]);
      });
    });
  }
}

// The least score of each of Rows rows over the units of one group.
template <metric Metric, std::size_t Rows, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void least_of_group(D d, const codebook_index<T>& index, std::size_t group, const T* rows, T* minima) {
  std::array<V, Rows> least;
  unrolled<Rows>([&](auto r) HWY_ATTR { least[r] = hn::Set(d, std::numeric_limits<T>::max()); });
  for (std::size_t p = group * index.group_panels(); p < index.group_end(group); ++p) {
    for (std::size_t i = 0; i < codebook_index<T>::panel; i += tile_units(d)) {
      std::array<V, Rows * tile_vectors> scores;
      score_tile<Metric, Rows>(d, rows, index.columns(), index.coordinates(p) + i, index.starts(p) + i, scores);
      unrolled<Rows>([&](auto r) HWY_ATTR {
        unrolled<tile_vectors>([&](auto v) HWY_ATTR { least[r] = hn::Min(least[r], scores[r * tile_vectors + v]); });
      });
    }
  }
  unrolled<Rows>([&](auto r)
                     HWY_ATTR { minima[r * index.groups() + group] = hn::GetLane(hn::MinOfLanes(d, least[r])); });
}

// The best unit of one row but `except`, among those whose score may be within the bound of the least.
template <metric Metric, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE ranked_unit decide(D d, const codebook_index<T>& index, const T* shifted, const T* row, const T* minima,
                              double bound, std::int32_t except) {
  const T threshold = static_cast<T>(static_cast<double>(*std::min_element(minima, minima + index.groups())) + bound);
  const V highest = hn::Set(d, threshold);
  const std::size_t columns = index.columns();
  ranked_unit best;
  for (std::size_t group = 0; group < index.groups(); ++group) {
    if (minima[group] > threshold) continue;
    for (std::size_t p = group * index.group_panels(); p < index.group_end(group); ++p) {
      for (std::size_t i = 0; i < codebook_index<T>::panel; i += tile_units(d)) {
        std::array<V, tile_vectors> scores;
        score_tile<Metric, 1>(d, shifted, columns, index.coordinates(p) + i, index.starts(p) + i, scores);
        if (hn::AllFalse(d, hn::Le(hn::Min(scores[0], hn::Min(scores[1], scores[2])), highest))) continue;
        std::uint64_t candidates = 0;
        unrolled<tile_vectors>(
            [&](auto v) HWY_ATTR { candidates |= bits_of(d, hn::Le(scores[v], highest)) << (v * hn::Lanes(d)); });
        for (; candidates != 0; candidates &= candidates - 1) {
          const std::size_t unit =
              p * codebook_index<T>::panel + i + static_cast<std::size_t>(std::countr_zero(candidates));
          if (unit >= index.units() || static_cast<std::int32_t>(unit) == except) continue;
          best.consider(defined_rank(Metric, row, index.exact(unit), columns), unit);
        }
      }
    }
  }
  return best;
}

// For rows whose scores may have left the range of the scalar.
template <class T>
HWY_NOINLINE ranked_unit decide_among_all(const codebook_index<T>& index, const T* row, std::int32_t except) {
  ranked_unit best;
  for (std::size_t unit = 0; unit < index.units(); ++unit) {
    if (static_cast<std::int32_t>(unit) == except) continue;
    best.consider(defined_rank(index.metric(), row, index.exact(unit), index.columns()), unit);
  }
  return best;
}

// Puts the least of a group without the unit `except`, which is in it, in the place of its least.
template <metric Metric, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void leave_out(D d, const codebook_index<T>& index, const T* shifted, std::int32_t except, T* minima) {
  const auto unit = static_cast<std::size_t>(except);
  const std::size_t group = unit / codebook_index<T>::panel / index.group_panels();
  const V most = hn::Set(d, std::numeric_limits<T>::max());
  V least = most;
  for (std::size_t p = group * index.group_panels(); p < index.group_end(group); ++p) {
    for (std::size_t i = 0; i < codebook_index<T>::panel; i += tile_units(d)) {
      std::array<V, tile_vectors> scores;
      score_tile<Metric, 1>(d, shifted, index.columns(), index.coordinates(p) + i, index.starts(p) + i, scores);
      const std::size_t first = p * codebook_index<T>::panel + i;
      unrolled<tile_vectors>([&](auto v) HWY_ATTR {
        // The unit's lane among those from `first` on; what lies outside the vector is no lane.
        const auto lane =
            static_cast<T>(static_cast<std::ptrdiff_t>(unit - first) - static_cast<std::ptrdiff_t>(v * hn::Lanes(d)));
        const auto own = hn::Eq(hn::Iota(d, T{0}), hn::Set(d, lane));
        least = hn::Min(least, hn::IfThenElse(own, most, scores[v]));
      });
    }
  }
  minima[group] = hn::GetLane(hn::MinOfLanes(d, least));
}

template <metric Metric, class T>
double norm_of(const T* row, std::size_t columns) {
  double norm = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const double magnitude = std::abs(static_cast<double>(row[j]));
    if constexpr (Metric == metric::chebyshev) {
      norm = std::max(norm, magnitude);
    } else {
      norm += Metric == metric::taxicab ? magnitude : magnitude * magnitude;
    }
  }
  return Metric == metric::cosine ? std::sqrt(norm) : norm;
}

template <metric Metric, class T>
HWY_NOINLINE void find_in_slab(const codebook_index<T>& index, matrix_view<const T> rows, const found_units& found,
                               search_scratch<T>& scratch) {
  const vector_tag<T> d;
  const std::size_t columns = index.columns(), count = rows.rows();
  T* const shifted = scratch.rows.data();
  T* const minima = scratch.minima.data();
  const std::size_t groups = index.groups();
  for (std::size_t i = 0; i < count; ++i) {
    const T* const row = rows.row(i);
    for (std::size_t j = 0; j < columns; ++j) shifted[i * columns + j] = row[j] - index.origin()[j];
  }
  for (std::size_t group = 0; group < groups; ++group) {
    std::size_t i = 0;
    for (; i + tile_rows <= count; i += tile_rows) {
      least_of_group<Metric, tile_rows>(d, index, group, shifted + i * columns, minima + i * groups);
    }
    for (; i < count; ++i) least_of_group<Metric, 1>(d, index, group, shifted + i * columns, minima + i * groups);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const T* const row = rows.row(i);
    const T* const own = shifted + i * columns;
    const double norm = norm_of<Metric>(own, columns) + index.largest_norm();
    // Twice the error: the least score may be off, and so may another.
    const double bound = 2 * (norm * index.error_factor() +
                              static_cast<double>(columns + 8) * static_cast<double>(std::numeric_limits<T>::min()));
    const bool in_range = norm < static_cast<double>(std::numeric_limits<T>::max()) / 64;
    const ranked_unit best = in_range ? decide<Metric>(d, index, own, row, minima + i * groups, bound, -1)
                                      : decide_among_all(index, row, -1);
    found.best[i] = best.unit;
    if (found.distances != nullptr) found.distances[i] = distance_of_rank(Metric, best.rank, row, columns);
    if (found.second == nullptr) continue;
    if (!in_range || index.units() == 1) {
      found.second[i] = decide_among_all(index, row, best.unit).unit;
    } else {
      leave_out<Metric>(d, index, own, best.unit, minima + i * groups);
      found.second[i] = decide<Metric>(d, index, own, row, minima + i * groups, bound, best.unit).unit;
    }
  }
}

template <class T>
HWY_INLINE void find_in_slab_of_metric(const codebook_index<T>& index, matrix_view<const T> rows,
                                       const found_units& found, search_scratch<T>& scratch) {
  switch (index.metric()) {
    case metric::euclidean:
      return find_in_slab<metric::euclidean>(index, rows, found, scratch);
    case metric::taxicab:
      return find_in_slab<metric::taxicab>(index, rows, found, scratch);
    case metric::cosine:
      return find_in_slab<metric::cosine>(index, rows, found, scratch);
    case metric::chebyshev:
      return find_in_slab<metric::chebyshev>(index, rows, found, scratch);
  }
}

}  // namespace

void find_in_slab_float(const codebook_index<float>& index, matrix_view<const float> rows, const found_units& found,
                        search_scratch<float>& scratch) {
  find_in_slab_of_metric(index, rows, found, scratch);
}
void find_in_slab_double(const codebook_index<double>& index, matrix_view<const double> rows, const found_units& found,
                         search_scratch<double>& scratch) {
  find_in_slab_of_metric(index, rows, found, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal::som
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::som {
namespace {

HWY_EXPORT(find_in_slab_float);
HWY_EXPORT(find_in_slab_double);

void find_in_slab(const codebook_index<float>& index, matrix_view<const float> rows, const found_units& found,
                  search_scratch<float>& scratch) {
  HWY_DYNAMIC_DISPATCH(find_in_slab_float)(index, rows, found, scratch);
}
void find_in_slab(const codebook_index<double>& index, matrix_view<const double> rows, const found_units& found,
                  search_scratch<double>& scratch) {
  HWY_DYNAMIC_DISPATCH(find_in_slab_double)(index, rows, found, scratch);
}

}  // namespace

template <class Scalar>
void find_units(const codebook_index<Scalar>& index, matrix_view<const Scalar> rows, const found_units& found,
                search_scratch<Scalar>& scratch) {
  scratch.rows.grow(slab_rows * index.columns());
  scratch.minima.grow(slab_rows * index.groups());
  for (std::size_t first = 0; first < rows.rows(); first += slab_rows) {
    const std::size_t count = std::min(slab_rows, rows.rows() - first);
    find_in_slab(index, rows.middle_rows(first, count),
                 {found.best + first, found.distances == nullptr ? nullptr : found.distances + first,
                  found.second == nullptr ? nullptr : found.second + first},
                 scratch);
  }
}
template void find_units(const codebook_index<float>&, matrix_view<const float>, const found_units&,
                         search_scratch<float>&);
template void find_units(const codebook_index<double>&, matrix_view<const double>, const found_units&,
                         search_scratch<double>&);

}  // namespace shoal::som
#endif
