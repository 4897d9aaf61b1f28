// The kernel for few columns: a thread has a row while responsibilities are computed, and a component with a slice of
// the rows while moments are summed, which stay in its registers for a whole group of rows.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/origin_kernel.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>

namespace shoal::gmm::few_columns {

template <class T>
struct vector_of;
template <>
struct vector_of<float> {
  using type = float4;
};
template <>
struct vector_of<double> {
  using type = double2;
};

/// What is known when a kernel is compiled. Sums of a component: with matrices the upper triangle of (x−c, 1)(x−c, 1)ᵀ
/// by rows, else W, S, Q; the order of statistics_layout.
template <class T, int Columns, bool Matrix>
struct shape {
  static constexpr int vector = 16 / static_cast<int>(sizeof(T));
  static constexpr int planes = (Columns + vector - 1) / vector;
  /// Without a matrix every column has its Q: what spherical covariances add up afterwards.
  static constexpr covariance_type type = Matrix ? covariance_type::full : covariance_type::diag;
  static constexpr int sums = sums_of<type>(Columns);
  static constexpr int factor = Matrix ? Columns * (Columns + 1) / 2 : Columns;
  /// c, then for each column its b and its factors, then the log-constant.
  static constexpr int record = (2 * Columns + factor + 1 + vector - 1) / vector * vector;
  static constexpr int flushes = (sums + most_flushed_sums<T> - 1) / most_flushed_sums<T>;
  static constexpr int flushed_sums = (sums + flushes - 1) / flushes;
  static constexpr kernel_registers registers = registers_for(sums * static_cast<int>(sizeof(T)) / 4);
};

/// Places in the dynamic shared memory of a block.
template <class T>
struct places {
  T* records;
  T* rows;   ///< planes of 16 bytes: [planes][stage_rows]
  T* scale;  ///< [stage_rows] w / Σ exp
  T* terms;  ///< [stage_rows][term_stride]
  unsigned* far;
};

template <class Shape, class T>
__device__ places<T> find_places(const kernel_arguments<T>& a) {
  extern __shared__ __align__(16) unsigned char memory[];
  places<T> p;
  p.records = reinterpret_cast<T*>(memory);
  p.rows = p.records + a.resident_records * Shape::record;
  p.scale = p.rows + Shape::planes * Shape::vector * a.stage_rows;
  p.terms = p.scale + a.stage_rows;
  p.far = reinterpret_cast<unsigned*>(p.terms + a.stage_rows * a.term_stride);
  return p;
}

/// Copies the parameters of some components into records; log-constants become powers of two.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void load_records(const kernel_arguments<T>& a, unsigned first, unsigned count, T* records) {
  const prepared_components<T>& from = a.parameters.packed;
  for (unsigned e = threadIdx.x; e < count * Shape::record; e += blockDim.x) {
    const unsigned k = first + e / Shape::record;
    const unsigned slot = e % Shape::record;
    T value = 0;
    if (slot < Columns) {
      value = from.centres[k * Columns + slot];
    } else if (slot < 2 * Columns + Shape::factor) {
      unsigned rest = slot - Columns;
      unsigned j = 0;
      if constexpr (Matrix) {
        while (rest >= j + 2) rest -= j++ + 2;
        value =
            rest == 0 ? from.offsets[k * Columns + j] : from.factors[k * a.factor_stride + (rest - 1) * Columns + j];
      } else {
        j = rest / 2;
        value = rest % 2 == 0 ? from.offsets[k * Columns + j] : from.factors[k * Columns + j];
      }
    } else if (slot == 2 * Columns + Shape::factor) {
      value = static_cast<T>(static_cast<double>(from.log_constants[k]) * log2_e);
    }
    records[e] = value;
  }
}

/// log2 of the density of some rows under a component, whose record `value` is.
template <class Shape, int Columns, bool Matrix, int Rows, class T>
__device__ void log_densities_of(const T (&value)[Shape::record], const T (&x)[Rows][Columns], T (&result)[Rows]) {
  T norm[Rows] = {};
  T z[Rows][Columns];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int i = 0; i < Columns; ++i) z[r][i] = x[r][i] - value[i];
  }
  int next = Columns;
#pragma unroll
  for (int j = 0; j < Columns; ++j) {
    T y[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) y[r] = value[next];
    ++next;
#pragma unroll
    for (int i = Matrix ? 0 : j; i <= j; ++i) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) y[r] += value[next] * z[r][i];
      ++next;
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) norm[r] += y[r] * y[r];
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) result[r] = value[next] + static_cast<T>(-0.5 * log2_e) * norm[r];
}

