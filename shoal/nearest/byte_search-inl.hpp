// The nearest centroids of float32 rows by products of 8-bit integers, and by float32 among the few that these leave.
// Compiled once for each instruction set, used where one instruction adds four products.
//
// With x′ ≈ s·X and c′ ≈ t·C, where t is each centroid's own, a row's score ‖c′‖²/2 − x′·c′ is ‖c′‖²/2 − s·t·X·C,
// within
//   ‖x′ − sX‖·‖c′‖ + s‖X‖·‖c′ − tC‖
// and a few units of s·t; the norms are of what was really rounded away, the rows' the largest of a panel. Only
// centroids that may score less than the least that any can have at most may be nearest: a handful, whose scores are
// computed again. X and C are between −127 and 127.
#if defined(SHOAL_ESTIMATION_BYTE_SEARCH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_ESTIMATION_BYTE_SEARCH_INL
#undef SHOAL_ESTIMATION_BYTE_SEARCH_INL
#else
#define SHOAL_ESTIMATION_BYTE_SEARCH_INL
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <shoal/nearest/byte_rows.hpp>
#include <shoal/nearest/centroid_index.hpp>
#include <shoal/nearest/coarse_search-inl.hpp>
#include <shoal/nearest/row_panel-inl.hpp>
#include <shoal/nearest/scratch.hpp>
#include <shoal/nearest/tile_products.hpp>

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where one instruction adds four products, and masks are registers of bits.
inline constexpr bool has_byte_products = HWY_TARGET <= HWY_AVX3_DL;

// Scores of so many centroids are kept before those near the least are looked up.
inline constexpr std::size_t byte_group = 1024;
// Float32 numbers of a cache line.
inline constexpr std::size_t line_numbers = 64 / sizeof(float);
// A row that more centroids than these are left for is decided elsewhere.
inline constexpr std::size_t most_candidates = 32;
template <class V>
HWY_INLINE void add_quads(V rows, V centroids, V& sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(rows.raw), "v"(centroids.raw));
}

// What turns sums of products into bounds of scores, for the rows of one panel, centroid by centroid.
struct byte_scales {
  float* HWY_RESTRICT unit;       // s·t
  float* HWY_RESTRICT least;      // ‖c′‖²/2 less how far a score may be off
  float* HWY_RESTRICT twice_off;  // twice that, and a little
};

// Turns three vectors of sums against one centroid into lower bounds of their scores at `to`.
template <class D, class VI, class V = hn::Vec<D>>
HWY_INLINE void keep_bounds(D d, VI sum0, VI sum1, VI sum2, const byte_scales& scales, std::size_t k,
                            float* HWY_RESTRICT to, V& most0, V& most1, V& most2) {
  const std::size_t lanes = hn::Lanes(d);
  const V unit = hn::Set(d, scales.unit[k]), least = hn::Set(d, scales.least[k]);
  const V twice_off = hn::Set(d, scales.twice_off[k]);
  const V b0 = hn::MulAdd(hn::ConvertTo(d, sum0), unit, least);
  const V b1 = hn::MulAdd(hn::ConvertTo(d, sum1), unit, least);
  const V b2 = hn::MulAdd(hn::ConvertTo(d, sum2), unit, least);
  hn::Store(b0, d, to), hn::Store(b1, d, to + lanes), hn::Store(b2, d, to + 2 * lanes);
  most0 = hn::Min(most0, hn::Add(b0, twice_off));
  most1 = hn::Min(most1, hn::Add(b1, twice_off));
  most2 = hn::Min(most2, hn::Add(b2, twice_off));
}

