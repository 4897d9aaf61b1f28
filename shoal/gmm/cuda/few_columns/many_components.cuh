// The kernel for few columns and many components: log-densities are computed twice, for what responsibilities are
// scaled by and for the moments, so that no responsibility lies in memory and a row takes as much room for any number
// of components.
#pragma once

#include <cuda_runtime.h>

#include <limits>
#include <type_traits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>
#include <shoal/gmm/cuda/few_columns/many_components.hpp>
#include <shoal/gmm/cuda/few_columns/many_components_tuning.hpp>

namespace shoal::gmm::few_columns {

template <class T, int Columns, bool Matrix>
struct many_shape : shape<T, Columns, Matrix> {
  static constexpr many_sizes sizes =
      many_sizes_for((many_shape::record + many_shape::sums) * static_cast<int>(sizeof(T)) / 4);
};

template <class T>
struct pair_of;
template <>
struct pair_of<float> {
  using type = float2;
};
template <>
struct pair_of<double> {
  using type = double2;
};

/// Places in the dynamic shared memory of a block.
template <class T>
struct many_places {
  using pair = typename pair_of<T>::type;
  T* records;
  T* rows;      ///< planes of 16 bytes: [planes][stage_rows]
  pair* scale;  ///< [stage_rows] the greatest log-density, and w / Σ exp
  T* flush;     ///< what flush() needs, or far_rows()
  unsigned* far;
};

template <class Shape, class T>
__device__ many_places<T> find_many_places(const many_arguments<T>& a) {
  extern __shared__ __align__(16) unsigned char memory[];
  many_places<T> p;
  p.records = reinterpret_cast<T*>(memory);
  p.rows = p.records + a.resident_records * Shape::record;
  p.scale = reinterpret_cast<typename many_places<T>::pair*>(p.rows + Shape::planes * Shape::vector * a.stage_rows);
  p.far = reinterpret_cast<unsigned*>(p.scale + a.stage_rows);
  p.flush = reinterpret_cast<T*>(p.far + (a.stage_rows + 127) / 128 * 4);
  return p;
}

/// Adds a log-density to Σ exp2(log-density − best), and says whether it is a new best one. `count` is 1, or what more
/// than one sum to beside it.
template <class T>
__device__ bool add_term(T term, T count, T& best, T& sum) {
  const bool greater = term > best;
  const T less = exponential_of_two(-fabs(term - best));
  sum = fma(less, greater ? sum : count, greater ? count : sum);
  best = greater ? term : best;
  return greater;
}

/// Of each row of a group the greatest log-density and what responsibilities are multiplied by, and the rows. Returns
/// whether this thread saw a far row; those weigh nothing and have a bit in far.
template <class Shape, int Columns, bool Matrix, int Rows, class T>
__device__ bool compare(const many_arguments<T>& a, const many_places<T>& p, const T* from, const T* weights,
                        unsigned count, row_sums& head) {
  using vector = typename vector_of<T>::type;
  const unsigned sharing = Rows == 1 ? a.row_threads : 1;
  const unsigned lane = threadIdx.x % sharing, place = threadIdx.x / sharing, step = blockDim.x / sharing;
  // Finite, for a difference of two infinities is no number.
  constexpr T least = std::numeric_limits<T>::lowest();
  T x[Rows][Columns];
  T best[Rows], sum[Rows];
  unsigned nearest[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const unsigned row = place + r * step;
    best[r] = least;
    sum[r] = 0;
    nearest[r] = 0;
    const T* const source = from + static_cast<std::size_t>(row < count ? row : 0) * Columns;
    T padded[Shape::planes * Shape::vector] = {};
#pragma unroll
    for (int i = 0; i < Columns; ++i) x[r][i] = padded[i] = source[i];
    if (row < count && lane == 0) {
#pragma unroll
      for (int i = 0; i < Shape::planes; ++i) {
        reinterpret_cast<vector*>(p.rows)[i * a.stage_rows + row] =
            *reinterpret_cast<const vector*>(padded + i * Shape::vector);
      }
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    for (unsigned i = threadIdx.x; i < (count + 31) / 32; i += blockDim.x) p.far[i] = 0;
    __syncthreads();
  }

  for (unsigned first = 0; first < a.components; first += a.resident_records) {
    const unsigned some = min(a.resident_records, a.components - first);
    if (a.resident_records < a.components) {
      __syncthreads();
      load_records<Shape, Columns, Matrix>(a, first, some, p.records);
      __syncthreads();
    }
    if (place >= count) continue;
    for (unsigned k = lane; k < some; k += sharing) {
      T term[Rows];
      log_densities<Shape, Columns, Matrix>(p.records + k * Shape::record, x, term);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (add_term(term[r], T{1}, best[r], sum[r])) nearest[r] = first + k;
      }
    }
  }
  if constexpr (Rows == 1) {
    for (unsigned other = 1; other < sharing; other *= 2) {
      const T their_best = __shfl_xor_sync(~0U, best[0], other);
      const T their_sum = __shfl_xor_sync(~0U, sum[0], other);
      const unsigned their_nearest = __shfl_xor_sync(~0U, nearest[0], other);
      if (add_term(their_best, their_sum, best[0], sum[0])) nearest[0] = their_nearest;
    }
  }

  bool any_far = false;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const unsigned row = place + r * step;
    if (row >= count || lane != 0) continue;
    bool far = false;
    if constexpr (std::is_same_v<T, float>) {
      float extent = 0;
#pragma unroll
      for (int i = 0; i < Columns; ++i) extent = fmaxf(extent, fabsf(x[r][i]));
      const double constant = static_cast<double>(a.parameters.packed.log_constants[nearest[r]]) * log2_e;
      far = !(extent <= most_extent) || !(sum[r] <= static_cast<float>(a.components)) ||
            (may_be_far(best[r]) &&
             !((constant - static_cast<double>(best[r])) * (2 * ln_2) <= static_cast<double>(far_norm)));
      if (far) atomicOr(p.far + row / 32, 1U << row % 32);
    }
    const T weight = weights == nullptr ? T{1} : weights[row];
    if (far || weight == 0) {  // a row that weighs nothing may have a density of zero
      p.scale[row] = {static_cast<T>(INFINITY), 0};
      for (int i = 0; i < Shape::planes; ++i) reinterpret_cast<vector*>(p.rows)[i * a.stage_rows + row] = vector{};
    } else {
      p.scale[row] = {best[r], quotient(weight, sum[r])};
      const double log_density = static_cast<double>(best[r]) + static_cast<double>(logarithm_of_two(sum[r]));
      head.log_likelihood += static_cast<double>(weight) * log_density;
      head.weight += static_cast<double>(weight);
    }
    any_far = any_far || far;
  }
  return any_far;
}

