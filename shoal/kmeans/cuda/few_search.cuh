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
  Scalar origin[most_one_pass_columns];  // of float32: the mean of the centroids
  float largest;                         // ‖c − origin‖, at least that of every centroid
  float least_gap;                       // of one column: between neighbouring centroids that differ
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

// −c′ and ‖c′‖²/2 of centroids of more columns. In groups the latter is less the error of scores of this centroid, so
// that centroids far away leave no row in doubt.
template <class Scalar, int Columns>
__device__ void lay_out_centroids(const one_pass_arguments<Scalar>& in, float* elements, few_frame<Scalar>& frame) {
  constexpr int group = few_in_groups(Columns) ? few_group : 1;
  for (int k = static_cast<int>(threadIdx.x); k < few_padded(in.clusters, Columns); k += static_cast<int>(blockDim.x)) {
    float* const to = elements + k / group * 4 * few_vectors(Columns) + k % group;
    const bool real = k < in.clusters;
    double norm = 0;
    for (int j = 0; j < Columns; ++j) {
      const double moved = real ? in.centroids[k * Columns + j] - static_cast<double>(frame.origin[j]) : 0;
      const auto rounded = static_cast<float>(moved);
      to[j * group] = -rounded;
      norm += static_cast<double>(rounded) * static_cast<double>(rounded);
    }
    const double error = few_in_groups(Columns) ? static_cast<double>(few_score_error<Columns>) : 0;
    to[Columns * group] = real ? static_cast<float>(norm * (0.5 - error)) : few_beyond;
    const float length = sqrtf(static_cast<float>(norm)) * 1.0001F;
    if (real) atomicMax(reinterpret_cast<int*>(&frame.largest), __float_as_int(length));
  }
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
  if (threadIdx.x == 0) frame.largest = 0, frame.least_gap = INFINITY;
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
  } else {
    lay_out_centroids<Scalar, Columns>(in, elements, frame);
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

// Scores of a row with a group of centroids.
template <int Columns>
__device__ void group_scores(const float (&x)[Columns], const float4 (&c)[Columns + 1], float (&scores)[few_group]) {
  scores[0] = c[Columns].x, scores[1] = c[Columns].y, scores[2] = c[Columns].z, scores[3] = c[Columns].w;
#pragma unroll
  for (int j = 0; j < Columns; ++j) {
    scores[0] = fmaf(x[j], c[j].x, scores[0]);
    scores[1] = fmaf(x[j], c[j].y, scores[1]);
    scores[2] = fmaf(x[j], c[j].z, scores[2]);
    scores[3] = fmaf(x[j], c[j].w, scores[3]);
  }
}

// The nearest centroids of a thread's rows, and whether that is in doubt. The least score of each group is kept with
// the group's number in its last bits; then the least group is looked at once more.
template <int Columns>
__device__ void search_groups(int clusters, float largest, const float4* searched,
                              const float (&x)[few_rows(Columns)][Columns], const float (&norms)[few_rows(Columns)],
                              int (&labels)[few_rows(Columns)], bool (&doubtful)[few_rows(Columns)]) {
  constexpr int each = few_rows(Columns), vectors = few_vectors(Columns);
  const int groups = (clusters + few_group - 1) / few_group, index_bits = 32 - __clz(groups - 1);
  const int kept = -1 << index_bits;
  float best[each], second[each];
#pragma unroll
  for (int i = 0; i < each; ++i) {
    second[i] = std::numeric_limits<float>::max();
    best[i] = __int_as_float(__float_as_int(second[i]) & kept);  // of the first group
  }
#pragma unroll 2
  for (int g = 0; g < groups; ++g) {
    float4 c[Columns + 1];
#pragma unroll
    for (int j = 0; j <= Columns; ++j) c[j] = searched[g * vectors + j];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      float scores[few_group];
      group_scores(x[i], c, scores);
      const float least = fminf(fminf(scores[0], scores[1]), fminf(scores[2], scores[3]));
      const float key = __int_as_float((__float_as_int(least) & kept) | g);
      second[i] = fminf(second[i], fmaxf(best[i], key));
      best[i] = fminf(best[i], key);
    }
  }
  const float taken = static_cast<float>(1 << index_bits) * 0x1p-22F;
  // Beyond, products of finite norms overflow.
  const float smallest = largest < 1e18F ? 16 * std::numeric_limits<float>::min() : INFINITY;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int g = __float_as_int(best[i]) & ~kept;
    float4 c[Columns + 1];
#pragma unroll
    for (int j = 0; j <= Columns; ++j) c[j] = searched[g * vectors + j];
    float scores[few_group];
    group_scores(x[i], c, scores);
    const float low = fminf(scores[0], scores[1]), high = fmaxf(scores[0], scores[1]);
    const float other_low = fminf(scores[2], scores[3]), other_high = fmaxf(scores[2], scores[3]);
    const float nearest = fminf(low, other_low);
    const float next = fminf(fmaxf(low, other_low), fminf(high, other_high));
    const int within = other_low < low ? (scores[3] < scores[2] ? 3 : 2) : (scores[1] < scores[0] ? 1 : 0);
    labels[i] = g * few_group + within;
    // ‖c′‖² of the nearest is at most 4·(‖x′‖² + its score).
    const float error =
        few_score_error<Columns> * (10.1F * norms[i] + 8.1F * fabsf(nearest)) + taken * fabsf(second[i]) + smallest;
    doubtful[i] = !(fminf(next, second[i]) - nearest > error);
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
                            int (&labels)[few_rows(Columns)]) {
  constexpr int each = few_rows(Columns);
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const Scalar* const own = rows + thread * Columns;
  Scalar read[each][Columns];
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
  bool doubtful[each];
  if constexpr (Columns == 1) {
    search_column(in.clusters, frame.largest, frame.least_gap, reinterpret_cast<const float*>(searched), x, labels,
                  doubtful);
  } else if constexpr (few_in_groups(Columns)) {
    search_groups<Columns>(in.clusters, frame.largest, searched, x, norms, labels, doubtful);
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
  const float most_norm = frame.largest < most_few_distance ? most_few_distance * most_few_distance : 0;
  bool any = false, far = false;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    any = any || doubtful[i];
    far = far || !(norms[i] <= most_norm);
  }
  if (!__any_sync(~0U, any || far)) return false;
  decide<Scalar, Columns>(in, rows, doubtful, labels);
  return __any_sync(~0U, far);
}

}  // namespace shoal::kmeans
