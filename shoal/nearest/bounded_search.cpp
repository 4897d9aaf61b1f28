#include <shoal/nearest/bounded_search.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/nearest/bounded_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// A row of a block and a centroid that are to be compared, as one number. Fours of them are of one row; where there are
// fewer, a bit says that the last is there again.
constexpr int row_shift = 16;
constexpr std::int32_t filler_bit = std::numeric_limits<std::int32_t>::min();
HWY_INLINE std::size_t centroid_of(std::int32_t pair) { return static_cast<std::uint32_t>(pair) & 0xffff; }
HWY_INLINE std::size_t row_of(std::int32_t pair) { return static_cast<std::uint32_t>(pair) >> row_shift & 0xff; }

using tag = hn::ScalableTag<float>;
using vector = hn::Vec<tag>;
constexpr std::size_t lanes = 8;
// Numbers of a cache line.
constexpr std::size_t line = 64 / sizeof(float);

// Σ of the lanes.
HWY_INLINE float sum_lanes(vector v) { return hn::GetLane(hn::SumOfLanes(tag(), v)); }

// x′ goes to `to`, with zeros behind it.
void shift_row(const float* HWY_RESTRICT row, const float* HWY_RESTRICT origin, std::size_t columns, std::size_t stride,
               float* HWY_RESTRICT to) {
  const tag d;
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes)
    hn::Store(hn::Sub(hn::LoadU(d, row + j), hn::Load(d, origin + j)), d, to + j);
  for (; j < stride; ++j) to[j] = j < columns ? row[j] - origin[j] : 0.0F;
}

// ‖x − c‖² for a centroid in float32.
HWY_INLINE float square_distance(const float* HWY_RESTRICT row, const float* HWY_RESTRICT own, std::size_t columns) {
  const tag d;
  vector sum0 = hn::Zero(d), sum1 = sum0;
  std::size_t j = 0;
  for (; j + 2 * lanes <= columns; j += 2 * lanes) {
    const vector apart0 = hn::Sub(hn::LoadU(d, row + j), hn::LoadU(d, own + j));
    const vector apart1 = hn::Sub(hn::LoadU(d, row + j + lanes), hn::LoadU(d, own + j + lanes));
    sum0 = hn::MulAdd(apart0, apart0, sum0), sum1 = hn::MulAdd(apart1, apart1, sum1);
  }
  float rest = 0;
  for (; j < columns; ++j) rest += (row[j] - own[j]) * (row[j] - own[j]);
  return sum_lanes(hn::Add(sum0, sum1)) + rest;
}

// The bytes of one row x′, which has zeros behind it.
void make_bytes(const float* HWY_RESTRICT row, std::size_t stride, std::uint8_t* HWY_RESTRICT to,
                std::size_t byte_stride, bounded_rows::facts& facts) {
  const tag d;
  const hn::RebindToSigned<tag> di;
  vector norm = hn::Zero(d), farthest = norm;
  for (std::size_t j = 0; j < stride; j += lanes) {
    const vector x = hn::Load(d, row + j);
    norm = hn::MulAdd(x, x, norm);
    farthest = hn::Max(farthest, hn::Abs(x));
  }
  facts.norm = sum_lanes(norm);
  if (!(facts.norm < 1e24F)) {  // not for a NaN either
    facts.step = -1;
    return;
  }
  facts.length = std::sqrt(facts.norm) * 1.001F;
  facts.step = std::max(hn::GetLane(hn::MaxOfLanes(d, farthest)), 1e-12F) / byte_centroids::most_row;
  const vector inverse = hn::Set(d, 1 / facts.step), step = hn::Set(d, facts.step);
  vector lost = hn::Zero(d);
  std::fill_n(to, byte_stride, static_cast<std::uint8_t>(byte_centroids::row_offset));
  for (std::size_t j = 0; j < stride; j += lanes) {
    const vector x = hn::Load(d, row + j);
    const auto steps = hn::NearestInt(hn::Mul(x, inverse));
    const vector left = hn::NegMulAdd(hn::ConvertTo(d, steps), step, x);
    lost = hn::MulAdd(left, left, lost);
    const hn::Rebind<std::uint8_t, decltype(di)> bytes;
    const auto packed = hn::DemoteTo(bytes, hn::Add(steps, hn::Set(di, byte_centroids::row_offset)));
    if (j + lanes <= byte_stride) hn::StoreU(packed, bytes, to + j);
  }
  facts.lost = std::sqrt(sum_lanes(lost)) * 1.001F;
}

