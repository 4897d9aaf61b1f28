// Few columns: how the kernel that labels and sums rows in one pass (fold_few.cuh) lays out centroids in shared memory,
// and finds the nearest ones of a thread's rows with proof.
#pragma once

#include <cuda_runtime.h>

#include <limits>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/kmeans/cuda/few_layout.hpp>
#include <shoal/kmeans/cuda/one_pass.cuh>

namespace shoal::kmeans {

// What the block knows of the centroids, beside `searched` and `centres` in shared memory.
template <class Scalar>
struct few_frame {
  Scalar origin[most_one_pass_columns];  // of float32: the mean of the centroids; in groups the centroid next to it
  float largest;                         // ‖c − origin‖, at least that of every centroid
  float least_gap;                       // of one column: between neighbouring centroids that differ
  // In groups.
  int at_origin;                 // the centroid there
  float origin_rounding;         // ‖c′‖² of that one
  float least_norm;              // of the others that differ from it
  float unclear, unclear_share;  // a row is in doubt up to the first plus the second times ‖x′‖²
};

// One column: between centroids in their order lie bounds, among which a row is looked for by halves. Their places: a
// power of two, and one before them. In shared memory one more lies after every 32 of them, a copy of the next, so that
// threads that look at different ones use different banks.
__device__ inline int bound_places(int clusters) { return 1 << (32 - __clz(clusters - 1)); }
__device__ constexpr int bound_offset(int place) { return place + place / 32; }

// Sorts centroids of one column by their value: [bound_offset(bound_places()) + 1] bounds, the one after a centroid
// lying halfway to the next that differs, and the centroids' numbers, as far apart. So of equal centroids the one with
// the lowest number has all rows.
template <class Scalar>
__device__ void sort_centroids(const one_pass_arguments<Scalar>& in, float* bounds, few_frame<Scalar>& frame) {
  const int places = bound_places(in.clusters);
  int* const numbers = reinterpret_cast<int*>(bounds + bound_offset(places) + 1);
  // Of centroids that are not numbers some places have none.
  for (int i = static_cast<int>(threadIdx.x); i < in.clusters; i += static_cast<int>(blockDim.x)) {
    numbers[bound_offset(i)] = i;
  }
  __syncthreads();
  // Four threads count the centroids before one.
  constexpr int sharers = 4;
  const int sharer = static_cast<int>(threadIdx.x) % sharers, step = static_cast<int>(blockDim.x) / sharers;
  for (int first = 0; first < in.clusters; first += step) {
    const int k = first + static_cast<int>(threadIdx.x) / sharers;
    int before = 0;
    if (k < in.clusters) {
      const double own = in.centroids[k];
#pragma unroll 8
      for (int other = sharer; other < in.clusters; other += sharers) {
        const double value = in.centroids[other];
        before += value < own || (value == own && other < k) ? 1 : 0;
      }
    }
    before += __shfl_xor_sync(~0U, before, 1);
    before += __shfl_xor_sync(~0U, before, 2);
    if (k < in.clusters && sharer == 0) numbers[bound_offset(before)] = k;
  }
  __syncthreads();
  const auto moved = [&](int place) {
    return in.centroids[numbers[bound_offset(place)]] - static_cast<double>(frame.origin[0]);
  };
  for (int i = static_cast<int>(threadIdx.x); i <= places; i += static_cast<int>(blockDim.x)) {
    float bound = i == 0 ? -INFINITY : INFINITY;
    if (i > 0 && i <= in.clusters) {
      const double own = moved(i - 1);
      atomicMax(reinterpret_cast<int*>(&frame.largest), __float_as_int(static_cast<float>(fabs(own)) * 1.0001F));
      for (int next = i; next < in.clusters; ++next) {
        const double other = moved(next);
        if (other == own) continue;
        bound = static_cast<float>(own / 2 + other / 2);
        atomicMin(reinterpret_cast<int*>(&frame.least_gap), __float_as_int(static_cast<float>(other - own)));
        break;
      }
    }
    bounds[bound_offset(i)] = bound;
    if (i > 0 && i % 32 == 0) bounds[bound_offset(i) - 1] = bound;
  }
}

// A computed score ‖c′‖²/2 − x′·c′ is off by at most this times ‖x′‖² + ‖c′‖²: by d + 1 roundings of numbers up to
// ‖c′‖² + ‖x′‖²/2, and by (‖x′‖ + ‖c′‖)² roundings for a row and a centroid that were rounded themselves.
template <int Columns>
constexpr float few_score_error = (Columns + 3) * 0x1p-24F * 1.05F;

// −c′ and ‖c′‖²/2 of pairs of centroids of more columns.
template <class Scalar, int Columns>
__device__ void lay_out_pairs(const one_pass_arguments<Scalar>& in, float* elements, few_frame<Scalar>& frame) {
  for (int k = static_cast<int>(threadIdx.x); k < few_padded(in.clusters, Columns); k += static_cast<int>(blockDim.x)) {
    float* const to = elements + k * 4 * few_vectors(Columns);
    const bool real = k < in.clusters;
    double norm = 0;
    for (int j = 0; j < Columns; ++j) {
      const double moved = real ? in.centroids[k * Columns + j] - static_cast<double>(frame.origin[j]) : 0;
      const auto rounded = static_cast<float>(moved);
      to[j] = -rounded;
      norm += static_cast<double>(rounded) * static_cast<double>(rounded);
    }
    to[Columns] = real ? static_cast<float>(norm * 0.5) : few_beyond;
    const float length = sqrtf(static_cast<float>(norm)) * 1.0001F;
    if (real) atomicMax(reinterpret_cast<int*>(&frame.largest), __float_as_int(length));
  }
}

// Last bits of a score that a group's number takes, and a place in a group.
__device__ inline int group_bits(int clusters) {
  return max(32 - __clz((clusters + few_group - 1) / few_group - 1), 2);
}

// A warp moves the origin from the mean of the centroids to the one next to it.
template <class Scalar, int Columns>
__device__ void move_origin(const one_pass_arguments<Scalar>& in, few_frame<Scalar>& frame) {
  const int thread = static_cast<int>(threadIdx.x) % 32;
  float least = INFINITY;
  int nearest = 0;
  for (int k = thread; k < in.clusters; k += 32) {
    float distance = 0;
    for (int j = 0; j < Columns; ++j) {
      const auto moved = static_cast<float>(in.centroids[k * Columns + j] - static_cast<double>(frame.origin[j]));
      distance = fmaf(moved, moved, distance);
    }
    if (!(distance < least)) continue;
    least = distance;
    nearest = k;
  }
  const unsigned bits = __float_as_uint(least);
  const unsigned whose = __ballot_sync(~0U, bits == __reduce_min_sync(~0U, bits));
  nearest = __shfl_sync(~0U, nearest, __ffs(static_cast<int>(whose)) - 1);
  if (thread == 0) frame.at_origin = nearest;
  if (thread < Columns) {
    const auto rounded = static_cast<float>(in.centroids[nearest * Columns + thread]);
    if (isfinite(rounded)) frame.origin[thread] = static_cast<Scalar>(in.centroids[nearest * Columns + thread]);
  }
}

// c′ and shift − ‖c′‖²/2, such that the score x′·c′ − ‖c′‖²/2 + shift of the nearest centroid is not negative: the one
// at the origin has the shift. So the largest scores are found as whole numbers, three at a time. The shift is small
// enough to cost no digits, and large enough that rows nearest to the origin are not in doubt. Scores have the error of
// scores of their centroid added, so that centroids far away leave no row in doubt.
template <class Scalar, int Columns>
__device__ void lay_out_groups(const one_pass_arguments<Scalar>& in, float* elements, few_frame<Scalar>& frame) {
  constexpr float error = few_score_error<Columns>;
  const auto place = [&](int k) { return elements + k / few_group * 4 * few_vectors(Columns) + k % few_group; };
  const auto norm_at = [&](int k) {
    double norm = 0;
    for (int j = 0; j < Columns; ++j) {
      const auto moved = static_cast<double>(place(k)[j * few_group]);
      norm += moved * moved;
    }
    return norm;
  };
  const int first = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
  for (int k = first; k < few_padded(in.clusters, Columns); k += step) {
    const bool real = k < in.clusters;
    for (int j = 0; j < Columns; ++j) {
      place(k)[j * few_group] =
          real ? static_cast<float>(in.centroids[k * Columns + j] - static_cast<double>(frame.origin[j])) : 0.0F;
    }
    if (!real) continue;
    const auto norm = static_cast<float>(norm_at(k));
    atomicMax(reinterpret_cast<int*>(&frame.largest), __float_as_int(sqrtf(norm) * 1.0001F));
    if (k == frame.at_origin) {
      frame.origin_rounding = norm;
    } else if (norm > 0) {
      atomicMin(reinterpret_cast<int*>(&frame.least_norm), __float_as_int(norm));
    }
  }
  __syncthreads();
  const float shift = isfinite(frame.least_norm) ? frame.least_norm / 8 : 0;
  for (int k = first; k < few_padded(in.clusters, Columns); k += step) {
    const double lost = norm_at(k) * (0.5 - static_cast<double>(error));
    place(k)[Columns * few_group] =
        k < in.clusters ? static_cast<float>(static_cast<double>(shift) - lost) : -few_beyond;
  }
  if (threadIdx.x != 0) return;
  // ‖c′‖ of the nearest is at most 2·‖x′‖ and what the centroid at the origin was rounded by, and so its score less the
  // shift at most ‖x′‖²/2.
  const float taken = static_cast<float>(1 << group_bits(in.clusters)) * 0x1p-22F;
  // Beyond, products of finite norms overflow.
  const float smallest = frame.largest < 1e18F ? 16 * std::numeric_limits<float>::min() : INFINITY;
  frame.unclear_share = error * 11 + taken * 0.51F;
  frame.unclear = error * (2 * shift + 64 * frame.origin_rounding) + taken * 1.01F * shift + smallest;
}

// The centroids as the search reads them, and as the sums do: [clusters][32] numbers, a place for each bank.
template <class Scalar, int Columns>
__device__ void prepare(const one_pass_arguments<Scalar>& in, float4* searched, Scalar* centres,
                        few_frame<Scalar>& frame) {
  constexpr int row_values = few_row_threads(Columns, sizeof(Scalar)) * few_thread_values(Columns, sizeof(Scalar));
  const int warp = static_cast<int>(threadIdx.x) / 32, thread = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const double share = 1.0 / in.clusters;
  for (int j = warp; j < Columns; j += warps) {
    double sum = 0;
    for (int k = thread; k < in.clusters; k += 32) sum += in.centroids[k * Columns + j];
    sum = cuda::warp_sum(sum) * share;
    const auto rounded = static_cast<float>(sum);
    if (thread == 0) frame.origin[j] = isfinite(rounded) ? static_cast<Scalar>(rounded) : Scalar{0};
  }
  if (threadIdx.x == 0) frame.largest = 0, frame.least_gap = frame.least_norm = INFINITY;
  for (int i = static_cast<int>(threadIdx.x); i < in.clusters * 32; i += static_cast<int>(blockDim.x)) {
    const int column = i % row_values;
    // A weight's place has -1 (few_sums.cuh).
    centres[i] = column < Columns    ? static_cast<Scalar>(in.centroids[i / 32 * Columns + column])
                 : column == Columns ? Scalar{-1}
                                     : Scalar{0};
  }
  __syncthreads();
  auto* const elements = reinterpret_cast<float*>(searched);
  if constexpr (Columns == 1) {
    sort_centroids(in, elements, frame);
  } else if constexpr (few_in_groups(Columns)) {
    if (warp == 0) move_origin<Scalar, Columns>(in, frame);
    __syncthreads();
    lay_out_groups<Scalar, Columns>(in, elements, frame);
  } else {
    lay_out_pairs<Scalar, Columns>(in, elements, frame);
  }
  __syncthreads();
}

template <class Scalar, int Columns>
__device__ __noinline__ int nearest_in_float64(const Scalar* row, const double* centroids, int clusters) {
  int nearest = 0;
  double least = 0;
  for (int k = 0; k < clusters; ++k) {
    double distance = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      const double difference = __dsub_rn(static_cast<double>(row[j]), centroids[k * Columns + j]);
      distance = __dadd_rn(distance, __dmul_rn(difference, difference));
    }
    if (k == 0 || distance < least) {
      least = distance;
      nearest = k;
    }
  }
  return nearest;
}