/// The same of a record in shared memory.
template <class Shape, int Columns, bool Matrix, int Rows, class T>
__device__ void log_densities(const T* record, const T (&x)[Rows][Columns], T (&result)[Rows]) {
  using vector = typename vector_of<T>::type;
  T value[Shape::record];
#pragma unroll
  for (int i = 0; i < Shape::record; i += Shape::vector) {
    *reinterpret_cast<vector*>(value + i) = *reinterpret_cast<const vector*>(record + i);
  }
  log_densities_of<Shape, Columns, Matrix>(value, x, result);
}

/// Responsibilities of the stage's rows: terms holds exp(ln p − greatest) and scale what they are to be multiplied by.
/// Returns whether this thread saw a far row; those have zeros in terms, scale and rows and a bit in far.
template <class Shape, int Columns, bool Matrix, int Rows, class T>
__device__ bool expectation(const kernel_arguments<T>& a, const places<T>& p, const T* from, const T* weights,
                            unsigned count, row_sums& sums) {
  using vector = typename vector_of<T>::type;
  const unsigned threads = blockDim.x;
  T x[Rows][Columns];
  T best[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const unsigned row = threadIdx.x + r * threads;
    best[r] = -INFINITY;
    const T* const source = from + static_cast<std::size_t>(row < count ? row : 0) * Columns;
    T padded[Shape::planes * Shape::vector] = {};
    if constexpr (Columns % Shape::vector == 0) {
#pragma unroll
      for (int i = 0; i < Columns; i += Shape::vector) {
        *reinterpret_cast<vector*>(padded + i) = *reinterpret_cast<const vector*>(source + i);
      }
    } else {
#pragma unroll
      for (int i = 0; i < Columns; ++i) padded[i] = source[i];
    }
#pragma unroll
    for (int i = 0; i < Columns; ++i) x[r][i] = padded[i];
    if (row < count) {
#pragma unroll
      for (int i = 0; i < Shape::planes; ++i) {
        reinterpret_cast<vector*>(p.rows)[i * a.stage_rows + row] =
            *reinterpret_cast<const vector*>(padded + i * Shape::vector);
      }
    }
  }

  for (unsigned first = 0; first < a.components; first += a.resident_records) {
    const unsigned some = min(a.resident_records, a.components - first);
    if (a.resident_records < a.components) {
      __syncthreads();
      load_records<Shape, Columns, Matrix>(a, first, some, p.records);
      __syncthreads();
    }
    if (threadIdx.x >= count) continue;
    for (unsigned k = 0; k < some; ++k) {
      T term[Rows];
      log_densities<Shape, Columns, Matrix>(p.records + k * Shape::record, x, term);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const unsigned row = threadIdx.x + r * threads;
        best[r] = max(best[r], term[r]);
        if (row < count) p.terms[row * a.term_stride + first + k] = term[r];
      }
    }
  }

  bool any_far = false;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const unsigned row = threadIdx.x + r * threads;
    bool far = false;
    if (row < count) {
      T* const terms = p.terms + row * a.term_stride;
      T sum = 0;
      if constexpr (std::is_same_v<T, float>) {
        float extent = 0;
#pragma unroll
        for (int i = 0; i < Columns; ++i) extent = fmaxf(extent, fabsf(x[r][i]));
        far = !(extent <= most_extent) || (may_be_far(best[r]) && is_far(a, terms, 1, best[r]));
      }
#pragma unroll 4
      for (unsigned k = 0; k < a.components; ++k) {
        const T term = exponential_of_two(terms[k] - best[r]);
        terms[k] = term;
        sum += term;
      }
      const T weight = weights == nullptr ? T{1} : weights[row];
      T scale = quotient(weight, sum);
      if constexpr (std::is_same_v<T, float>) far = far || !(sum <= static_cast<float>(a.components));
      // A row that weighs nothing may have a density of zero, and terms that are no numbers.
      if (far || (weight == 0 && !(sum <= static_cast<T>(a.components)))) {
        scale = 0;
        for (unsigned k = 0; k < a.components; ++k) terms[k] = 0;
        for (int i = 0; i < Shape::planes; ++i) reinterpret_cast<vector*>(p.rows)[i * a.stage_rows + row] = vector{};
      } else {
        const double log_density = static_cast<double>(best[r]) + static_cast<double>(logarithm_of_two(sum));
        sums.log_likelihood += static_cast<double>(weight) * log_density;
        sums.weight += static_cast<double>(weight);
      }
      p.scale[row] = scale;
    }
    if constexpr (std::is_same_v<T, float>) {
      const unsigned bits = __ballot_sync(~0U, far);
      if (threadIdx.x % 32 == 0 && row < a.stage_rows) p.far[row / 32] = bits;
    }
    any_far = any_far || far;
  }
  return any_far;
}

/// Adds a row of which the component has `share` to its sums.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void add_moments(const T* x, const T* centre, T share, T (&sums)[Shape::sums]) {
  T z[Columns];
