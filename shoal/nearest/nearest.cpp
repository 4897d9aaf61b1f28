#include <shoal/nearest/nearest.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#define SHOAL_INTEGER_PRODUCTS
#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/nearest/nearest.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <shoal/nearest/byte_search-inl.hpp>
#include <shoal/nearest/cell_search-inl.hpp>
#include <shoal/nearest/coarse_search-inl.hpp>
#include <shoal/nearest/row_panel-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {
namespace {

// A score carries its centroid's number within a group in its lowest mantissa bits, so that one minimum keeps both.
constexpr std::size_t group_size = 64;
constexpr std::size_t panels_in_group = group_size / centroid_index<float>::panel;
// What those bits may add to or take from a score, relative to it, for the coarser of the scalars, twice.
constexpr double truncation = 0x1p-16;

// When it leaves more than one row in coarse_hopeless_share in doubt, it is not tried in so many calls.
constexpr std::size_t coarse_hopeless_share = 2;
constexpr std::size_t coarse_hopeless_calls = 15;

// What is taken off lower bounds of distances, relative to them, for their own roundings.
constexpr double slack = 1e-6;
template <class T>
constexpr double largest_bound = static_cast<double>(std::numeric_limits<T>::max()) / 4;

// The least and the second least score of each row, over the centroids of one group.
template <class V>
struct least_two {
  V best;
  V second;
};

template <class D, class V = hn::Vec<D>, class I>
HWY_INLINE void consider(D d, V score, V keep, I number, least_two<V>& least) {
  const V key = hn::Or(hn::And(score, keep), hn::BitCast(d, number));
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    // Keys are positive, so that their bits order them too, and whole numbers are compared by more of the units.
    const hn::RebindToSigned<D> di;
    const auto best = hn::BitCast(di, least.best), bits = hn::BitCast(di, key);
    least.second = hn::BitCast(d, hn::Min(hn::BitCast(di, least.second), hn::Max(best, bits)));
    least.best = hn::BitCast(d, hn::Min(best, bits));
  } else {
    least.second = hn::Min(least.second, hn::Max(least.best, key));
    least.best = hn::Min(least.best, key);
  }
}

// Scores of three vectors of rows against the four centroids of one panel. `rows` is a turned panel.
template <class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void score_panel(D d, const T* HWY_RESTRICT rows, const T* HWY_RESTRICT centroids, std::size_t columns,
                            const T* HWY_RESTRICT half_norms, V start0, V start1, V start2, std::size_t first,
                            least_two<V>& least0, least_two<V>& least1, least_two<V>& least2) {
  using I = hn::TFromD<hn::RebindToSigned<D>>;
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  V h = hn::Set(d, half_norms[0]);
  V a00 = hn::Add(start0, h), a01 = hn::Add(start1, h), a02 = hn::Add(start2, h);
  h = hn::Set(d, half_norms[1]);
  V a10 = hn::Add(start0, h), a11 = hn::Add(start1, h), a12 = hn::Add(start2, h);
  h = hn::Set(d, half_norms[2]);
  V a20 = hn::Add(start0, h), a21 = hn::Add(start1, h), a22 = hn::Add(start2, h);
  h = hn::Set(d, half_norms[3]);
  V a30 = hn::Add(start0, h), a31 = hn::Add(start1, h), a32 = hn::Add(start2, h);
#pragma GCC unroll 4
  for (std::size_t j = 0; j < columns; ++j) {
    const V x0 = hn::Load(d, rows);
    const V x1 = hn::Load(d, rows + lanes);
    const V x2 = hn::Load(d, rows + 2 * lanes);
    V c = hn::Set(d, centroids[0]);
    a00 = hn::MulAdd(x0, c, a00), a01 = hn::MulAdd(x1, c, a01), a02 = hn::MulAdd(x2, c, a02);
    c = hn::Set(d, centroids[1]);
    a10 = hn::MulAdd(x0, c, a10), a11 = hn::MulAdd(x1, c, a11), a12 = hn::MulAdd(x2, c, a12);
    c = hn::Set(d, centroids[2]);
    a20 = hn::MulAdd(x0, c, a20), a21 = hn::MulAdd(x1, c, a21), a22 = hn::MulAdd(x2, c, a22);
    c = hn::Set(d, centroids[3]);
    a30 = hn::MulAdd(x0, c, a30), a31 = hn::MulAdd(x1, c, a31), a32 = hn::MulAdd(x2, c, a32);
    rows += panel_vectors * lanes;
    centroids += 4;
  }
  const V keep = hn::BitCast(d, hn::Set(di, ~static_cast<I>(group_size - 1)));
  auto number = hn::Set(di, static_cast<I>(first));
  consider(d, a00, keep, number, least0), consider(d, a01, keep, number, least1),
      consider(d, a02, keep, number, least2);
  number = hn::Set(di, static_cast<I>(first + 1));
  consider(d, a10, keep, number, least0), consider(d, a11, keep, number, least1),
      consider(d, a12, keep, number, least2);
  number = hn::Set(di, static_cast<I>(first + 2));
  consider(d, a20, keep, number, least0), consider(d, a21, keep, number, least1),
      consider(d, a22, keep, number, least2);
  number = hn::Set(di, static_cast<I>(first + 3));
  consider(d, a30, keep, number, least0), consider(d, a31, keep, number, least1),
      consider(d, a32, keep, number, least2);
}

