// The nearest centroids of float32 rows by products of 16-bit integers, for all rows where these are fine enough.
// Compiled once for each instruction set.
//
// Integer products of neighbouring columns take half the time of float32 multiply-adds or less. With x′ ≈ s·X and
// c′ ≈ t·C a row's score ‖c′‖²/2 − x′·c′ is s·t·(H − X·C), the bracket an exact 32-bit integer, within
//   ‖x′ − sX‖·‖c′‖ + s‖X‖·‖c′ − tC‖
// and a few units of s·t. Both X and C have norms of at most coarse_range, so that no sum can overflow:
// by Cauchy and Schwarz |X·C| ≤ coarse_range², and H is at most half of that. A row whose two least scores are not
// farther apart than twice this bound is in doubt and decided elsewhere.
#if defined(SHOAL_ESTIMATION_COARSE_SEARCH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_ESTIMATION_COARSE_SEARCH_INL
#undef SHOAL_ESTIMATION_COARSE_SEARCH_INL
#else
#define SHOAL_ESTIMATION_COARSE_SEARCH_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <shoal/nearest/centroid_index.hpp>
#include <shoal/nearest/row_panel-inl.hpp>
#include <shoal/nearest/scratch.hpp>

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A score carries its centroid's number within a group in its lowest bits.
inline constexpr std::size_t coarse_group = 1024;
inline constexpr auto coarse_numbers = [] {
  std::array<std::int32_t, coarse_group> numbers{};
  for (std::size_t k = 0; k < coarse_group; ++k) numbers[k] = static_cast<std::int32_t>(k);
  return numbers;
}();
inline constexpr std::int32_t coarse_keep = ~static_cast<std::int32_t>(coarse_group - 1);
// Units of s·t by which a score may be off apart from the products: its number, and nine float32 roundings of H, of the
// score and of the steps, each at most 1.5 · coarse_range² · 2⁻²⁴ = 81 units, six of them of a third of that.
inline constexpr float coarse_units = 1024 + 576;
// Squared norms beyond this, or that are not numbers, are left to others.
inline constexpr float coarse_largest_norm = 1e24F;

template <class V>
struct coarse_least {
  V best;
  V second;
  V number;
};

// Sums of products of pairs; Highway leaves them in two parts until they are rearranged. On x86 `a` has all of a lane's
// sum, so that it can start from a number of its own. On NEON a lane's sum comes from two lanes of `a` or of `b`.
inline constexpr bool whole_sums = HWY_ARCH_X86;
template <class V>
struct pair_sum {
  V a;
  V b;
};

template <class DI, class V = hn::Vec<DI>>
HWY_INLINE void add_pairs(DI di, V x, V c, pair_sum<V>& sum) {
#if HWY_TARGET <= HWY_AVX3_DL
  // Highway 1.0 does not say so itself; without it a product and its addition are two instructions, of which fewer than
  // three fit into four cycles of a Zen 4.
  (void)di;
  asm("vpdpwssd %2, %1, %0" : "+v"(sum.a.raw) : "v"(x.raw), "v"(c.raw));
#else
  const hn::Repartition<std::int16_t, DI> pairs;
  sum.a = hn::ReorderWidenMulAccumulate(di, hn::BitCast(pairs, x), hn::BitCast(pairs, c), sum.a, sum.b);
#endif
}

template <class DI, class V = hn::Vec<DI>>
HWY_INLINE pair_sum<V> start_sum(DI di, std::int32_t from) {
  return {whole_sums ? hn::Set(di, from) : hn::Zero(di), hn::Zero(di)};
}

template <class DI, class V = hn::Vec<DI>>
HWY_INLINE V end_sum(DI di, const pair_sum<V>& sum, std::int32_t from) {
  const V products = hn::RearrangeToOddPlusEven(sum.a, sum.b);
  return whole_sums ? products : hn::Add(products, hn::Set(di, from));
}