/// A component's record, from the parameters.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void load_record(const kernel_arguments<T>& a, unsigned k, T (&value)[Shape::record]) {
  const prepared_components<T>& from = a.parameters.packed;
  int next = 0;
#pragma unroll
  for (int i = 0; i < Columns; ++i) value[next++] = from.centres[k * Columns + i];
#pragma unroll
  for (int j = 0; j < Columns; ++j) {
    value[next++] = from.offsets[k * Columns + j];
#pragma unroll
    for (int i = Matrix ? 0 : j; i <= j; ++i) {
      value[next++] = Matrix ? from.factors[k * a.factor_stride + i * Columns + j] : from.factors[k * Columns + j];
    }
  }
  value[next] = static_cast<T>(static_cast<double>(from.log_constants[k]) * log2_e);
}

/// Adds rows slice, slice + slices, … of the group to one component's sums.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void many_moments(const many_arguments<T>& a, const many_places<T>& p, unsigned component, unsigned slice,
                             unsigned slices, unsigned count, T (&sums)[Shape::sums]) {
  using vector = typename vector_of<T>::type;
  T value[Shape::record];
  load_record<Shape, Columns, Matrix>(a, component, value);
#pragma unroll 2
  for (unsigned row = slice; row < count; row += slices) {
    T padded[Shape::planes * Shape::vector];
#pragma unroll
    for (int i = 0; i < Shape::planes; ++i) {
      *reinterpret_cast<vector*>(padded + i * Shape::vector) =
          reinterpret_cast<const vector*>(p.rows)[i * a.stage_rows + row];
    }
    T x[1][Columns], term[1];
#pragma unroll
    for (int i = 0; i < Columns; ++i) x[0][i] = padded[i];
    log_densities_of<Shape, Columns, Matrix>(value, x, term);
    const auto scale = p.scale[row];
    add_moments<Shape, Columns, Matrix>(x[0], value, exponential_of_two(term[0] - scale.x) * scale.y, sums);
  }
}