// Scores of three vectors of rows against all centroids of a group, for so few columns that the rows stay in
// registers.
constexpr std::size_t few_columns = 4;

template <std::size_t Columns, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void score_columns(D d, const T* HWY_RESTRICT rows, const T* HWY_RESTRICT centroids,
                              const T* HWY_RESTRICT half_norms, std::size_t count, V start0, V start1, V start2,
                              least_two<V>& least0, least_two<V>& least1, least_two<V>& least2) {
  using I = hn::TFromD<hn::RebindToSigned<D>>;
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  const V keep = hn::BitCast(d, hn::Set(di, ~static_cast<I>(group_size - 1)));
  for (std::size_t k = 0; k < count; ++k) {
    const T* HWY_RESTRICT c = centroids + k / 4 * 4 * Columns + k % 4;
    const V h = hn::Set(d, half_norms[k]);
    V a0 = hn::Add(start0, h), a1 = hn::Add(start1, h), a2 = hn::Add(start2, h);
    for (std::size_t j = 0; j < Columns; ++j) {
      const V factor = hn::Set(d, c[4 * j]);
      const T* HWY_RESTRICT x = rows + j * panel_vectors * lanes;
      a0 = hn::MulAdd(hn::Load(d, x), factor, a0);
      a1 = hn::MulAdd(hn::Load(d, x + lanes), factor, a1);
      a2 = hn::MulAdd(hn::Load(d, x + 2 * lanes), factor, a2);
    }
    const auto number = hn::Set(di, static_cast<I>(k));
    consider(d, a0, keep, number, least0), consider(d, a1, keep, number, least1), consider(d, a2, keep, number, least2);
  }
}

template <class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void score_few(D d, const T* rows, std::size_t columns, const T* centroids, const T* half_norms,
                          std::size_t count, V start0, V start1, V start2, least_two<V>& least0, least_two<V>& least1,
                          least_two<V>& least2) {
  if (columns == 1) {
    score_columns<1>(d, rows, centroids, half_norms, count, start0, start1, start2, least0, least1, least2);
  } else if (columns == 2) {
    score_columns<2>(d, rows, centroids, half_norms, count, start0, start1, start2, least0, least1, least2);
  } else if (columns == 3) {
    score_columns<3>(d, rows, centroids, half_norms, count, start0, start1, start2, least0, least1, least2);
  } else {
    score_columns<4>(d, rows, centroids, half_norms, count, start0, start1, start2, least0, least1, least2);
  }
}