// Numbers of the bits that are set in a byte, from the lowest on.
struct bit_numbers {
  alignas(64) std::uint8_t of[256][8];
  constexpr bit_numbers() : of{} {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::size_t count = 0;
      for (std::uint8_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) of[byte][count++] = bit;
      }
    }
  }
};
constexpr bit_numbers set_bits;

// Takes the drifts off the bounds of one row and lists the centroids whose bound is then below `limit`, but not `own`.
// Writes up to eight numbers more than it counts.
HWY_INLINE std::size_t list_needed(std::uint16_t* HWY_RESTRICT bounds, const std::uint16_t* HWY_RESTRICT drifts,
                                   std::size_t padded, std::int32_t limit, std::size_t own, std::int32_t row,
                                   std::int32_t* HWY_RESTRICT list) {
  const __m256i most = _mm256_set1_epi16(static_cast<std::int16_t>(limit)), zero = _mm256_setzero_si256();
  std::size_t count = 0;
  for (std::size_t k = 0; k < padded; k += 32) {
    const auto far = [&](std::size_t at) HWY_ATTR {
      auto* const place = reinterpret_cast<__m256i*>(bounds + at);
      const __m256i left =
          _mm256_subs_epu16(_mm256_load_si256(place), _mm256_load_si256(reinterpret_cast<const __m256i*>(drifts + at)));
      _mm256_store_si256(place, left);
      return _mm256_cmpeq_epi16(_mm256_subs_epu16(most, left), zero);
    };
    const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(far(k), far(k + 16)), 0xd8);
    auto near = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(both));
    near &= ~static_cast<std::uint32_t>(own - k < 32 ? std::uint64_t{1} << (own - k) : 0);
    // Without a branch that nobody could predict.
    for (std::size_t byte = 0; byte < 4; ++byte, near >>= 8) {
      const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(set_bits.of[near & 0xff]));
      const __m256i first = _mm256_set1_epi32(row + static_cast<std::int32_t>(k + 8 * byte));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(list + count),
                          _mm256_add_epi32(_mm256_cvtepu8_epi32(bits), first));
      count += static_cast<std::size_t>(std::popcount(near & 0xff));
    }
  }
  return count;
}

HWY_INLINE __m256i load_whole(const void* from) { return _mm256_load_si256(static_cast<const __m256i*>(from)); }

