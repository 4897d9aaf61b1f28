#include "node_by_node.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <limits>

namespace {

constexpr int most_threads = 256;

template <first_distance Metric>
__host__ __device__ float of_column(float x, float w) {
  const float difference = x - w;
  return Metric == first_distance::euclidean ? difference * difference : fabsf(difference);
}

template <first_distance Metric>
void search_rows(const float* rows, std::size_t count, const float* units, std::size_t unit_count, std::size_t columns,
                 std::int32_t* labels) {
  for (std::size_t i = 0; i < count; ++i) {
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t u = 0; u < unit_count; ++u) {
      float sum = 0;
      for (std::size_t j = 0; j < columns; ++j) sum += of_column<Metric>(rows[i * columns + j], units[u * columns + j]);
      if (sum < least) {
        least = sum;
        labels[i] = static_cast<std::int32_t>(u);
      }
    }
  }
}

template <first_distance Metric, bool AThreadAUnit>
__global__ void node_kernel(const float* row, const float* units, int unit_count, int columns, block_minima minima) {
  __shared__ float parts[most_threads];
  __shared__ float sums[most_threads];
  const int here = static_cast<int>(blockDim.x) / columns;  // units of a block
  const int first = static_cast<int>(blockIdx.x) * here, thread = static_cast<int>(threadIdx.x);
  const int unit = thread / columns, j = thread % columns;
  const bool real = first + unit < unit_count;
  parts[thread] = real ? of_column<Metric>(row[j], units[static_cast<std::size_t>(first + unit) * columns + j]) : 0;
  __syncthreads();
  // One thread must not read sums that others have not written: here and below all wait at the same place.
  if (AThreadAUnit ? j == 0 : thread == 0) {
    for (int u = AThreadAUnit ? unit : 0; u < (AThreadAUnit ? unit + 1 : here); ++u) {
      float sum = 0;
      for (int k = 0; k < columns; ++k) sum += parts[u * columns + k];
      sums[u] = sum;
    }
  }
  __syncthreads();
  if (thread != 0) return;
  float least = INFINITY;
  int nearest = first;
  for (int u = 0; u < here && first + u < unit_count; ++u) {
    if (sums[u] < least) least = sums[u], nearest = first + u;
  }
  minima.distances[blockIdx.x] = least;
  minima.units[blockIdx.x] = nearest;
}

// A block for each row.
__global__ void least_kernel(block_minima minima, int blocks, std::int32_t* labels) {
  __shared__ float distances[most_threads];
  __shared__ std::int32_t units[most_threads];
  const std::size_t base = std::size_t{blockIdx.x} * blocks;
  float least = INFINITY;
  std::int32_t nearest = 0x7fffffff;
  const auto take = [&](float distance, std::int32_t unit) {
    if (distance < least || (distance == least && unit < nearest)) least = distance, nearest = unit;
  };
  for (int b = threadIdx.x; b < blocks; b += most_threads) take(minima.distances[base + b], minima.units[base + b]);
  distances[threadIdx.x] = least;
  units[threadIdx.x] = nearest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < most_threads; ++t) take(distances[t], units[t]);
  labels[blockIdx.x] = nearest;
}

template <first_distance Metric>
void launch(bool a_thread_a_unit, const float* rows, std::size_t count, const float* units, std::size_t unit_count,
            std::size_t columns, const block_minima& minima, std::int32_t* labels, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(blocks_of_units(unit_count, columns));
  const auto threads = static_cast<unsigned>(most_threads / columns * columns);
  const auto kernel = a_thread_a_unit ? node_kernel<Metric, true> : node_kernel<Metric, false>;
  for (std::size_t i = 0; i < count; ++i) {
    kernel<<<blocks, threads, 0, stream>>>(rows + i * columns, units, static_cast<int>(unit_count),
                                           static_cast<int>(columns),
                                           {minima.distances + i * blocks, minima.units + i * blocks});
  }
  least_kernel<<<static_cast<unsigned>(count), most_threads, 0, stream>>>(minima, static_cast<int>(blocks), labels);
}

}  // namespace

void search_in_turn(first_distance metric, const float* rows, std::size_t count, const float* units,
                    std::size_t unit_count, std::size_t columns, std::int32_t* labels) {
  if (metric == first_distance::euclidean) {
    return search_rows<first_distance::euclidean>(rows, count, units, unit_count, columns, labels);
  }
  search_rows<first_distance::taxicab>(rows, count, units, unit_count, columns, labels);
}

std::size_t blocks_of_units(std::size_t unit_count, std::size_t columns) {
  const std::size_t here = most_threads / columns;
  return (unit_count + here - 1) / here;
}

void search_node_by_node(first_distance metric, bool a_thread_a_unit, const float* rows, std::size_t count,
                         const float* units, std::size_t unit_count, std::size_t columns, const block_minima& minima,
                         std::int32_t* labels, cudaStream_t stream) {
  if (metric == first_distance::euclidean) {
    return launch<first_distance::euclidean>(a_thread_a_unit, rows, count, units, unit_count, columns, minima, labels,
                                             stream);
  }
  launch<first_distance::taxicab>(a_thread_a_unit, rows, count, units, unit_count, columns, minima, labels, stream);
}