template <class V>
HWY_INLINE void consider_coarse(V score, V keep, V number, coarse_least<V>& least) {
  const V key = hn::OrAnd(number, score, keep);
  least.second = hn::Min(least.second, hn::Max(least.best, key));
  least.best = hn::Min(least.best, key);
}

// Scores of three vectors of rows against the four centroids of one panel. `rows` is [pair][3 vectors].
template <class DI, class V = hn::Vec<DI>>
HWY_INLINE void coarse_scores(DI di, const std::int32_t* HWY_RESTRICT rows, const std::int32_t* HWY_RESTRICT centroids,
                              std::size_t pairs, const std::int32_t* HWY_RESTRICT half_norms,
                              const std::int32_t* HWY_RESTRICT numbers, coarse_least<V>& least0,
                              coarse_least<V>& least1, coarse_least<V>& least2) {
  const std::size_t lanes = hn::Lanes(di);
  pair_sum<V> a00 = start_sum(di, half_norms[0]), a01 = a00, a02 = a00;
  pair_sum<V> a10 = start_sum(di, half_norms[1]), a11 = a10, a12 = a10;
  pair_sum<V> a20 = start_sum(di, half_norms[2]), a21 = a20, a22 = a20;
  pair_sum<V> a30 = start_sum(di, half_norms[3]), a31 = a30, a32 = a30;
#pragma GCC unroll 4
  for (std::size_t p = 0; p < pairs; ++p) {
    const V x0 = hn::Load(di, rows);
    const V x1 = hn::Load(di, rows + lanes);
    const V x2 = hn::Load(di, rows + 2 * lanes);
    V c = hn::Set(di, centroids[0]);
    add_pairs(di, x0, c, a00), add_pairs(di, x1, c, a01), add_pairs(di, x2, c, a02);
    c = hn::Set(di, centroids[1]);
    add_pairs(di, x0, c, a10), add_pairs(di, x1, c, a11), add_pairs(di, x2, c, a12);
    c = hn::Set(di, centroids[2]);
    add_pairs(di, x0, c, a20), add_pairs(di, x1, c, a21), add_pairs(di, x2, c, a22);
    c = hn::Set(di, centroids[3]);
    add_pairs(di, x0, c, a30), add_pairs(di, x1, c, a31), add_pairs(di, x2, c, a32);
    rows += panel_vectors * lanes;
    centroids += centroid_index<float>::panel;
  }
  const V keep = hn::Set(di, coarse_keep);
  V number = hn::Set(di, numbers[0]);
  consider_coarse(end_sum(di, a00, half_norms[0]), keep, number, least0);
  consider_coarse(end_sum(di, a01, half_norms[0]), keep, number, least1);
  consider_coarse(end_sum(di, a02, half_norms[0]), keep, number, least2);
  number = hn::Set(di, numbers[1]);
  consider_coarse(end_sum(di, a10, half_norms[1]), keep, number, least0);
  consider_coarse(end_sum(di, a11, half_norms[1]), keep, number, least1);
  consider_coarse(end_sum(di, a12, half_norms[1]), keep, number, least2);
  number = hn::Set(di, numbers[2]);
  consider_coarse(end_sum(di, a20, half_norms[2]), keep, number, least0);
  consider_coarse(end_sum(di, a21, half_norms[2]), keep, number, least1);
  consider_coarse(end_sum(di, a22, half_norms[2]), keep, number, least2);
  number = hn::Set(di, numbers[3]);
  consider_coarse(end_sum(di, a30, half_norms[3]), keep, number, least0);
  consider_coarse(end_sum(di, a31, half_norms[3]), keep, number, least1);
  consider_coarse(end_sum(di, a32, half_norms[3]), keep, number, least2);
}