// The same by a warp, for one row: each thread has some of the centroids.
template <class Scalar, int Columns>
__device__ __noinline__ int nearest_by_warp(const Scalar* row, const double* centroids, int clusters) {
  int nearest = std::numeric_limits<int>::max();
  double least = std::numeric_limits<double>::infinity();
  for (int k = static_cast<int>(threadIdx.x) % 32; k < clusters; k += 32) {
    double distance = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      const double difference = __dsub_rn(static_cast<double>(row[j]), centroids[k * Columns + j]);
      distance = __dadd_rn(distance, __dmul_rn(difference, difference));
    }
    if (k < 32 || distance < least) {
      least = distance;
      nearest = k;
    }
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const double other = __shfl_xor_sync(~0U, least, step);
    const int number = __shfl_xor_sync(~0U, nearest, step);
    if (other < least || (other == least && number < nearest)) {
      least = other;
      nearest = number;
    }
  }
  return nearest < clusters ? nearest : 0;  // of distances that are not numbers
}

// The least two keys of a thread's rows among all centroids.
template <int Columns>
__device__ void search_all(int clusters, int kept, const float4* searched, const float (&x)[few_rows(Columns)][Columns],
                           const float (&norms)[few_rows(Columns)], int (&best)[few_rows(Columns)],
                           int (&second)[few_rows(Columns)]) {
  constexpr int each = few_rows(Columns), vectors = few_vectors(Columns);
#pragma unroll 2
  for (int k = 0; k < clusters; k += 2) {
    int key[each][2];
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      float c[4 * vectors];
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const float4 four = searched[(k + which) * vectors + v];
        c[4 * v] = four.x, c[4 * v + 1] = four.y, c[4 * v + 2] = four.z, c[4 * v + 3] = four.w;
      }
#pragma unroll
      for (int i = 0; i < each; ++i) {
        float distance = fmaf(norms[i], 0.5F, c[Columns]);
#pragma unroll
        for (int j = 0; j < Columns; ++j) distance = fmaf(x[i][j], c[j], distance);
        key[i][which] = (__float_as_int(distance) & kept) | (k + which);
      }
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int low = min(key[i][0], key[i][1]), high = max(key[i][0], key[i][1]);
      second[i] = __vimin3_s32(second[i], high, max(best[i], low));
      best[i] = min(best[i], low);
    }
  }
}

