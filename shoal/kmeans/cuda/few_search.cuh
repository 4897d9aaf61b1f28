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
  Scalar origin[few_row_threads(most_one_pass_columns)];  // of float32: the mean of the centroids
  float largest;                                          // ‖c − origin‖, at least that of every centroid
};

// Places of centroids of one column in their order, whose search halves them: a power of two, and two beyond each end.
__device__ inline int sorted_places(int clusters) { return 1 << (32 - __clz(clusters - 1)); }
constexpr int sorted_margin = 2;

// Sorts centroids of one column by their value: [sorted_margin + sorted_places() + sorted_margin] c′, [clusters]
// numbers.
template <class Scalar>
__device__ void sort_centroids(const one_pass_arguments<Scalar>& in, float* sorted, few_frame<Scalar>& frame) {
  const int places = sorted_places(in.clusters);
  int* const numbers = reinterpret_cast<int*>(sorted + places + 2 * sorted_margin);
  const auto moved = [&](int k) { return static_cast<float>(in.centroids[k] - static_cast<double>(frame.origin[0])); };
  for (int i = static_cast<int>(threadIdx.x); i < places + 2 * sorted_margin; i += static_cast<int>(blockDim.x)) {
    if (i < sorted_margin) sorted[i] = -INFINITY;
    if (i >= sorted_margin + in.clusters) sorted[i] = INFINITY;
  }
  for (int k = static_cast<int>(threadIdx.x); k < in.clusters; k += static_cast<int>(blockDim.x)) {
    const float own = moved(k);
    int place = 0;
    for (int other = 0; other < in.clusters; ++other) {
      const float value = moved(other);
      place += value < own || (value == own && other < k) ? 1 : 0;
    }
    sorted[sorted_margin + place] = own;
    numbers[place] = k;
    atomicMax(reinterpret_cast<int*>(&frame.largest), __float_as_int(fabsf(own)));
  }
}

// −c′ of centroids of more columns, and ‖c′‖²/2 where distances are found by products.
template <class Scalar, int Columns>
__device__ void lay_out_centroids(const one_pass_arguments<Scalar>& in, float* elements, few_frame<Scalar>& frame) {
  for (int k = static_cast<int>(threadIdx.x); k < few_padded(in.clusters); k += static_cast<int>(blockDim.x)) {
    float* const to = elements + k * 4 * few_vectors(Columns);
    const bool real = k < in.clusters;
    double norm = 0;
    for (int j = 0; j < Columns; ++j) {
      const double moved = real ? in.centroids[k * Columns + j] - static_cast<double>(frame.origin[j]) : 0;
      const auto rounded = static_cast<float>(moved);
      to[j] = -rounded;
      norm += static_cast<double>(rounded) * static_cast<double>(rounded);
    }
    if constexpr (few_by_products(Columns)) {
      to[Columns] = real ? static_cast<float>(norm / 2) : few_beyond(Columns);
    } else if (!real) {
      to[0] = few_beyond(Columns);
    }
    const float length = static_cast<float>(sqrt(norm)) * 1.0001F;
    if (real) atomicMax(reinterpret_cast<int*>(&frame.largest), __float_as_int(length));
  }
}