// Lower bounds of the scores of three vectors of rows against the four centroids of one panel go to `bounds`,
// [4][3 vectors]; `most` is the least upper bound of each row. `rows` is [four columns][3 vectors]. So many `lines` of
// memory from `next` on are asked for, one every four columns: all at once they would keep what is read here waiting.
template <class D, class DI, class V = hn::Vec<D>, class VI = hn::Vec<DI>>
HWY_INLINE void byte_scores(D d, DI di, const std::int32_t* HWY_RESTRICT rows,
                            const std::int32_t* HWY_RESTRICT centroids, std::size_t quads,
                            const std::int32_t* HWY_RESTRICT starts, const byte_scales& scales,
                            float* HWY_RESTRICT bounds, V& most0, V& most1, V& most2, const float* next,
                            std::size_t lines) {
  const std::size_t lanes = hn::Lanes(di);
  VI a00 = hn::Set(di, starts[0]), a01 = a00, a02 = a00;
  VI a10 = hn::Set(di, starts[1]), a11 = a10, a12 = a10;
  VI a20 = hn::Set(di, starts[2]), a21 = a20, a22 = a20;
  VI a30 = hn::Set(di, starts[3]), a31 = a30, a32 = a30;
#pragma GCC unroll 4
  for (std::size_t q = 0; q < quads; ++q) {
    hwy::Prefetch(next + line_numbers * std::min(q, lines));
    const VI x0 = hn::Load(di, rows);
    const VI x1 = hn::Load(di, rows + lanes);
    const VI x2 = hn::Load(di, rows + 2 * lanes);
    VI c = hn::Set(di, centroids[0]);
    add_quads(x0, c, a00), add_quads(x1, c, a01), add_quads(x2, c, a02);
    c = hn::Set(di, centroids[1]);
    add_quads(x0, c, a10), add_quads(x1, c, a11), add_quads(x2, c, a12);
    c = hn::Set(di, centroids[2]);
    add_quads(x0, c, a20), add_quads(x1, c, a21), add_quads(x2, c, a22);
    c = hn::Set(di, centroids[3]);
    add_quads(x0, c, a30), add_quads(x1, c, a31), add_quads(x2, c, a32);
    rows += panel_vectors * lanes;
    centroids += centroid_index<float>::panel;
  }
  const auto keep = [&](std::size_t k, VI v0, VI v1, VI v2) HWY_ATTR {
    keep_bounds(d, v0, v1, v2, scales, k, bounds + k * panel_vectors * lanes, most0, most1, most2);
  };
  keep(0, a00, a01, a02);
  keep(1, a10, a11, a12);
  keep(2, a20, a21, a22);
  keep(3, a30, a31, a32);
}

// The same against centroids [first, end), by the tile unit. The sums of one tile become bounds while the unit makes
// those of the next. A group of centroids need not begin where a tile does.
template <class D, class DI, class V = hn::Vec<D>>
HWY_INLINE void tile_scores(D d, DI di, const tile_unit& unit, const centroid_index<float>& index,
                            const std::int32_t* rows, std::size_t first, std::size_t end, const byte_scales& scales,
                            float* HWY_RESTRICT bounds, V& most0, V& most1, V& most2, const float* next,
                            std::size_t lines) {
  const std::size_t lanes = hn::Lanes(d);
  const tile_cut& cut = index.tiles();
  HWY_ALIGN std::int32_t sums[2][tile_cut::most * byte_panel_rows];
  const std::size_t first_tile = first / cut.height, last_tile = (end - 1) / cut.height;
  const auto multiply = [&](std::size_t tile) {
    unit.multiply(index.tile_bytes() + tile * cut.tile_bytes(), rows, sums[tile % 2]);
  };
  multiply(first_tile);
  for (std::size_t tile = first_tile; tile <= last_tile; ++tile) {
    if (tile < last_tile) multiply(tile + 1);
    const std::size_t tile_first = tile * cut.height;
    const std::size_t begin = std::max(first, tile_first), stop = std::min(end, tile_first + cut.height);
    for (std::size_t k = begin; k < stop; ++k) {
      for (std::size_t line = 0; line < lines; ++line) hwy::Prefetch(next + line_numbers * line);
      next += line_numbers * lines;
      const std::int32_t* HWY_RESTRICT const from = sums[tile % 2] + (k - tile_first) * byte_panel_rows;
      const auto start = hn::Set(di, index.byte_starts()[k]);
      keep_bounds(d, hn::Add(hn::Load(di, from), start), hn::Add(hn::Load(di, from + lanes), start),
                  hn::Add(hn::Load(di, from + 2 * lanes), start), scales, k, bounds + (k - first) * byte_panel_rows,
                  most0, most1, most2);
    }
  }
}