// A group of centroids.
template <int Columns>
struct few_centroids {
  static constexpr int vectors = ((Columns + 1) * few_group + 3) / 4;
  float numbers[4 * vectors];

  __device__ few_centroids(const float4* searched, int group) {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const float4 four = searched[group * few_vectors(Columns) + v];
      numbers[4 * v] = four.x, numbers[4 * v + 1] = four.y, numbers[4 * v + 2] = four.z, numbers[4 * v + 3] = four.w;
    }
  }
};

// Scores of a row with a group of centroids, as whole numbers, which order like them where they are not negative; a
// negative one is below those.
template <int Columns>
__device__ void group_scores(const float (&x)[Columns], const few_centroids<Columns>& c, int (&scores)[few_group]) {
#pragma unroll
  for (int i = 0; i < few_group; ++i) {
    float sum = c.numbers[Columns * few_group + i];
#pragma unroll
    for (int j = 0; j < Columns; ++j) sum = fmaf(x[j], c.numbers[j * few_group + i], sum);
    scores[i] = __float_as_int(sum);
  }
}

static_assert(few_group == 3);
__device__ inline int largest_of(const int (&scores)[few_group]) {
  return __vimax3_s32(scores[0], scores[1], scores[2]);
}

// The largest score of each row in a group, with the group's number in its last bits.
template <int Columns>
__device__ void group_keys(int group, int kept, const float4* searched, const float (&x)[few_rows(Columns)][Columns],
                           int (&keys)[few_rows(Columns)]) {
  const few_centroids<Columns> c(searched, group);
#pragma unroll
  for (int i = 0; i < few_rows(Columns); ++i) {
    int scores[few_group];
    group_scores(x[i], c, scores);
    keys[i] = (largest_of(scores) & kept) | group;
  }
}