template <class DI, class V = hn::Vec<DI>>
HWY_INLINE void merge_coarse(DI di, const coarse_least<V>& group, std::size_t first, coarse_least<V>& all) {
  const auto better = hn::Lt(group.best, all.best);
  const V number =
      hn::Add(hn::AndNot(hn::Set(di, coarse_keep), group.best), hn::Set(di, static_cast<std::int32_t>(first)));
  all.second = hn::Min(hn::Min(all.second, group.second), hn::Max(all.best, group.best));
  all.best = hn::Min(all.best, group.best);
  all.number = hn::IfThenElse(better, number, all.number);
}

// Two neighbouring columns of rows, in steps, as pairs of 16 bits. A number of steps is rounded by adding 1.5·2²³,
// which leaves it in the lowest bits of the sum.
template <class D, class V = hn::Vec<D>, class DI = hn::RebindToSigned<D>>
HWY_INLINE hn::Vec<DI> pair_columns(D d, V even, V odd, V inverse) {
  const DI di;
  const V shift = hn::Set(d, 0x1.8p23F);
  return hn::OrAnd(hn::ShiftLeft<16>(hn::BitCast(di, hn::MulAdd(odd, inverse, shift))),
                   hn::BitCast(di, hn::MulAdd(even, inverse, shift)), hn::Set(di, 0xffff));
}