// The two least scores among some centroids, and the number of the least.
struct least_candidates {
  float best = std::numeric_limits<float>::max();
  float second = std::numeric_limits<float>::max();
  std::int32_t number = 0;
};

// Adds the scores in float32 of one row, x′ at `row`, against one to Count centroids of a list.
template <std::size_t Count, class D>
HWY_INLINE void compare_candidates(D d, const centroid_index<float>& index, const float* HWY_RESTRICT row,
                                   const std::int32_t* list, std::size_t count, least_candidates& least) {
  using V = hn::Vec<D>;
  static_assert(Count == 2 || Count == 4);
  const std::size_t lanes = hn::Lanes(d), stride = index.row_stride();
  const auto rows_of = [&](std::size_t n) {
    return index.negated_rows() + static_cast<std::size_t>(list[std::min(n, count - 1)]) * stride;
  };
  const float* HWY_RESTRICT const c0 = rows_of(0);
  const float* HWY_RESTRICT const c1 = rows_of(1);
  const float* HWY_RESTRICT const c2 = rows_of(2);
  const float* HWY_RESTRICT const c3 = rows_of(3);
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (std::size_t j = 0; j < stride; j += lanes) {
    const V x = hn::Load(d, row + j);
    s0 = hn::MulAdd(x, hn::Load(d, c0 + j), s0);
    s1 = hn::MulAdd(x, hn::Load(d, c1 + j), s1);
    if constexpr (Count == 4) {
      s2 = hn::MulAdd(x, hn::Load(d, c2 + j), s2);
      s3 = hn::MulAdd(x, hn::Load(d, c3 + j), s3);
    }
  }
  const auto sums = sum_four(d, s0, s1, s2, s3);
  HWY_ALIGN float products[4];
  hn::Store(sums, hn::DFromV<decltype(sums)>(), products);
  for (std::size_t n = 0; n < count; ++n) {
    const float score = index.half_norms()[list[n]] + products[n];
    const bool better = score < least.best;
    least.second = std::min(least.second, better ? least.best : score);
    least.number = better ? list[n] : least.number;
    least.best = std::min(least.best, score);
  }
}

// True when the rows of this call shall be searched for by bytes.
template <class D>
HWY_INLINE bool prepare_bytes(D d, const centroid_index<float>& index, nearest_scratch<float>& scratch) {
  if (!has_byte_products || !index.has_bytes()) return false;
  if (scratch.without_bytes > 0) {
    --scratch.without_bytes;
    return false;
  }
  scratch.candidates = 0;
  scratch.by_tiles = scratch.may_use_tiles && index.tiles().tiles > 0;
  scratch.byte_scales.grow(3 * index.panels() * centroid_index<float>::panel);
  scratch.byte_bounds.grow(byte_group * panel_vectors * hn::Lanes(d));
  scratch.byte_row.grow(index.row_stride());
  std::fill_n(scratch.byte_row.data(), index.row_stride(), 0.0F);
  return true;
}

// By cycles of a Zen 4: bytes save K·d/64 of a row's products; a candidate takes d/16 + 20, a row in doubt all again.
// Half of what is saved must remain, for the rest of the search takes more than that by pairs.
inline bool bytes_pay(const centroid_index<float>& index, std::size_t rows, std::size_t candidates,
                      std::size_t doubts) {
  const std::size_t saved = index.clusters() * index.columns() / 64;
  return candidates * (index.columns() / 16 + 20) + doubts * 8 * saved < rows * saved / 2;
}