// The nearest centroids of a thread's rows. The largest score of each group is kept, and the largest two of those; then
// the largest one's group is looked at once more. `clear` is how much larger the nearest one's score is than others
// may be, but for frame.unclear. Others' scores that are negative count as 0.
template <class Scalar, int Columns>
__device__ void search_groups(int clusters, const few_frame<Scalar>& frame, const float4* searched,
                              const float (&x)[few_rows(Columns)][Columns], const float (&norms)[few_rows(Columns)],
                              int (&labels)[few_rows(Columns)], float (&clear)[few_rows(Columns)]) {
  constexpr int each = few_rows(Columns);
  const int groups = (clusters + few_group - 1) / few_group, kept = -1 << group_bits(clusters);
  int best[each], second[each];
  int g = groups % 2;
  if (g != 0) {
    group_keys<Columns>(0, kept, searched, x, best);
#pragma unroll
    for (int i = 0; i < each; ++i) second[i] = 0;
  } else {
#pragma unroll
    for (int i = 0; i < each; ++i) best[i] = second[i] = 0;
  }
#pragma unroll 1
  for (; g < groups; g += 2) {
    int keys[each], others[each];
    group_keys<Columns>(g, kept, searched, x, keys);
    group_keys<Columns>(g + 1, kept, searched, x, others);
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int high = max(keys[i], others[i]), low = min(keys[i], others[i]);
      second[i] = __vimax3_s32(second[i], low, min(best[i], high));
      best[i] = max(best[i], high);
    }
  }
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int group = best[i] & ~kept;
    int scores[few_group];
    group_scores(x[i], few_centroids<Columns>(searched, group), scores);