/// One group of rows into the block's lane.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void many_group(const many_arguments<T>& a, const many_places<T>& p, std::size_t begin, std::size_t end,
                           lane_sums& lane) {
  const auto count = static_cast<unsigned>(end - begin);
  const T* const from = a.rows + begin * Columns;
  const T* const weights = a.weights == nullptr ? nullptr : a.weights + begin;
  places<T> flushed{};
  flushed.rows = p.flush;
  row_sums head;
  bool any_far;
  if (a.row_threads > 1 || count <= blockDim.x) {
    any_far = compare<Shape, Columns, Matrix, 1>(a, p, from, weights, count, head);
  } else {
    any_far = compare<Shape, Columns, Matrix, 2>(a, p, from, weights, count, head);
  }
  any_far = __syncthreads_or(any_far);
  if constexpr (std::is_same_v<T, float>) {
    if (any_far) {
      fill_empty(a, lane);
      far_rows<Columns, Shape::type>(a, block_team(), p.far, reinterpret_cast<double*>(p.flush), from, weights, count,
                                     lane.values);
    }
  }
  for (unsigned first = 0; first < a.components; first += a.round_components) {
    const unsigned components = min(a.round_components, a.components - first);
    const unsigned slices = blockDim.x / components, slice = threadIdx.x / components;
    T sums[Shape::sums] = {};
    if (slice < slices) {
      many_moments<Shape, Columns, Matrix>(a, p, first + threadIdx.x % components, slice, slices, count, sums);
    }
    if (first == 0) flush_head(a, reinterpret_cast<double*>(flushed.rows), head, lane);
    flush<Shape, Columns, Matrix>(a, flushed, first, components, slices, sums, lane);
  }
  lane.empty = false;
}

/// Adds the groups of a piece that belong to the block's lane.
template <class T, int Columns, bool Matrix>
__global__ void __launch_bounds__(many_shape<T, Columns, Matrix>::sizes.threads,
                                  many_shape<T, Columns, Matrix>::sizes.blocks)
    accumulate_many(const __grid_constant__ many_arguments<T> a) {
  using Shape = many_shape<T, Columns, Matrix>;
  cuda::wait_for_predecessor();
  const many_places<T> p = find_many_places<Shape>(a);
  const int stopped = *a.parameters.stopped;
  if (a.resident_records == a.components) {
    load_records<Shape, Columns, Matrix>(a, 0, a.components, p.records);
  }
  if (stopped != 0) return;
  __syncthreads();
  lane_sums lane = lane_of_block(a);
  for_each_group(
      a, [&](std::size_t begin, std::size_t end) { many_group<Shape, Columns, Matrix>(a, p, begin, end, lane); });
  finish_lane(a, lane);
}

template <class T, bool Matrix, int Columns = 1>
many_kernel find_many_kernel_of(std::size_t columns) {
  if constexpr (Columns <= most_many_columns) {
    if (columns != Columns) return find_many_kernel_of<T, Matrix, Columns + 1>(columns);
    using Shape = many_shape<T, Columns, Matrix>;
    many_kernel kernel;
    kernel.function = reinterpret_cast<const void*>(&accumulate_many<T, Columns, Matrix>);
    kernel.threads = Shape::sizes.threads;
    kernel.blocks = Shape::sizes.blocks;
    kernel.sums = Shape::sums;
    kernel.record = Shape::record;
    kernel.row_elements = Shape::planes * Shape::vector;
    kernel.flushed_sums = Shape::flushed_sums;
    return kernel;
  } else {
    return {};
  }
}

}  // namespace shoal::gmm::few_columns