// The least scores of all groups so far, and the centroid of the least.
template <class D>
struct overall {
  hn::Vec<D> best;
  hn::Vec<D> second;
  hn::Vec<hn::RebindToSigned<D>> number;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE void merge_group(D, const least_two<V>& group, std::size_t first, overall<D>& all) {
  using I = hn::TFromD<hn::RebindToSigned<D>>;
  const hn::RebindToSigned<D> di;
  const auto number = hn::Add(hn::Set(di, static_cast<I>(first)),
                              hn::And(hn::BitCast(di, group.best), hn::Set(di, static_cast<I>(group_size - 1))));
  const auto better = hn::Lt(group.best, all.best);
  all.second = hn::Min(hn::Min(all.second, group.second), hn::Max(all.best, group.best));
  all.best = hn::Min(all.best, group.best);
  all.number = hn::IfThenElse(hn::RebindMask(di, better), number, all.number);
}

// The definition of the nearest centroid, with centroids across the lanes: each lane adds its columns in order.
template <class T>
HWY_INLINE std::int32_t decide_exactly(const centroid_index<T>& index, const T* row, double* HWY_RESTRICT distances,
                                       T* other) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t columns = index.columns();
  constexpr std::size_t width = centroid_index<T>::exact_panel;
  const std::size_t step = std::min(2 * lanes, width);
  const double* panel = index.exact();
  for (std::size_t first = 0; first < index.clusters(); first += width, panel += columns * width) {
    for (std::size_t k = 0; k < width; k += step) {
      auto sum0 = hn::Zero(d);
      auto sum1 = hn::Zero(d);
      for (std::size_t j = 0; j < columns; ++j) {
        const auto x = hn::Set(d, static_cast<double>(row[j]));
        const auto difference0 = hn::Sub(x, hn::Load(d, panel + j * width + k));
        const auto difference1 = hn::Sub(x, hn::Load(d, panel + j * width + k + step - lanes));
        sum0 = hn::Add(sum0, hn::Mul(difference0, difference0));
        sum1 = hn::Add(sum1, hn::Mul(difference1, difference1));
      }
      hn::Store(sum0, d, distances + first + k);
      hn::Store(sum1, d, distances + first + k + step - lanes);
    }
  }
  std::size_t nearest = 0;
  for (std::size_t k = 1; k < index.clusters(); ++k) {
    if (distances[k] < distances[nearest]) nearest = k;
  }
  if (other != nullptr) {
    double second = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < index.clusters(); ++k) {
      if (k != nearest) second = std::min(second, distances[k]);
    }
    *other = static_cast<T>(std::min(std::sqrt(second) * (1 - slack), largest_bound<T>));
  }
  return static_cast<std::int32_t>(nearest);
}