// Σ X·C of pairs in fours of one row. So many numbers at `ahead` are asked for meanwhile.
template <std::size_t Chunk>
void multiply_pairs(const byte_centroids& bytes, const std::uint8_t* HWY_RESTRICT rows, const std::int32_t* pairs,
                    std::size_t count, std::int32_t* HWY_RESTRICT products, const float* ahead,
                    std::size_t ahead_numbers) {
  const std::size_t lines_each = ahead_numbers / line / (count / 4 + 1) + 1;
  const float* const ahead_end = ahead + ahead_numbers;
  const std::size_t stride = bytes.shape().centroid_bytes(), chunks = bytes.shape().chunks;
  const std::size_t row_stride = bytes.shape().row_bytes();
  const std::int8_t* const all = bytes.bytes();
  const __m256i ones = _mm256_set1_epi16(1);
  for (std::size_t n = 0; n < count; n += 4) {
    const std::int8_t* HWY_RESTRICT c0 = all + centroid_of(pairs[n]) * stride;
    const std::int8_t* HWY_RESTRICT c1 = all + centroid_of(pairs[n + 1]) * stride;
    const std::int8_t* HWY_RESTRICT c2 = all + centroid_of(pairs[n + 2]) * stride;
    const std::int8_t* HWY_RESTRICT c3 = all + centroid_of(pairs[n + 3]) * stride;
    for (std::size_t i = 0; i < lines_each && ahead < ahead_end; ++i, ahead += line) __builtin_prefetch(ahead, 0, 2);
    const std::uint8_t* HWY_RESTRICT x = rows + row_of(pairs[n]) * row_stride;
    __m256i sum0 = _mm256_setzero_si256(), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      __m256i a0 = load_whole(c0), a1 = load_whole(c1), a2 = load_whole(c2), a3 = load_whole(c3);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Chunk; ++v) {
        const __m256i values = load_whole(x + v * byte_shape::vector);
        const std::size_t at = (v + 1) * byte_shape::vector;
        a0 = _mm256_add_epi16(a0, _mm256_maddubs_epi16(values, load_whole(c0 + at)));
        a1 = _mm256_add_epi16(a1, _mm256_maddubs_epi16(values, load_whole(c1 + at)));
        a2 = _mm256_add_epi16(a2, _mm256_maddubs_epi16(values, load_whole(c2 + at)));
        a3 = _mm256_add_epi16(a3, _mm256_maddubs_epi16(values, load_whole(c3 + at)));
        // GCC would add in another order, for which it has not the registers.
        asm("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3));
      }
      sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(a0, ones));
      sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(a1, ones));
      sum2 = _mm256_add_epi32(sum2, _mm256_madd_epi16(a2, ones));
      sum3 = _mm256_add_epi32(sum3, _mm256_madd_epi16(a3, ones));
      constexpr std::size_t bytes_here = (Chunk + 1) * byte_shape::vector;
      c0 += bytes_here, c1 += bytes_here, c2 += bytes_here, c3 += bytes_here;
      x += Chunk * byte_shape::vector;
    }
    const __m256i a = _mm256_add_epi32(_mm256_unpacklo_epi32(sum0, sum1), _mm256_unpackhi_epi32(sum0, sum1));
    const __m256i b = _mm256_add_epi32(_mm256_unpacklo_epi32(sum2, sum3), _mm256_unpackhi_epi32(sum2, sum3));
    const __m256i both = _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    _mm_store_si128(reinterpret_cast<__m128i*>(products + n),
                    _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
  }
}

using pair_multiplier = void (*)(const byte_centroids&, const std::uint8_t*, const std::int32_t*, std::size_t,
                                 std::int32_t*, const float*, std::size_t);
constexpr pair_multiplier multipliers[byte_shape::most_chunk] = {
    multiply_pairs<1>, multiply_pairs<2>, multiply_pairs<3>, multiply_pairs<4>,
    multiply_pairs<5>, multiply_pairs<6>, multiply_pairs<7>, multiply_pairs<8>};

// What turns the products of one row into bounds of distances, in units.
struct alignas(32) row_scales {
  float step, units, lost, reach, start, inverse_unit;
  std::int32_t limit;
};