// The rows of one panel: their squared norms, and what each loses by rounding, squared.
template <class V>
struct measured_rows {
  V norm[panel_vectors];
  V lost[panel_vectors];
  float farthest;  // largest |x′_j|
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE void measure_rows(D d, const float* HWY_RESTRICT panel, std::size_t columns, measured_rows<V>& rows) {
  const std::size_t lanes = hn::Lanes(d);
  V norm0 = hn::Zero(d), norm1 = norm0, norm2 = norm0, farthest = norm0;
  for (std::size_t j = 0; j < columns; ++j) {
    const float* HWY_RESTRICT const x = panel + j * panel_vectors * lanes;
    const V x0 = hn::Load(d, x), x1 = hn::Load(d, x + lanes), x2 = hn::Load(d, x + 2 * lanes);
    norm0 = hn::MulAdd(x0, x0, norm0), norm1 = hn::MulAdd(x1, x1, norm1), norm2 = hn::MulAdd(x2, x2, norm2);
    farthest = hn::Max(farthest, hn::Max(hn::Abs(x0), hn::Max(hn::Abs(x1), hn::Abs(x2))));
  }
  rows.norm[0] = norm0, rows.norm[1] = norm1, rows.norm[2] = norm2;
  rows.farthest = hn::GetLane(hn::MaxOfLanes(d, farthest));
}

// The step that the bytes of a panel of rows are of.
inline float byte_step(float farthest) { return std::max(farthest, 1e-12F) / 127; }

// Rows as four bytes of four columns, [four columns][3 vectors], 128 added to each so that they have no sign.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void pack_rows(D d, const float* HWY_RESTRICT panel, std::size_t columns, float step,
                          std::int32_t* HWY_RESTRICT packed, measured_rows<V>& rows) {
  const hn::RebindToSigned<D> di;
  using VI = hn::Vec<decltype(di)>;
  const std::size_t lanes = hn::Lanes(d);
  V lost0 = hn::Zero(d), lost1 = lost0, lost2 = lost0;
  const V inverse = hn::Set(d, 1 / step), one_step = hn::Set(d, step), shift = hn::Set(d, 0x1.8p23F + 128);
  const VI low_byte = hn::Set(di, 0xff), low_half = hn::Set(di, 0xffff);
  for (std::size_t first = 0; first < columns; first += 4) {
    const float* HWY_RESTRICT const from = panel + first * panel_vectors * lanes;
    const std::size_t there = std::min<std::size_t>(4, columns - first);
    const auto pack = [&](std::size_t v, V& lost) HWY_ATTR {
      const auto byte = [&](std::size_t j) HWY_ATTR {
        const V x = j < there ? hn::Load(d, from + (j * panel_vectors + v) * lanes) : hn::Zero(d);
        const V shifted = hn::MulAdd(x, inverse, shift);
        const V left = hn::NegMulAdd(hn::Sub(shifted, shift), one_step, x);
        lost = hn::MulAdd(left, left, lost);
        return hn::BitCast(di, shifted);
      };
      const VI low = hn::IfVecThenElse(low_byte, byte(0), hn::ShiftLeft<8>(byte(1)));
      const VI high = hn::IfVecThenElse(low_byte, byte(2), hn::ShiftLeft<8>(byte(3)));
      hn::Store(hn::IfVecThenElse(low_half, low, hn::ShiftLeft<16>(high)), di, packed + v * lanes);
    };
    pack(0, lost0);
    pack(1, lost1);
    pack(2, lost2);
    packed += panel_vectors * lanes;
  }
  rows.lost[0] = lost0, rows.lost[1] = lost1, rows.lost[2] = lost2;
}

// Centroids that may be nearest to each row of a panel, at most `most_candidates` of them; more are only counted.
template <class D>
struct byte_candidates {
  static constexpr std::size_t most_rows = panel_vectors * hn::MaxLanes(D());
  std::int32_t lists[most_rows][most_candidates];
  std::size_t listed[most_rows] = {};
};

// Appends the centroids of one group, whose bounds are at `bounds`, to the lists of the rows that they may be nearest
// to. `out` is the least lower bound of those left out.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void list_candidates(D d, const float* HWY_RESTRICT bounds, std::size_t first, std::size_t count,
                                std::uint64_t everyone, const V (&most)[panel_vectors], V (&out)[panel_vectors],
                                byte_candidates<D>& candidates) {
  const std::size_t lanes = hn::Lanes(d);
  // First without a branch that nobody can predict: which centroids are near any row.
  std::uint64_t near_rows[byte_group];
  std::int32_t near_number[byte_group];
  V out0 = out[0], out1 = out[1], out2 = out[2];
  const auto near = [&](const float* HWY_RESTRICT from, V limit, V& least) HWY_ATTR {
    const V bound = hn::Load(d, from);
    const auto far = hn::Gt(bound, limit);
    least = hn::IfThenElse(far, hn::Min(least, bound), least);
    return static_cast<std::uint64_t>(static_cast<std::uint16_t>(~far.raw));
  };
  std::size_t some = 0;
  for (std::size_t k = 0; k < count; ++k, bounds += panel_vectors * lanes) {
    const std::uint64_t near0 = near(bounds, most[0], out0), near1 = near(bounds + lanes, most[1], out1);
    const std::uint64_t near2 = near(bounds + 2 * lanes, most[2], out2);
    near_rows[some] = (near0 | near1 << lanes | near2 << 2 * lanes) & everyone;
    near_number[some] = static_cast<std::int32_t>(first + k);
    some += near_rows[some] != 0;
  }
  out[0] = out0, out[1] = out1, out[2] = out2;
  for (std::size_t n = 0; n < some; ++n) {
    for (std::uint64_t bits = near_rows[n]; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(bits));
      candidates.lists[i][std::min(candidates.listed[i], most_candidates - 1)] = near_number[n];
      ++candidates.listed[i];
    }
  }
}