#pragma unroll
    for (int k = 0; k < few_group; ++k) scores[k] = (scores[k] & kept) | k;
    const int high = max(scores[0], scores[1]), low = min(scores[0], scores[1]);
    const int nearest = max(high, scores[2]), next = __vimax3_s32(low, min(high, scores[2]), second[i]);
    labels[i] = group * few_group + (nearest & 3);
    clear[i] = fmaf(norms[i], -frame.unclear_share, __int_as_float(nearest) - __int_as_float(next));
  }
}

// The same among pairs of centroids, for more columns. A key is half a squared distance whose last bits are the
// cluster's number: numbers that are not negative order like integers.
template <int Columns>
__device__ void search_pairs(int all, float largest, const float4* searched,
                             const float (&x)[few_rows(Columns)][Columns], const float (&norms)[few_rows(Columns)],
                             int (&labels)[few_rows(Columns)], bool (&doubtful)[few_rows(Columns)]) {
  constexpr int each = few_rows(Columns);
  const int clusters = few_padded(all, Columns), index_bits = 32 - __clz(clusters - 1), kept = -1 << index_bits;
  int best[each], second[each];
#pragma unroll
  for (int i = 0; i < each; ++i) best[i] = second[i] = std::numeric_limits<int>::max();
  search_all<Columns>(clusters, kept, searched, x, norms, best, second);
  // d + 4 roundings of (‖x‖ + ‖c‖)²/2, and as much again for a row and a centroid that rounding moved; then the bits
  // that the number takes.
  constexpr float unit = 0x1p-24F * 1.05F, least = 16 * std::numeric_limits<float>::min();
  const float taken = static_cast<float>(1 << index_bits) * 0x1p-22F;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const float nearest = __int_as_float(best[i] & kept), next = __int_as_float(second[i] & kept);
    const float reach = norms[i] + largest * largest;  // at least half of (‖x‖ + ‖c‖)²
    labels[i] = best[i] & ~kept;  // of a place beyond the last cluster where all distances overflow
    doubtful[i] = !(next - nearest > 2 * (Columns + 6) * unit * reach + taken * next + least) || labels[i] >= all;
  }
}