// Lower bounds of the distances of one row to four centroids.
HWY_INLINE __m128i bound_four(const row_scales& row, const byte_centroids::facts* facts, const std::int32_t* pairs,
                              __m128i products) {
  const auto load = [&](int n) HWY_ATTR { return _mm_load_ps(&facts[centroid_of(pairs[n])].half_norm); };
  __m128 half_norms = load(0), steps = load(1), lengths = load(2), errors = load(3);
  _MM_TRANSPOSE4_PS(half_norms, steps, lengths, errors);
  const __m128 unit = _mm_mul_ps(steps, _mm_set1_ps(row.step));
  const __m128 fewer = _mm_sub_ps(_mm_cvtepi32_ps(products), _mm_set1_ps(row.units));
  __m128 score = _mm_fmadd_ps(fewer, unit, _mm_add_ps(half_norms, _mm_set1_ps(row.start)));
  score = _mm_fnmadd_ps(lengths, _mm_set1_ps(row.lost), score);
  score = _mm_fnmadd_ps(errors, _mm_set1_ps(row.reach), score);
  const __m128 distance = _mm_sqrt_ps(_mm_max_ps(_mm_add_ps(score, score), _mm_setzero_ps()));
  const __m128 whole = _mm_min_ps(_mm_mul_ps(distance, _mm_set1_ps(row.inverse_unit)),
                                  _mm_set1_ps(static_cast<float>(bounded_rows::most_bound)));
  return _mm_cvttps_epi32(whole);
}

// Rows whose own distances are looked up before the first of them is compared.
constexpr std::size_t rows_at_once = bounded_scratch::rows_at_once;

// A search among the rows of one call.
class bounded_search {
 public:
  bounded_search(const bounded_call& call, std::int32_t* labels, bounded_rows& kept, bounded_scratch& scratch)
      : call_(call),
        labels_(labels),
        kept_(kept),
        scratch_(scratch),
        columns_(call.index->columns()),
        row_stride_((columns_ + 15) / 16 * 16) {
    const std::size_t places = rows_at_once * (kept.padded() + 8);
    scratch.row.grow(row_stride_);
    scratch.pairs.grow(places);
    scratch.products.grow(places);
    scratch.doubtful.grow(call.rows.rows());
    // Roundings of ‖x − c‖²: of each difference, then of the sum, a lane of which adds a column of every sixteen; and
    // of c.
    constexpr float epsilon = std::numeric_limits<float>::epsilon() / 2;
    more_ = epsilon * (static_cast<float>(columns_) / 16 + 36);
    taken_ = 1.01F * (epsilon * call.largest_norm +
                      std::sqrt(static_cast<float>(columns_) * std::numeric_limits<float>::min()));
    inverse_unit_ = 1 / kept.unit();
  }

  std::size_t run() {
    const std::size_t rows = call_.rows.rows();
    for (std::size_t first = 0; first < rows; first += rows_at_once) {
      const std::size_t count = std::min(rows_at_once, rows - first);
      // The rows of the next block come from memory meanwhile: a third of them during the first two passes over the
      // rows of this one, the rest during the two over its pairs.
      const std::size_t next = first + count, some = std::min(rows_at_once, rows + call_.following - next);
      ahead_ = call_.rows.data() + next * call_.rows.row_stride();
      ahead_end_ = ahead_ + some * call_.rows.row_stride();
      lines_ = columns_ / line / 6 + 1;
      look_up_own(first, count);
      const std::size_t pairs = list_pairs(first, count);
      const std::size_t left = ahead_ < ahead_end_ ? static_cast<std::size_t>(ahead_end_ - ahead_) : 0;
      const std::size_t most = left * 2 / 3;
      multipliers[call_.bytes->shape().chunk - 1](*call_.bytes, kept_.bytes(call_.first + first), scratch_.pairs.data(),
                                                  pairs, scratch_.products.data(), ahead_, most);
      ahead_ += most;
      lines_ = (left - most) / line / (pairs / 4 + 1) + 1;
      decide(first, list_candidates(first, pairs));
    }
    return doubts_;
  }

 private:
  const float* centroid(std::size_t k) const { return call_.centroids + k * columns_; }

  // Into the second cache, a few lines at a time: many at once would keep what is read here waiting.
  HWY_INLINE void ask_ahead() {
    for (std::size_t i = 0; i < lines_ && ahead_ < ahead_end_; ++i, ahead_ += line) __builtin_prefetch(ahead_, 0, 2);
  }