// The largest of the lanes of some vectors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE float largest_of(D d, const V (&v)[panel_vectors]) {
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(v[0], hn::Max(v[1], v[2]))));
}

// Makes one turned panel of rows bytes. Returns false where they are too long for that, or not numbers.
template <class D>
HWY_INLINE bool make_bytes(D d, const float* HWY_RESTRICT panel, std::size_t columns, std::int32_t* HWY_RESTRICT packed,
                           byte_panel& facts) {
  using V = hn::Vec<D>;
  measured_rows<V> measured;
  measure_rows(d, panel, columns, measured);
  // False for a NaN too.
  const V sum = hn::Add(measured.norm[0], hn::Add(measured.norm[1], measured.norm[2]));
  if (!(hn::GetLane(hn::SumOfLanes(d, sum)) < coarse_largest_norm)) return false;
  pack_rows(d, panel, columns, byte_step(measured.farthest), packed, measured);
  for (std::size_t v = 0; v < panel_vectors; ++v) hn::StoreU(measured.norm[v], d, facts.norms + v * hn::Lanes(d));
  facts.farthest = measured.farthest;
  facts.lost = largest_of(d, measured.lost);
  return true;
}

// One panel of rows as bytes, which are `stride` apart at `rows` in float32. Labels and bounds (as find_nearest's) of
// all `count` real ones are written; the bits of those in doubt, whose are wrong, are returned. `unit` multiplies if it
// is not null.
template <class D>
HWY_INLINE std::uint64_t label_bytes(D d, const centroid_index<float>& index, const std::int32_t* HWY_RESTRICT packed,
                                     const byte_panel& facts, const float* rows, std::size_t stride, std::size_t count,
                                     const float* next, const float* next_end, std::int32_t* labels, float* others,
                                     const tile_unit* unit, nearest_scratch<float>& scratch) {
  using V = hn::Vec<D>;
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t vectors = panel_vectors, width = centroid_index<float>::panel;
  static_assert(vectors == 3 && byte_candidates<D>::most_rows == byte_panel_rows);
  const std::size_t columns = index.columns(), padded = index.panels() * width;
  const std::uint64_t everyone = ~std::uint64_t{0} >> (64 - count);
  const float* HWY_RESTRICT const norms = facts.norms;
  const V norm_of[vectors] = {hn::LoadU(d, norms), hn::LoadU(d, norms + lanes), hn::LoadU(d, norms + 2 * lanes)};

  // How far scores may be off, for the worst row.
  const float step = byte_step(facts.farthest);
  const float norm = largest_of(d, norm_of), length = std::sqrt(norm) * 1.001F;
  const float lost = std::sqrt(facts.lost) * 1.001F;
  const float rounding = index.error_factor() * (norm + index.largest_norm());
  const float units = 1 + 0.005F * static_cast<float>(columns);
  float* const values = scratch.byte_scales.data();
  const byte_scales scales{values, values + padded, values + 2 * padded};
  for (std::size_t k = 0; k < padded; ++k) {
    const float unit = step * index.byte_steps()[k];
    const float off =
        lost * index.byte_lengths()[k] + (length + lost) * index.byte_errors()[k] + units * unit + rounding;
    scales.unit[k] = unit;
    scales.least[k] = index.half_norms()[k] - off;
    scales.twice_off[k] = 2.02F * off;
  }

  const V unreachable = hn::Set(d, std::numeric_limits<float>::max());
  V most[vectors] = {unreachable, unreachable, unreachable}, out[vectors] = {unreachable, unreachable, unreachable};
  byte_candidates<D> candidates;
  const std::size_t lines_each = static_cast<std::size_t>(next_end - next) / (line_numbers * index.panels()) + 1;
  float* HWY_RESTRICT const bounds = scratch.byte_bounds.data();
  for (std::size_t first = 0; first < padded; first += byte_group) {
    const std::size_t end = std::min(padded, first + byte_group);
    V most0 = most[0], most1 = most[1], most2 = most[2];
    if (unit != nullptr) {
      const std::size_t stop = std::min(end, index.clusters());
      const std::size_t lines = next < next_end ? (lines_each + width - 1) / width : 0;
      tile_scores(d, di, *unit, index, packed, first, stop, scales, bounds, most0, most1, most2, next, lines);
      next = std::min(next + lines * line_numbers * (stop - first), next_end);
    }
    for (std::size_t k = first; k < end && unit == nullptr; k += width) {
      byte_scores(d, di, packed, index.bytes() + k * ((columns + 3) / 4), (columns + 3) / 4, index.byte_starts() + k,
                  {scales.unit + k, scales.least + k, scales.twice_off + k}, bounds + (k - first) * vectors * lanes,
                  most0, most1, most2, next, next < next_end ? lines_each : 0);
      next = std::min(next + lines_each * line_numbers, next_end);
    }
    most[0] = most0, most[1] = most1, most[2] = most2;
    list_candidates(d, bounds, first, std::min(index.clusters() - first, byte_group), everyone, most, out, candidates);
  }

  HWY_ALIGN float seconds[byte_candidates<D>::most_rows];
  float* HWY_RESTRICT const row = scratch.byte_row.data();
  // A lane of compare_candidates adds a column of every `lanes`; then four additions join the lanes. Of many columns
  // that rounds far less often than the chain over all of them that error_factor is for.
  const std::size_t roundings = index.row_stride() / lanes + 4;
  const float fewer = static_cast<float>(std::min(roundings, columns) + 8) / static_cast<float>(columns + 8);
  const float candidate_error = 2.05F * index.error_factor() * fewer;
  std::uint64_t doubtful = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t* const list = candidates.lists[i];
    const std::size_t listed = candidates.listed[i];
    scratch.candidates += listed;
    labels[i] = list[0];
    seconds[i] = std::numeric_limits<float>::max();
    if (listed == 1) continue;
    if (listed > most_candidates) {
      doubtful |= std::uint64_t{1} << i;
      continue;
    }
    const float* HWY_RESTRICT const from = rows + i * stride;
    for (std::size_t j = 0; j < columns; ++j) row[j] = from[j] - index.origin()[j];
    least_candidates least;
    std::size_t n = 0;
    for (; n + 2 < listed; n += 4) {
      compare_candidates<4>(d, index, row, list + n, std::min<std::size_t>(4, listed - n), least);
    }
    if (n < listed) compare_candidates<2>(d, index, row, list + n, listed - n, least);
    const float error = candidate_error * (norms[i] + index.largest_norm());
    if (!(least.second - least.best > error)) doubtful |= std::uint64_t{1} << i;
    labels[i] = least.number;
    seconds[i] = least.second - error;
  }
  if (others == nullptr) return doubtful;

  HWY_ALIGN float nearest_others[byte_candidates<D>::most_rows];
  for (std::size_t v = 0; v < vectors; ++v) {
    const V least = hn::Min(out[v], hn::Load(d, seconds + v * lanes));
    const V room = hn::Sub(hn::MulAdd(norm_of[v], hn::Set(d, 0.5F), least), hn::Set(d, rounding));
    const V squared = hn::Mul(hn::Max(room, hn::Zero(d)), hn::Set(d, 2.0F));
    hn::Store(hn::Mul(hn::Sqrt(squared), hn::Set(d, 1 - 1e-6F)), d, nearest_others + v * lanes);
  }
  std::copy_n(nearest_others, count, others);
  return doubtful;
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();
#endif

#endif