// The same of one column: a row between two bounds is nearest to the centroid there.
template <int Each>
__device__ void search_column(int clusters, float largest, float least_gap, const float* bounds,
                              const float (&x)[Each][1], int (&labels)[Each], bool (&doubtful)[Each]) {
  const int places = bound_places(clusters);
  const int* const numbers = reinterpret_cast<const int*>(bounds + bound_offset(places) + 1);
  const auto first = static_cast<unsigned>(__cvta_generic_to_shared(bounds));
  const auto bound_at = [](unsigned address) { return *static_cast<const float*>(__cvta_shared_to_generic(address)); };
  unsigned below[Each];  // addresses in shared memory
#pragma unroll
  for (int i = 0; i < Each; ++i) below[i] = first;
  for (int step = places / 2; step > 0; step /= 2) {
    const unsigned bytes = bound_offset(step) * sizeof(float);  // a place before it is a multiple of it
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      const unsigned middle = below[i] + bytes;
      if (bound_at(middle) < x[i][0]) below[i] = middle;
    }
  }
  // Rounding moved a row and a bound. And where centroids lie so close together that the definition's distances of a
  // row far away might be equal, it decides.
  constexpr float unit = 0x1p-24F * 1.05F, least = 16 * std::numeric_limits<float>::min();
  const float most_reach = 0x1p48F * least_gap;
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    labels[i] = numbers[(below[i] - first) / sizeof(float)];
    const float reach = fabsf(x[i][0]) + largest;
    const float gap = fminf(x[i][0] - bound_at(below[i]), bound_at(below[i] + sizeof(float)) - x[i][0]);
    doubtful[i] = !(gap > unit * reach + least && reach < most_reach);
  }
}

// Decides by the definition what is in doubt of a thread's rows, a row every 32. A warp has few of them, and shares
// each of those: alone a thread would wait for every centroid.
template <class Scalar, int Columns>
__device__ void decide(const one_pass_arguments<Scalar>& in, const Scalar* rows,
                       const bool (&doubtful)[few_rows(Columns)], int (&labels)[few_rows(Columns)]) {
  constexpr int most_shared = 4;
  const int thread = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < few_rows(Columns); ++i) {
    unsigned left = __ballot_sync(~0U, doubtful[i]);
    const Scalar* const from = rows + i * 32 * Columns;
    if (__popc(left) > most_shared) {
      if (doubtful[i]) {
        labels[i] = nearest_in_float64<Scalar, Columns>(from + thread * Columns, in.centroids, in.clusters);
      }
      __syncwarp();
      continue;
    }
    for (; left != 0; left &= left - 1) {
      const int whose = __ffs(static_cast<int>(left)) - 1;
      const int nearest = nearest_by_warp<Scalar, Columns>(from + whose * Columns, in.centroids, in.clusters);
      if (thread == whose) labels[i] = nearest;
    }
  }
}