  // Distances to the rows' own centroids, and the bounds below which other centroids may be nearer.
  HWY_INLINE void look_up_own(std::size_t first, std::size_t count) {
    float* const row = scratch_.row.data();
    for (std::size_t i = 0; i < count; ++i) {
      ask_ahead();
      own_[i] =
          square_distance(call_.rows.row(first + i), centroid(static_cast<std::size_t>(labels_[first + i])), columns_);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = call_.first + first + i;
      bounded_rows::facts& facts = *kept_.about(at);
      if (HWY_UNLIKELY(facts.step == 0)) {
        shift_row(call_.rows.row(first + i), call_.index->origin(), columns_, row_stride_, row);
        make_bytes(row, row_stride_, kept_.bytes(at), call_.bytes->shape().row_bytes(), facts);
      }
      const float distance = std::sqrt(own_[i]) * (1 + more_) + taken_;
      const float units = distance * inverse_unit_ * (1 + 1e-6F) + 1;
      const float rounding = call_.index->error_factor() * (facts.norm + call_.index->largest_norm());
      // A NaN, too, is no limit.
      scales_[i] = {facts.step,
                    0.005F * static_cast<float>(columns_) + 1,
                    facts.lost,
                    facts.length + facts.lost,
                    facts.norm / 2 - 2 * rounding,
                    inverse_unit_ * (1 - 1e-6F),
                    units < 65535 ? static_cast<std::int32_t>(units) : std::int32_t{bounded_rows::nobody}};
    }
  }

  // Brings bounds up to date and lists what must be compared, in fours of one row; returns how many.
  HWY_INLINE std::size_t list_pairs(std::size_t first, std::size_t count) {
    std::int32_t* const pairs = scratch_.pairs.data();
    std::size_t listed = 0;
    for (std::size_t i = 0; i < count; ++i) {
      ask_ahead();
      const auto own = static_cast<std::size_t>(labels_[first + i]);
      std::uint16_t* const bounds = kept_.bounds(call_.first + first + i);
      const std::size_t found = list_needed(bounds, kept_.drifts(), kept_.padded(), scales_[i].limit, own,
                                            static_cast<std::int32_t>(i) << row_shift, pairs + listed);
      if (HWY_UNLIKELY(scales_[i].step < 0)) {
        if (found > 0) leave(first + i, own);
        continue;
      }
      scratch_.compared += found;
      const std::size_t end = listed + found, fours = listed + (found + 3) / 4 * 4;
      // Those behind the last four are overwritten.
      const std::int32_t filler = pairs[found > 0 ? end - 1 : end] | filler_bit;
      for (std::size_t n = 0; n < 3; ++n) pairs[end + n] = filler;
      listed = fours;
    }
    return listed;
  }