#pragma unroll
  for (int i = 0; i < Columns; ++i) z[i] = x[i] - centre[i];
  if constexpr (Matrix) {
    int next = 0;
#pragma unroll
    for (int i = 0; i < Columns; ++i) {
      const T scaled = share * z[i];
#pragma unroll
      for (int j = i; j < Columns; ++j) sums[next++] += scaled * z[j];
      sums[next++] += scaled;
    }
    sums[next] += share;
  } else {
    sums[0] += share;
#pragma unroll
    for (int i = 0; i < Columns; ++i) {
      const T scaled = share * z[i];
      sums[1 + i] += scaled;
      sums[1 + Columns + i] += scaled * z[i];
    }
  }
}

/// Adds rows slice, slice + slices, … of the stage to one component's sums.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void moments(const kernel_arguments<T>& a, const places<T>& p, unsigned component, unsigned slice,
                        unsigned slices, unsigned count, T (&sums)[Shape::sums]) {
  using vector = typename vector_of<T>::type;
  T centre[Columns];
#pragma unroll
  for (int i = 0; i < Columns; ++i) centre[i] = a.parameters.packed.centres[component * Columns + i];
  // Pointers that advance cost less than places computed for every row.
  const T* term = p.terms + slice * a.term_stride + component;
  const T* scale = p.scale + slice;
  const vector* from = reinterpret_cast<const vector*>(p.rows) + slice;
  const unsigned step = slices * a.term_stride;
#pragma unroll 2
  for (unsigned row = slice; row < count; row += slices) {
    const T share = *term * *scale;
    T padded[Shape::planes * Shape::vector];
#pragma unroll
    for (int i = 0; i < Shape::planes; ++i) {
      *reinterpret_cast<vector*>(padded + i * Shape::vector) = from[i * a.stage_rows];
    }
    term += step;
    scale += slices;
    from += slices;
    add_moments<Shape, Columns, Matrix>(padded, centre, share, sums);
  }
}

/// Adds every thread's sums to the lane in float64, always in the order of the slices.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void flush(const kernel_arguments<T>& a, const places<T>& p, unsigned first, unsigned components,
                      unsigned slices, const T (&sums)[Shape::sums], const lane_sums& lane) {
  T* const buffer = p.rows;
  const unsigned threads = blockDim.x;
  const bool tied = Matrix && a.shared_triangle != 0;
#pragma unroll
  for (int begin = 0; begin < Shape::sums; begin += Shape::flushed_sums) {
    constexpr int most = Shape::flushed_sums;
    const int some = begin + most < Shape::sums ? most : Shape::sums - begin;
#pragma unroll
    for (int i = 0; i < most; ++i) {
      if (begin + i < Shape::sums) buffer[i * threads + threadIdx.x] = sums[begin + i < Shape::sums ? begin + i : 0];
    }
    __syncthreads();
    for (unsigned e = threadIdx.x; e < some * components; e += threads) {
      const unsigned k = e % components;
      const unsigned sum = begin + e / components;
      if (tied) {
        unsigned i = 0, j = 0;
        triangle_element(Columns + 1, sum, i, j);
        if (j < Columns) continue;
      }
      const T* const values = buffer + e / components * threads + k;
      double total = 0;
#pragma unroll 2
      for (unsigned slice = 0; slice < slices; slice += a.single_precision_slices) {
        const unsigned last = min(slices, slice + a.single_precision_slices);
        T part = values[slice * components];
        for (unsigned s = slice + 1; s < last; ++s) part += values[s * components];
        total += static_cast<double>(part);
      }
      lane.add(lane_place<Columns, Shape::type>(a, first + k, sum), total);
    }
    if (tied) {
      for (int i = static_cast<int>(threadIdx.x / 32); i < some; i += static_cast<int>(threads / 32)) {
        unsigned row = 0, column = 0;
        triangle_element(Columns + 1, begin + i, row, column);
        if (column == Columns) continue;
        double total = 0;
        for (unsigned t = threadIdx.x % 32; t < slices * components; t += 32) {
          total += static_cast<double>(buffer[i * threads + t]);
        }
        total = cuda::warp_sum(total);
        // Rounds of components after the first add to what it left.
        const lane_sums into{lane.values, lane.empty && first == 0};
        if (threadIdx.x % 32 == 0) into.add(lane_place<Columns, Shape::type>(a, 0, begin + i), total);
      }
    }
    __syncthreads();
  }
}