// One turned panel of rows; `count` of them are real.
template <class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void label_panel(D d, const centroid_index<T>& index, const T* HWY_RESTRICT panel, const T* rows,
                            std::size_t stride, std::size_t count, std::int32_t* labels, double* distances, T* others) {
  using I = hn::TFromD<hn::RebindToSigned<D>>;
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t columns = index.columns();
  V norm0 = hn::Zero(d), norm1 = hn::Zero(d), norm2 = hn::Zero(d);
  for (std::size_t j = 0; j < columns; ++j) {
    const V x0 = hn::Load(d, panel + j * panel_vectors * lanes);
    const V x1 = hn::Load(d, panel + j * panel_vectors * lanes + lanes);
    const V x2 = hn::Load(d, panel + j * panel_vectors * lanes + 2 * lanes);
    norm0 = hn::MulAdd(x0, x0, norm0), norm1 = hn::MulAdd(x1, x1, norm1), norm2 = hn::MulAdd(x2, x2, norm2);
  }
  // Sixteen times and a sixteenth: norms so large that a score could overflow make the error infinite.
  const auto error = [&](V norm) HWY_ATTR {
    const V sum = hn::Mul(hn::Add(norm, hn::Set(d, index.largest_norm())), hn::Set(d, T{16}));
    return hn::MulAdd(sum, hn::Set(d, index.error_factor() / 16),
                      hn::Set(d, static_cast<T>(columns + 8) * std::numeric_limits<T>::min()));
  };
  const V error0 = error(norm0), error1 = error(norm1), error2 = error(norm2);
  // Twice the error on top keeps every score positive, so that minima of keys order them.
  const V half = hn::Set(d, T{0.5}), two = hn::Set(d, T{2});
  const V start0 = hn::MulAdd(error0, two, hn::Mul(norm0, half));
  const V start1 = hn::MulAdd(error1, two, hn::Mul(norm1, half));
  const V start2 = hn::MulAdd(error2, two, hn::Mul(norm2, half));

  const V most = hn::Set(d, std::numeric_limits<T>::max());
  overall<D> all0{most, most, hn::Zero(di)}, all1 = all0, all2 = all0;
  constexpr std::size_t width = centroid_index<T>::panel;
  for (std::size_t first = 0; first < index.panels(); first += panels_in_group) {
    least_two<V> least0{most, most}, least1 = least0, least2 = least0;
    const std::size_t end = std::min(index.panels(), first + panels_in_group);
    if (columns <= few_columns) {
      const T* centroids = index.negated() + first * columns * width;
      const T* half_norms = index.half_norms() + first * width;
      const std::size_t count_here = (end - first) * width;
      score_few(d, panel, columns, centroids, half_norms, count_here, start0, start1, start2, least0, least1, least2);
    } else {
      for (std::size_t p = first; p < end; ++p) {
        score_panel(d, panel, index.negated() + p * columns * width, columns, index.half_norms() + p * width, start0,
                    start1, start2, (p - first) * width, least0, least1, least2);
      }
    }
    merge_group(d, least0, first * width, all0);
    merge_group(d, least1, first * width, all1);
    merge_group(d, least2, first * width, all2);
  }

  HWY_ALIGN I numbers[panel_vectors * hn::MaxLanes(hn::ScalableTag<T>())];
  hn::Store(all0.number, di, numbers);
  hn::Store(all1.number, di, numbers + lanes);
  hn::Store(all2.number, di, numbers + 2 * lanes);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int32_t>(numbers[i]);

  if (others != nullptr) {
    // Half the squared distance is the score less twice the error that was put on top, give or take an error for the
    // score and one for the norm of the row in it.
    const auto bound_of = [&](const overall<D>& all, V uncertainty) HWY_ATTR {
      const V score = hn::Mul(all.second, hn::Set(d, static_cast<T>(1 - truncation)));
      const V squared = hn::Mul(two, hn::Sub(score, hn::Mul(uncertainty, hn::Set(d, T{4.1}))));
      return hn::Mul(hn::Sqrt(hn::Max(squared, hn::Zero(d))), hn::Set(d, static_cast<T>(1 - slack)));
    };
    HWY_ALIGN T bounds[panel_vectors * hn::MaxLanes(hn::ScalableTag<T>())];
    hn::Store(bound_of(all0, error0), d, bounds);
    hn::Store(bound_of(all1, error1), d, bounds + lanes);
    hn::Store(bound_of(all2, error2), d, bounds + 2 * lanes);
    std::copy_n(bounds, count, others);
  }

  const auto certain = [&](const overall<D>& all, V bound) HWY_ATTR {
    const V gap = hn::Sub(hn::Sub(all.second, all.best), hn::Mul(all.second, hn::Set(d, static_cast<T>(truncation))));
    return hn::Gt(gap, hn::Mul(bound, two));
  };
  const auto certain0 = certain(all0, error0), certain1 = certain(all1, error1), certain2 = certain(all2, error2);
  if (HWY_LIKELY(hn::AllTrue(d, hn::And(certain0, hn::And(certain1, certain2))))) return;
  HWY_ALIGN T doubtful[panel_vectors * hn::MaxLanes(hn::ScalableTag<T>())];
  const V one = hn::Set(d, T{1});
  hn::Store(hn::IfThenZeroElse(certain0, one), d, doubtful);
  hn::Store(hn::IfThenZeroElse(certain1, one), d, doubtful + lanes);
  hn::Store(hn::IfThenZeroElse(certain2, one), d, doubtful + 2 * lanes);
  for (std::size_t i = 0; i < count; ++i) {
    if (doubtful[i] != 0) {
      labels[i] = decide_exactly(index, rows + i * stride, distances, others == nullptr ? nullptr : others + i);
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// Decides up to a panel of the rows that the coarse search left in doubt, which are taken off the list.
template <class D>
HWY_NOINLINE void decide_doubtful(D d, const centroid_index<float>& index, matrix_view<const float> rows,
                                  std::int32_t* labels, nearest_scratch<float>& scratch, float* others) {
  constexpr std::size_t most_rows = panel_vectors * hn::MaxLanes(hn::ScalableTag<float>());
  const std::size_t columns = index.columns();
  const std::size_t count = std::min(panel_vectors * hn::Lanes(d), scratch.doubtful.size());
  const std::size_t* const list = scratch.doubtful.data() + scratch.doubtful.size() - count;
  // So few rows take less time by the definition at once than a panel does that is mostly empty.
  constexpr std::size_t few_rows = 6;
  if (count <= few_rows) {
    for (std::size_t i = 0; i < count; ++i) {
      labels[list[i]] = decide_exactly(index, rows.row(list[i]), scratch.exact.data(),
                                       others == nullptr ? nullptr : others + list[i]);
    }
    scratch.doubtful.resize(scratch.doubtful.size() - count);
    return;
  }
  const matrix_view<const float> listed(scratch.doubtful_rows.data(), count, columns);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(rows.row(list[i]), columns, scratch.doubtful_rows.data() + i * columns);
  }
  std::int32_t found[most_rows];
  float bounds[most_rows];
  turn_panel(d, listed, 0, index.origin(), scratch.panel.data(), scratch.padded_rows.data());
  label_panel(d, index, scratch.panel.data(), listed.data(), columns, count, found, scratch.exact.data(),
              others == nullptr ? nullptr : bounds);
  for (std::size_t i = 0; i < count; ++i) {
    labels[list[i]] = found[i];
    if (others != nullptr) others[list[i]] = bounds[i];
  }
  scratch.doubtful.resize(scratch.doubtful.size() - count);
}

// Returns false, with nothing done, when the coarse search is not worth trying.
template <class D>
HWY_INLINE bool find_nearest_coarsely(D d, const centroid_index<float>& index, matrix_view<const float> rows,
                                      std::int32_t* labels, nearest_scratch<float>& scratch, float* others,
                                      std::span<const float> ahead, [[maybe_unused]] const kept_panels& kept) {
  if (!index.has_coarse()) return false;
  if (scratch.without_coarse > 0) {
    --scratch.without_coarse;
    return false;
  }
  const std::size_t width = panel_vectors * hn::Lanes(d);
  scratch.coarse_rows.grow(width * ((index.columns() + 1) / 2));
  scratch.coarse_half_norms.grow(index.panels() * centroid_index<float>::panel + hn::Lanes(d));
  scratch.doubtful_rows.grow(width * index.columns());
  scratch.doubtful.clear();
  const bool by_bytes = prepare_bytes(d, index, scratch);
  scratch.by_bytes = by_bytes;
  std::optional<tile_unit> unit;
  if (by_bytes && scratch.by_tiles) unit.emplace(index.tiles());
  std::size_t doubts = 0;
  for (std::size_t start = 0; start < rows.rows(); start += width) {
    // Where the last panel would not be full, it has some rows of the one before again: that costs less than to fill
    // it.
    const std::size_t first = rows.rows() < width ? start : std::min(start, rows.rows() - width);
    const std::size_t count = std::min(width, rows.rows() - first);
    const auto turn = [&] {
      turn_panel(d, rows, first, index.origin(), scratch.panel.data(), scratch.padded_rows.data());
    };
    // What is read next, for between two panels memory would idle: this panel's part of what the caller will read, or
    // the rows of the next panel, when they lie there without gaps.
    const std::size_t done = first + count;
    const float* next = rows.row(first) + count * rows.row_stride();
    const float* next_end = next;
    if (!ahead.empty()) {
      next = ahead.data() + ahead.size() * first / rows.rows();
      next_end = ahead.data() + ahead.size() * done / rows.rows();
    } else if (!unit && rows.row_stride() == rows.columns()) {  // the tile unit leaves too little time for it
      next_end = next + std::min(width, rows.rows() - done) * rows.columns();
    }
    float* const bounds = others == nullptr ? nullptr : others + first;
    std::uint64_t doubtful = 0;
    if constexpr (has_byte_products) {
      if (by_bytes) {
        const std::size_t panel = start / width, quads = (index.columns() + 3) / 4;
        std::int32_t* const packed =
            kept.packed == nullptr ? scratch.coarse_rows.data() : kept.packed + panel * quads * width;
        byte_panel& facts = kept.packed == nullptr ? scratch.byte_facts : kept.panels[panel];
        const auto call_rows = static_cast<std::uint32_t>(rows.rows());
        bool there = kept.packed != nullptr && facts.call_rows == call_rows;
        if (!there) {
          turn();
          there = make_bytes(d, scratch.panel.data(), index.columns(), packed, facts);
          facts.call_rows = there ? call_rows : 0;
        }
        doubtful = there ? label_bytes(d, index, packed, facts, rows.row(first), rows.row_stride(), count, next,
                                       next_end, labels + first, bounds, unit ? &*unit : nullptr, scratch)
                         : ~std::uint64_t{0} >> (64 - count);
      }
    }
    if (!by_bytes) {
      turn();
      doubtful =
          label_panel_coarsely(d, index, scratch.panel.data(), count, next, next_end, labels + first, bounds, scratch);
    }
    for (; doubtful != 0; doubtful &= doubtful - 1, ++doubts) {
      scratch.doubtful.push_back(first + static_cast<std::size_t>(std::countr_zero(doubtful)));
    }
    while (scratch.doubtful.size() >= width) decide_doubtful(d, index, rows, labels, scratch, others);
  }
  if (!scratch.doubtful.empty()) decide_doubtful(d, index, rows, labels, scratch, others);
  if (by_bytes) {
    if (!bytes_pay(index, rows.rows(), scratch.candidates, doubts)) scratch.without_bytes = coarse_hopeless_calls;
  } else if (doubts * coarse_hopeless_share > rows.rows()) {
    scratch.without_coarse = coarse_hopeless_calls;
  }
  return true;
}
#endif

template <class T>
void find_nearest_with(const centroid_index<T>& index, matrix_view<const T> rows, std::int32_t* labels,
                       nearest_scratch<T>& scratch, T* others, [[maybe_unused]] std::span<const T> ahead,
                       [[maybe_unused]] const kept_panels& kept) {
  if (index.cells().any() && others == nullptr) return find_nearest_in_cells(index.cells(), rows, labels);
  const hn::ScalableTag<T> d;
  const std::size_t width = panel_vectors * hn::Lanes(d);
  scratch.panel.grow(width * index.columns());
  scratch.padded_rows.grow(width * index.columns());
  scratch.exact.grow((index.clusters() + centroid_index<T>::exact_panel - 1) / centroid_index<T>::exact_panel *
                     centroid_index<T>::exact_panel);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {
    if (find_nearest_coarsely(d, index, rows, labels, scratch, others, ahead, kept)) return;
  }
#endif
  for (std::size_t first = 0; first < rows.rows(); first += width) {
    turn_panel(d, rows, first, index.origin(), scratch.panel.data(), scratch.padded_rows.data());
    label_panel(d, index, scratch.panel.data(), rows.row(first), rows.row_stride(),
                std::min(width, rows.rows() - first), labels + first, scratch.exact.data(),
                others == nullptr ? nullptr : others + first);
  }
}

}  // namespace

void find_nearest_float(const centroid_index<float>& index, matrix_view<const float> rows, std::int32_t* labels,
                        nearest_scratch<float>& scratch, float* others, std::span<const float> ahead,
                        const kept_panels& kept) {
  find_nearest_with(index, rows, labels, scratch, others, ahead, kept);
}
void find_nearest_double(const centroid_index<double>& index, matrix_view<const double> rows, std::int32_t* labels,
                         nearest_scratch<double>& scratch, double* others, std::span<const double> ahead) {
  find_nearest_with(index, rows, labels, scratch, others, ahead, {});
}
bool has_byte_search_here() {
#if HWY_TARGET == HWY_SCALAR
  return false;
#else
  return has_byte_products;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal {

HWY_EXPORT(find_nearest_float);
HWY_EXPORT(find_nearest_double);
HWY_EXPORT(has_byte_search_here);

template <>
void find_nearest(const centroid_index<float>& index, matrix_view<const float> rows, std::int32_t* labels,
                  nearest_scratch<float>& scratch, float* others, std::span<const float> ahead,
                  const kept_panels& kept) {
  HWY_DYNAMIC_DISPATCH(find_nearest_float)(index, rows, labels, scratch, others, ahead, kept);
}
template <>
void find_nearest(const centroid_index<double>& index, matrix_view<const double> rows, std::int32_t* labels,
                  nearest_scratch<double>& scratch, double* others, std::span<const double> ahead, const kept_panels&) {
  HWY_DYNAMIC_DISPATCH(find_nearest_double)(index, rows, labels, scratch, others, ahead);
}
bool has_byte_search() { return HWY_DYNAMIC_DISPATCH(has_byte_search_here)(); }
}  // namespace shoal
#endif