  // Makes products bounds. Pairs whose bound is still below the limit are moved to the front; returns how many.
  HWY_INLINE std::size_t list_candidates(std::size_t first, std::size_t count) {
    std::int32_t* const pairs = scratch_.pairs.data();
    const byte_centroids::facts* const facts = call_.bytes->about();
    std::uint16_t* const bounds = kept_.bounds(call_.first + first);
    const std::size_t padded = kept_.padded();
    std::size_t listed = 0;
    for (std::size_t n = 0; n < count; n += 4) {
      ask_ahead();
      const auto row = row_of(pairs[n]);
      const row_scales& scales = scales_[row];
      const __m128i found = bound_four(scales, facts, pairs + n,
                                       _mm_load_si128(reinterpret_cast<const __m128i*>(scratch_.products.data() + n)));
      std::uint16_t* const to = bounds + row * padded;
      to[centroid_of(pairs[n])] = static_cast<std::uint16_t>(_mm_extract_epi16(found, 0));
      to[centroid_of(pairs[n + 1])] = static_cast<std::uint16_t>(_mm_extract_epi16(found, 2));
      to[centroid_of(pairs[n + 2])] = static_cast<std::uint16_t>(_mm_extract_epi16(found, 4));
      to[centroid_of(pairs[n + 3])] = static_cast<std::uint16_t>(_mm_extract_epi16(found, 6));
      const __m128i these = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pairs + n));
      const __m128i below = _mm_andnot_si128(these, _mm_cmpgt_epi32(_mm_set1_epi32(scales.limit), found));
      auto near = static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(below)));
      for (; HWY_UNLIKELY(near != 0); near &= near - 1)
        pairs[listed++] = pairs[n + static_cast<std::size_t>(std::countr_zero(near))];
    }
    return listed;
  }

  // Compares the rows that have candidates with these in float32.
  void decide(std::size_t first, std::size_t count) {
    const std::int32_t* const pairs = scratch_.pairs.data();
    scratch_.candidates += count;
    for (std::size_t n = 0, end = 0; n < count; n = end) {
      const auto row = row_of(pairs[n]);
      const float* const values = call_.rows.row(first + row);
      std::uint16_t* const bounds = kept_.bounds(call_.first + first + row);
      std::int32_t& label = labels_[first + row];
      const auto own = static_cast<std::size_t>(label);
      float best = std::sqrt(own_[row]), second = std::numeric_limits<float>::infinity();
      const auto bound = [&](float distance) {
        const float units = std::max(distance * (1 - more_) - taken_, 0.0F) * scales_[row].inverse_unit;
        return static_cast<std::uint16_t>(std::min(units, static_cast<float>(bounded_rows::most_bound)));
      };
      bounds[own] = bound(best);
      for (end = n; end < count && row_of(pairs[end]) == row; ++end) {
        const std::size_t k = centroid_of(pairs[end]);
        const float distance = std::sqrt(square_distance(values, centroid(k), columns_));
        bounds[k] = bound(distance);
        second = std::min(second, std::max(best, distance));
        label = distance < best ? static_cast<std::int32_t>(k) : label;
        best = std::min(best, distance);
      }
      if (second * (1 - more_) - taken_ > best * (1 + more_) + taken_) continue;
      scratch_.doubtful[doubts_++] = static_cast<std::int32_t>(first + row);
    }
  }

  // Leaves a row in doubt, whose own bound is not known.
  void leave(std::size_t row, std::size_t own) {
    kept_.bounds(call_.first + row)[own] = 0;
    scratch_.doubtful[doubts_++] = static_cast<std::int32_t>(row);
  }

  const bounded_call& call_;
  std::int32_t* labels_;
  bounded_rows& kept_;
  bounded_scratch& scratch_;
  std::size_t columns_;
  std::size_t row_stride_;
  const float* ahead_ = nullptr;
  const float* ahead_end_ = nullptr;
  std::size_t lines_ = 0;
  float more_;
  float taken_;
  float inverse_unit_;
  std::size_t doubts_ = 0;
  float own_[rows_at_once];
  row_scales scales_[rows_at_once];
};

}  // namespace
#endif

bool has_bounded_search_here() { return HWY_TARGET == HWY_AVX2; }

std::size_t find_nearest_bounded_here([[maybe_unused]] const bounded_call& call, [[maybe_unused]] std::int32_t* labels,
                                      [[maybe_unused]] bounded_rows& kept, [[maybe_unused]] bounded_scratch& scratch) {
#if HWY_TARGET == HWY_AVX2
  return bounded_search(call, labels, kept, scratch).run();
#else
  return 0;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal {

HWY_EXPORT(has_bounded_search_here);
HWY_EXPORT(find_nearest_bounded_here);

bool has_bounded_search() { return HWY_DYNAMIC_DISPATCH(has_bounded_search_here)(); }

std::size_t find_nearest_bounded(const bounded_call& call, std::int32_t* labels, bounded_rows& kept,
                                 bounded_scratch& scratch) {
  return HWY_DYNAMIC_DISPATCH(find_nearest_bounded_here)(call, labels, kept, scratch);
}

}  // namespace shoal
#endif