/// One group of rows into the block's lane.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void group(const kernel_arguments<T>& a, const places<T>& p, std::size_t begin, std::size_t end,
                      lane_sums& lane) {
  for (unsigned first = 0; first < a.components; first += a.round_components) {
    const unsigned components = min(a.round_components, a.components - first);
    const unsigned slices = blockDim.x / components;
    const unsigned slice = threadIdx.x / components;
    T sums[Shape::sums] = {};
    row_sums head;
    for (std::size_t stage = begin; stage < end; stage += a.stage_rows) {
      const auto count = static_cast<unsigned>(min(static_cast<std::size_t>(a.stage_rows), end - stage));
      const T* const from = a.rows + stage * Columns;
      const T* const weights = a.weights == nullptr ? nullptr : a.weights + stage;
      bool any_far;
      if (count <= blockDim.x || Shape::registers.rows == 1) {
        any_far = expectation<Shape, Columns, Matrix, 1>(a, p, from, weights, count, head);
      } else {
        any_far = expectation<Shape, Columns, Matrix, Shape::registers.rows>(a, p, from, weights, count, head);
      }
      any_far = __syncthreads_or(any_far);
      if (slice < slices) {
        moments<Shape, Columns, Matrix>(a, p, first + threadIdx.x % components, slice, slices, count, sums);
      }
      __syncthreads();
      if constexpr (std::is_same_v<T, float>) {
        if (any_far && first == 0) {
          fill_empty(a, lane);
          // A stage has room: 64 bytes of terms, rows and scale for each of at least 32 rows, and terms for all
          // components.
          far_rows<Columns, Shape::type>(a, block_team(), p.far, reinterpret_cast<double*>(p.rows), from, weights,
                                         count, lane.values);
        }
      }
    }
    if (first == 0) flush_head(a, reinterpret_cast<double*>(p.rows), head, lane);
    flush<Shape, Columns, Matrix>(a, p, first, components, slices, sums, lane);
  }
  lane.empty = false;
}

/// Adds the groups of a piece that belong to the block's lane, about the components' own centres.
template <class T, int Columns, bool Matrix>
__device__ void accumulate_about_centres(const kernel_arguments<T>& a) {
  using Shape = shape<T, Columns, Matrix>;
  const places<T> p = find_places<Shape>(a);
  const int stopped = *a.parameters.stopped;
  if (a.resident_records == a.components) {
    load_records<Shape, Columns, Matrix>(a, 0, a.components, p.records);
  }
  if (stopped != 0) return;
  __syncthreads();

  lane_sums lane = lane_of_block(a);
  for_each_group(a, [&](std::size_t begin, std::size_t end) { group<Shape, Columns, Matrix>(a, p, begin, end, lane); });
  finish_lane(a, lane);
}

/// Adds the groups of a piece that belong to the block's lane.
template <class T, int Columns, bool Matrix>
__global__ void __launch_bounds__(shape<T, Columns, Matrix>::registers.threads,
                                  shape<T, Columns, Matrix>::registers.blocks)
    accumulate(const __grid_constant__ kernel_arguments<T> a) {
  cuda::wait_for_predecessor();
  accumulate_about_centres<T, Columns, Matrix>(a);
}

/// The same, about one origin where components lie near each other. It has fewer registers for those that do not.
template <int Columns, bool Many>
__global__ void __launch_bounds__(shape<double, Columns, true>::registers.threads,
                                  shape<double, Columns, true>::registers.blocks)
    accumulate_near_or_apart(const __grid_constant__ origin_arguments a) {
  prepare_origin<Columns>(a);
  cuda::wait_for_predecessor();
  if (accumulate_about_origin<Columns, Many>(a)) return;
  accumulate_about_centres<double, Columns, true>(a);
}

template <class T, int Columns, bool Matrix>
compiled_kernel describe_kernel() {
  using Shape = shape<T, Columns, Matrix>;
  compiled_kernel kernel;
  kernel.function = reinterpret_cast<const void*>(&accumulate<T, Columns, Matrix>);
  kernel.most_threads = Shape::registers.threads;
  kernel.registers = 65536 / (Shape::registers.threads * Shape::registers.blocks) / 8 * 8;
  kernel.sums = Shape::sums;
  kernel.record = Shape::record;
  kernel.row_elements = Shape::planes * Shape::vector;
  kernel.thread_rows = Shape::registers.rows;
  kernel.flushed_sums = Shape::flushed_sums;
  if constexpr (may_share_origin<T>(Columns, Matrix)) {
    kernel.origin_function = reinterpret_cast<const void*>(&accumulate_near_or_apart<Columns, false>);
  }
  return kernel;
}

template <class T, bool Matrix, int Columns = 1>
compiled_kernel find_kernel_of(std::size_t columns) {
  if constexpr (Columns <= static_cast<int>(most_columns)) {
    return columns == Columns ? describe_kernel<T, Columns, Matrix>() : find_kernel_of<T, Matrix, Columns + 1>(columns);
  } else {
    return {};
  }
}

}  // namespace shoal::gmm::few_columns