// The centroids as the search reads them, and as the sums do. Differences of few columns keep all digits of a
// distance; products of more columns are fewer instructions.
template <class Scalar, int Columns>
__device__ void prepare(const one_pass_arguments<Scalar>& in, float4* searched, Scalar* centres,
                        few_frame<Scalar>& frame) {
  constexpr int row_threads = few_row_threads(Columns);
  const int warp = static_cast<int>(threadIdx.x) / 32, thread = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  for (int j = warp; j < Columns; j += warps) {
    double sum = 0;
    for (int k = thread; k < in.clusters; k += 32) sum += in.centroids[k * Columns + j];
    sum = cuda::warp_sum(sum) / in.clusters;
    const auto rounded = static_cast<float>(sum);
    if (thread == 0) frame.origin[j] = isfinite(rounded) ? static_cast<Scalar>(rounded) : Scalar{0};
  }
  if (threadIdx.x == 0) frame.largest = 0;
  for (int i = static_cast<int>(threadIdx.x); i < in.clusters * 32; i += static_cast<int>(blockDim.x)) {
    const int column = i % row_threads;
    centres[i] = column < Columns ? static_cast<Scalar>(in.centroids[i / 32 * Columns + column]) : Scalar{0};
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
        float distance = 0;
        if constexpr (few_by_products(Columns)) {
          distance = fmaf(norms[i], 0.5F, c[Columns]);
#pragma unroll
          for (int j = 0; j < Columns; ++j) distance = fmaf(x[i][j], c[j], distance);
        } else {
#pragma unroll
          for (int j = 0; j < Columns; ++j) distance = fmaf(x[i][j] + c[j], x[i][j] + c[j], distance);
        }
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

// The same of one column, as the bits of the least two squared distances, with the number of the nearest: among the two
// centroids on either side of a row.
template <int Each>
__device__ void search_sorted(int clusters, const float* sorted, const float (&x)[Each][1], int (&best)[Each],
                              int (&second)[Each], int (&labels)[Each]) {
  const int places = sorted_places(clusters);
  const int* const numbers = reinterpret_cast<const int*>(sorted + places + 2 * sorted_margin);
  const float* const first = sorted + sorted_margin;
  int place[Each] = {};
  for (int step = places / 2; step > 0; step /= 2) {
#pragma unroll
    for (int i = 0; i < Each; ++i) place[i] += first[place[i] + step - 1] < x[i][0] ? step : 0;
  }
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    place[i] += first[place[i]] < x[i][0] ? 1 : 0;  // centroids below the row
    int nearest = 0;
#pragma unroll
    for (int near = -sorted_margin; near < sorted_margin; ++near) {
      const float difference = x[i][0] - first[place[i] + near];
      const int key = __float_as_int(difference * difference);
      second[i] = min(second[i], max(best[i], key));
      nearest = key < best[i] ? place[i] + near : nearest;
      best[i] = min(best[i], key);
    }
    labels[i] = numbers[min(max(nearest, 0), clusters - 1)];
  }
}

// The nearest centroids of a thread's rows. A key is a squared distance (half of one by products) whose last bits are
// the cluster's number: numbers that are not negative order like integers.
template <class Scalar, int Columns>
__device__ void search_rows(const one_pass_arguments<Scalar>& in, const float4* searched,
                            const few_frame<Scalar>& frame, const Scalar* const (&rows)[few_rows(Columns)],
                            int (&labels)[few_rows(Columns)]) {
  constexpr int each = few_rows(Columns), vectors = few_vectors(Columns);
  constexpr bool by_products = few_by_products(Columns);
  float x[each][Columns], norms[each];
  int best[each], second[each];
#pragma unroll
  for (int i = 0; i < each; ++i) {
    norms[i] = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      x[i][j] = static_cast<float>(rows[i][j] - frame.origin[j]);
      norms[i] = fmaf(x[i][j], x[i][j], norms[i]);
    }
    best[i] = second[i] = std::numeric_limits<int>::max();
  }
  const int clusters = few_padded(in.clusters), index_bits = Columns == 1 ? 0 : 32 - __clz(clusters - 1);
  const int kept = -1 << index_bits;
  if constexpr (Columns == 1) {
    search_sorted(in.clusters, reinterpret_cast<const float*>(searched), x, best, second, labels);
  } else {
    search_all<Columns>(clusters, kept, searched, x, norms, best, second);
  }
  // How far apart two distances must be. Of differences: (d + 3) roundings of a distance D, and 2√D·η + η² for a row
  // and a centroid that rounding moved by η. Of products: d + 4 roundings of (‖x‖ + ‖c‖)²/2, and as much again for the
  // move. Then the bits that the number takes.
  constexpr float unit = 0x1p-24F * 1.05F, least = 16 * std::numeric_limits<float>::min();
  const float taken = Columns == 1 ? 0 : static_cast<float>(1 << index_bits) * 0x1p-22F;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const float nearest = __int_as_float(best[i] & kept), next = __int_as_float(second[i] & kept);
    const float reach = sqrtf(norms[i]) + frame.largest;
    float error = 0;
    if constexpr (by_products) {
      error = (Columns + 6) * unit * (reach * reach) + taken * next + least;
    } else {
      const float moved = unit * reach;
      error = 2 * ((Columns + 4) * unit * next + 2.001F * sqrtf(next) * moved + moved * moved) + taken * next + least;
    }
    if constexpr (Columns > 1)
      labels[i] = best[i] & ~kept;  // of a place beyond the last cluster where all distances overflow
    if (!(next - nearest > error) || labels[i] >= in.clusters)
      labels[i] = nearest_in_float64<Scalar, Columns>(rows[i], in.centroids, in.clusters);
  }
}

}  // namespace shoal::kmeans