/// Rows and centroids nearer to the origin than this have squares that float32 can add up.
inline constexpr float most_few_distance = 1e15F;

// The nearest centroids of up to 32 · few_rows() rows, a thread's being a row every 32; 0 of rows that are not there.
// Whether any row or centroid is most_few_distance away.
template <class Scalar, int Columns>
__device__ bool search_rows(const one_pass_arguments<Scalar>& in, const float4* searched,
                            const few_frame<Scalar>& frame, const Scalar* rows, int count,
                            Scalar (&read)[few_rows(Columns)][Columns], int (&labels)[few_rows(Columns)]) {
  constexpr int each = few_rows(Columns);
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const Scalar* const own = rows + thread * Columns;
  if (count == 32 * each) {
#pragma unroll
    for (int i = 0; i < each; ++i) {
#pragma unroll
      for (int j = 0; j < Columns; ++j) read[i][j] = own[i * 32 * Columns + j];
    }
  } else {
#pragma unroll
    for (int i = 0; i < each; ++i) {
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        read[i][j] = i * 32 + thread < count ? own[i * 32 * Columns + j] : frame.origin[j];
      }
    }
  }
  float x[each][Columns], norms[each];
#pragma unroll
  for (int i = 0; i < each; ++i) {
    norms[i] = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      x[i][j] = static_cast<float>(read[i][j] - frame.origin[j]);
      norms[i] = fmaf(x[i][j], x[i][j], norms[i]);
    }
  }
  const bool near = frame.largest < most_few_distance;
  constexpr float most_norm = most_few_distance * most_few_distance;
  bool doubtful[each], any = false, far = false;
  if constexpr (few_in_groups(Columns)) {
    float clear[each];
    search_groups<Scalar, Columns>(in.clusters, frame, searched, x, norms, labels, clear);
    if (count != 32 * each) {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        if (i * 32 + thread < count) continue;
        labels[i] = 0;
        clear[i] = INFINITY;
      }
    }
    // Numbers that are not negative order like whole ones; what is no number has a norm that is none, above all others.
    int least_clear = __float_as_int(clear[0]), largest_norm = __float_as_int(norms[0]);
#pragma unroll
    for (int i = 1; i < each; i += 2) {
      const int next = min(i + 1, each - 1);
      least_clear = __vimin3_s32(least_clear, __float_as_int(clear[i]), __float_as_int(clear[next]));
      largest_norm = __vimax3_s32(largest_norm, __float_as_int(norms[i]), __float_as_int(norms[next]));
    }
    far = !near || largest_norm > __float_as_int(most_norm);
    any = far || least_clear <= __float_as_int(frame.unclear);
    if (!__any_sync(~0U, any)) return false;
#pragma unroll
    for (int i = 0; i < each; ++i) doubtful[i] = !(clear[i] > frame.unclear);
  } else {
    if constexpr (Columns == 1) {
      search_column(in.clusters, frame.largest, frame.least_gap, reinterpret_cast<const float*>(searched), x, labels,
                    doubtful);
    } else {
      search_pairs<Columns>(in.clusters, frame.largest, searched, x, norms, labels, doubtful);
    }
    if (count != 32 * each) {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        if (i * 32 + thread < count) continue;
        labels[i] = 0;
        doubtful[i] = false;
      }
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
      any = any || doubtful[i];
      far = far || !(norms[i] <= (near ? most_norm : 0));
    }
    if (!__any_sync(~0U, any || far)) return false;
  }
  decide<Scalar, Columns>(in, rows, doubtful, labels);
  return __any_sync(~0U, far);
}

}  // namespace shoal::kmeans