// One turned panel of rows. Labels and bounds (as find_nearest's) of all `count` real ones are written; the bits of
// those in doubt, whose are wrong, are returned.
template <class D>
HWY_INLINE std::uint64_t label_panel_coarsely(D d, const centroid_index<float>& index, const float* HWY_RESTRICT panel,
                                              std::size_t count, const float* next, const float* next_end,
                                              std::int32_t* labels, float* others, nearest_scratch<float>& scratch) {
  using V = hn::Vec<D>;
  using DI = hn::RebindToSigned<D>;
  using VI = hn::Vec<DI>;
  const DI di;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t vectors = panel_vectors;
  constexpr std::size_t most_rows = vectors * hn::MaxLanes(hn::ScalableTag<float>());
  static_assert(vectors == 3 && most_rows <= 64);
  const std::size_t columns = index.columns();
  const std::uint64_t everyone = ~std::uint64_t{0} >> (64 - count);

  V norm0 = hn::Zero(d), norm1 = norm0, norm2 = norm0;
  for (std::size_t j = 0; j < columns; ++j) {
    const float* HWY_RESTRICT const x = panel + j * vectors * lanes;
    const V x0 = hn::Load(d, x), x1 = hn::Load(d, x + lanes), x2 = hn::Load(d, x + 2 * lanes);
    norm0 = hn::MulAdd(x0, x0, norm0), norm1 = hn::MulAdd(x1, x1, norm1), norm2 = hn::MulAdd(x2, x2, norm2);
  }
  const float row_norm = hn::GetLane(hn::MaxOfLanes(d, hn::Max(norm0, hn::Max(norm1, norm2))));
  const float largest = std::max(row_norm, index.largest_norm());
  // Also false for a NaN, which a maximum may lose, but a sum does not.
  const float any = hn::GetLane(hn::SumOfLanes(d, hn::Add(norm0, hn::Add(norm1, norm2))));
  if (!(any < coarse_largest_norm) || !(largest < coarse_largest_norm)) return everyone;
  const float step = std::sqrt(largest) / centroid_index<float>::coarse_range;
  const float unit = step * index.coarse_step();

  const std::size_t pairs = (columns + 1) / 2;
  std::int32_t* HWY_RESTRICT const rows = scratch.coarse_rows.data();
  const V inverse = hn::Set(d, 1 / step);
  for (std::size_t p = 0; p < pairs; ++p) {
    const float* HWY_RESTRICT const even = panel + 2 * p * vectors * lanes;
    const bool last = 2 * p + 1 == columns;
    for (std::size_t v = 0; v < vectors; ++v) {
      const V odd = last ? hn::Zero(d) : hn::Load(d, even + (vectors + v) * lanes);
      hn::Store(pair_columns(d, hn::Load(d, even + v * lanes), odd, inverse), di, rows + (p * vectors + v) * lanes);
    }
  }

  // Centroids that are only there to fill a panel are out of reach, but not so far that a sum could overflow.
  constexpr std::size_t width = centroid_index<float>::panel;
  std::int32_t* HWY_RESTRICT const half_norms = scratch.coarse_half_norms.data();
  const V unreachable = hn::Set(d, 1.2e9F), inverse_unit = hn::Set(d, 1 / unit);
  for (std::size_t k = 0; k < index.panels() * width; k += lanes) {
    const V half_norm = hn::Mul(hn::LoadU(d, index.half_norms() + k), inverse_unit);
    hn::Store(hn::NearestInt(hn::Min(half_norm, unreachable)), di, half_norms + k);
  }

  const VI most = hn::Set(di, std::numeric_limits<std::int32_t>::max());
  coarse_least<VI> all0{most, most, hn::Zero(di)}, all1 = all0, all2 = all0;
  constexpr std::size_t panels_in_group = coarse_group / width;
  constexpr std::size_t line = 64 / sizeof(float);
  const std::size_t lines_each = static_cast<std::size_t>(next_end - next) / (line * index.panels()) + 1;
  for (std::size_t first = 0; first < index.panels(); first += panels_in_group) {
    coarse_least<VI> least0{most, most, most}, least1 = least0, least2 = least0;
    const std::size_t end = std::min(index.panels(), first + panels_in_group);
    for (std::size_t p = first; p < end; ++p) {
      coarse_scores(di, rows, index.coarse() + p * pairs * width, pairs, half_norms + p * width,
                    coarse_numbers.data() + (p - first) * width, least0, least1, least2);
      for (std::size_t i = 0; i < lines_each && next < next_end; ++i, next += line) hwy::Prefetch(next);
    }
    merge_coarse(di, least0, first * width, all0);
    merge_coarse(di, least1, first * width, all1);
    merge_coarse(di, least2, first * width, all2);
  }

  HWY_ALIGN std::int32_t numbers[most_rows];
  HWY_ALIGN float bounds[most_rows];
  std::uint64_t doubtful = 0;
  // x′ − sX is at most half a step in each column, and the products with 1/s round.
  const float row_error = 0.51F * step * std::sqrt(static_cast<float>(columns));
  const V from_rows =
      hn::Set(d, row_error * std::sqrt(index.largest_norm()) + row_error * index.coarse_error() + coarse_units * unit);
  const V from_centroids = hn::Set(d, index.coarse_error());
  const auto finish = [&](const coarse_least<VI>& all, V norm, std::size_t at) HWY_ATTR {
    const V second = hn::ConvertTo(d, all.second);
    const V gap = hn::Mul(hn::Sub(second, hn::ConvertTo(d, all.best)), hn::Set(d, unit));
    V error = hn::MulAdd(hn::Sqrt(norm), from_centroids, from_rows);
    error = hn::MulAdd(hn::Add(norm, hn::Set(d, index.largest_norm())), hn::Set(d, index.error_factor()), error);
    error = hn::Mul(error, hn::Set(d, 2.05F));
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hn::Not(hn::Gt(gap, error)), bits);
    doubtful |= static_cast<std::uint64_t>(bits[0] | bits[1] << 8) << at;
    const V half = hn::Sub(hn::MulAdd(second, hn::Set(d, unit), hn::Mul(norm, hn::Set(d, 0.5F))), error);
    const V squared = hn::Mul(hn::Max(half, hn::Zero(d)), hn::Set(d, 2.0F));
    hn::Store(hn::Mul(hn::Sqrt(squared), hn::Set(d, 1 - 1e-6F)), d, bounds + at);
    hn::Store(all.number, di, numbers + at);
  };
  finish(all0, norm0, 0);
  finish(all1, norm1, lanes);
  finish(all2, norm2, 2 * lanes);
  std::copy_n(numbers, count, labels);
  if (others != nullptr) std::copy_n(bounds, count, others);
  return doubtful & everyone;
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();
#endif

#endif
