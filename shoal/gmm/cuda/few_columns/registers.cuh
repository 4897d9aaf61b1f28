// The kernel for few columns and few components: a thread has whole rows and the sums of all components in registers.
// Warps do not wait for each other before the end.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/registers.hpp>
#include <shoal/gmm/cuda/few_columns/registers_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/teams.cuh>

namespace shoal::gmm::few_columns {

/// What is known when a kernel is compiled. Components beyond those of the mixture have no density.
template <covariance_type Type, int Columns, int Components>
struct register_shape : team_shape<Type, Columns, team_sizes{register_rows, 0, 0, 1, 1}> {
  static constexpr int components = Components;
  static constexpr int component_sums = register_shape::sums;
  static constexpr int all_sums = Components * component_sums;
  static constexpr int stage_rows = register_rows * 32;
  static constexpr int threads =
      register_threads(all_sums + register_rows * (Components + 2 * Columns) + register_shape::record);
  static constexpr int warps = threads / 32;
};

/// The stages of a warp's groups, one after another.
template <class Shape>
struct warp_cursor {
  const register_arguments& a;
  unsigned group;
  const float* rows = nullptr;  ///< of the group
  unsigned offset = 0;          ///< of the stage in the group
  unsigned count = 0;           ///< rows of the group
  bool valid = true;

  __device__ explicit warp_cursor(const register_arguments& arguments) : a(arguments) {
    const unsigned turn = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    group = blockIdx.y * a.shard_units * a.unit_groups +
            (turn + lanes() - a.first_unit * a.unit_groups % lanes()) % lanes();
    enter();
  }
  __device__ void next() {
    offset += Shape::stage_rows;
    if (offset < count) return;
    group += lanes();
    enter();
  }

 private:
  __device__ unsigned lanes() const { return gridDim.x * Shape::warps; }
  // The next group that has rows; without one the last stage stays in sight.
  __device__ void enter() {
    const unsigned units = min(static_cast<unsigned>((a.count + cuda::piece_unit - 1) / cuda::piece_unit),
                               (blockIdx.y + 1) * a.shard_units);
    for (; group < units * a.unit_groups; group += lanes()) {
      const std::size_t unit = group / a.unit_groups * cuda::piece_unit;
      const std::size_t begin = unit + std::size_t{group % a.unit_groups} * a.group_rows;
      const std::size_t end = min(min(begin + a.group_rows, unit + cuda::piece_unit), a.count);
      if (begin >= end) continue;
      rows = a.rows + begin * Shape::columns;
      offset = 0;
      count = static_cast<unsigned>(end - begin);
      return;
    }
    valid = false;
  }
};

template <int Columns>
__device__ void load_row(const float* row, float (&x)[Columns]) {
  if constexpr (Columns % 4 == 0) {
#pragma unroll
    for (int i = 0; i < Columns; i += 4) {
      *reinterpret_cast<float4*>(x + i) = __ldg(reinterpret_cast<const float4*>(row + i));
    }
  } else if constexpr (Columns % 2 == 0) {
#pragma unroll
    for (int i = 0; i < Columns; i += 2) {
      *reinterpret_cast<float2*>(x + i) = __ldg(reinterpret_cast<const float2*>(row + i));
    }
  } else {
#pragma unroll
    for (int i = 0; i < Columns; ++i) x[i] = __ldg(row + i);
  }
}

/// Rows beyond the group are its last one.
template <class Shape>
__device__ void load_stage(const warp_cursor<Shape>& stage, float (&x)[Shape::rows][Shape::columns]) {
#pragma unroll
  for (int r = 0; r < Shape::rows; ++r) {
    const unsigned row = min(stage.offset + threadIdx.x % 32 + r * 32, stage.count - 1);
    load_row<Shape::columns>(stage.rows + row * static_cast<unsigned>(Shape::columns), x[r]);
  }
}

/// Of `count` values of each lane of a warp, sums over the lanes: lane l has afterwards those of the places that
/// scattered_place() says. Half of the values move at each step.
template <int Count, int Distance = 16, int Most>
__device__ void scatter_sums(float (&values)[Most]) {
  constexpr int half = (Count + 1) / 2;
  const bool upper = (threadIdx.x & Distance) != 0;
#pragma unroll
  for (int i = 0; i < half; ++i) {
    const float other = i + half < Count ? values[i + half < Count ? i + half : 0] : 0;
    const float sent = upper ? values[i] : other;
    const float kept = upper ? other : values[i];
    values[i] = kept + __shfl_xor_sync(cuda::every_lane, sent, Distance);
  }
  if constexpr (Distance > 1) scatter_sums<half, Distance / 2>(values);
}

/// How many sums a lane has then.
constexpr int scattered(int count, int distance = 16) {
  const int half = (count + 1) / 2;
  return distance > 1 ? scattered(half, distance / 2) : half;
}

/// Which sum is this lane's value `i`; -1: none.
template <int Count, int Distance = 16>
__device__ int scattered_place(int i) {
  constexpr int half = (Count + 1) / 2;
  int place = i;
  if constexpr (Distance > 1) place = scattered_place<half, Distance / 2>(i);
  if (place < 0 || place >= half) return -1;
  if ((threadIdx.x & Distance) != 0) place += half;
  return place < Count ? place : -1;
}

/// Σ log2 of positive numbers, whose exponents are summed as integers and whose fractions are multiplied: fewer
/// instructions than logarithms, and fewer roundings. At most 127 numbers.
struct logarithms {
  float product = 1;
  __device__ void add(float x, int& exponents) {
    const int bits = __float_as_int(x);
    exponents += bits >> 23;
    product *= __int_as_float((bits & 0x007fffff) | 0x3f800000);
  }
};
inline constexpr int exponent_bias = 127;
static_assert(cuda::piece_unit <= 32 * register_group_words && cuda::piece_unit / (32 * register_rows) <= 127);

/// Where a warp works on far rows.
struct far_room {
  unsigned* bits;  ///< [register_group_words] a bit for each row of a group
  double* terms;   ///< [components]
};

/// The shared memory of a block, and what of it is this warp's.
template <class Shape>
struct warp_memory {
  float* records;  ///< [components][record]
  double* states;  ///< [warps][statistics]
  double* state;   ///< [statistics] this warp's
  far_room far;

  __device__ warp_memory(const register_arguments& a, unsigned char* memory) {
    const unsigned warp = threadIdx.x / 32;
    records = reinterpret_cast<float*>(memory);
    states = reinterpret_cast<double*>(records + Shape::components * Shape::record);
    state = states + warp * a.statistics;
    double* const terms = states + Shape::warps * a.statistics;
    far.terms = terms + warp * Shape::components;
    far.bits = reinterpret_cast<unsigned*>(terms + Shape::warps * Shape::components) + warp * register_group_words;
  }

  /// All threads of a block: the parameters, and what a piece before has left.
  __device__ void fill(const register_arguments& a) const {
    const double* const kept = kept_states(a);
    for (unsigned e = threadIdx.x; e < Shape::components * Shape::record; e += Shape::threads) {
      const bool real = e / Shape::record < a.components;
      const float none = e % Shape::record == Shape::columns ? -INFINITY : 0;
      records[e] = real ? static_cast<float>(record_source<Shape>(a, e).value(a)) : none;
    }
    for (unsigned i = threadIdx.x; i < Shape::warps * a.statistics; i += Shape::threads) {
      states[i] = a.fresh ? 0 : kept[i];
    }
    for (unsigned i = threadIdx.x % 32; i < register_group_words; i += 32) far.bits[i] = 0;
  }

  /// All threads of a block: the sum of all warps, and what they are to begin with where more pieces come.
  __device__ void leave(const register_arguments& a) const {
    double* const kept = kept_states(a);
    double* const lane = a.lanes + (blockIdx.y * gridDim.x + blockIdx.x) * a.statistics;
    for (unsigned i = threadIdx.x; i < a.statistics; i += Shape::threads) {
      double total = 0;
#pragma unroll 4
      for (int w = 0; w < Shape::warps; ++w) total += states[w * a.statistics + i];
      lane[i] = total;
    }
    for (unsigned i = threadIdx.x; i < Shape::warps * a.statistics; i += Shape::threads) kept[i] = states[i];
  }

 private:
  __device__ double* kept_states(const register_arguments& a) const {
    return a.states + std::size_t{blockIdx.y * gridDim.x + blockIdx.x} * Shape::warps * a.statistics;
  }
};

/// Far rows of a group, in a function of its own: its registers are not the others'.
template <class Shape>
__device__ __noinline__ void far_rows_of_group(const register_arguments& a, const far_room& room, const float* rows,
                                               unsigned count, double* lane) {
  far_rows<Shape::columns, Shape::type>(a, cuda::warp_group(), room.bits, room.terms, rows, nullptr, count, lane);
  __syncwarp();
  for (unsigned i = threadIdx.x % 32; i * 32 < count; i += 32) room.bits[i] = 0;
  __syncwarp();
}

/// Sums of a row whose densities are all smaller than this are done with care.
inline constexpr float least_sum = 0x1p-100F;

/// The responsibilities of a stage of `count` rows of which some are beyond the stage, far, or of little density.
template <class Shape>
__device__ int careful_responsibilities(const float* records, unsigned count, unsigned* far_bits, unsigned& any_far,
                                        float (&x)[Shape::rows][Shape::columns],
                                        float (&terms)[Shape::components][Shape::rows], float (&sum)[Shape::rows],
                                        int& exponents) {
  constexpr int Rows = Shape::rows, Columns = Shape::columns, Components = Shape::components;
  float best[Rows], constant[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) best[r] = -INFINITY, constant[r] = 0;
#pragma unroll
  for (int k = 0; k < Components; ++k) {
    team_densities<Shape, Rows>(records + k * Shape::record, x, terms[k]);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (terms[k][r] > best[r]) {
        best[r] = terms[k][r];
        constant[r] = records[k * Shape::record + Columns];
      }
    }
  }
  int near = 0;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    bool finite = true;
#pragma unroll
    for (int i = 0; i < Columns; ++i) finite = finite && fabsf(x[r][i]) <= most_extent;
    const bool inside = threadIdx.x % 32 + r * 32 < count;
    const bool may_be = may_be_far(best[r]) && !((constant[r] - best[r]) * static_cast<float>(2 * ln_2) <= far_norm);
    const float shift = floorf(best[r]);
    sum[r] = 0;
#pragma unroll
    for (int k = 0; k < Components; ++k) {
      terms[k][r] = exponential_of_two(terms[k][r] - shift);
      sum[r] += terms[k][r];
    }
    const bool far = inside && (!finite || may_be || !(sum[r] <= static_cast<float>(2 * Components)));
    if (inside && !far) {
      ++near;
      exponents += static_cast<int>(shift);
    } else {
      sum[r] = 1;
#pragma unroll
      for (int k = 0; k < Components; ++k) terms[k][r] = 0;
#pragma unroll
      for (int i = 0; i < Columns; ++i) x[r][i] = 0;
    }
    const unsigned bits = __ballot_sync(cuda::every_lane, far);
    if (bits != 0) far_bits[r] = bits;
    any_far |= bits;
  }
  return near;
}

/// Adds the groups of a piece that belong to the block's warps.
template <class Shape>
__global__ void __launch_bounds__(Shape::threads, 1)
    accumulate_in_registers(const __grid_constant__ register_arguments a) {
  constexpr int Rows = Shape::rows, Columns = Shape::columns, Components = Shape::components;
  constexpr int Sums = Shape::component_sums, All = Shape::all_sums;
  constexpr int Own = scattered(All + 1);
  extern __shared__ __align__(16) unsigned char memory[];
  warp_cursor<Shape> next(a);
  float x[Rows][Columns];
  if (next.valid) load_stage<Shape>(next, x);
  const warp_memory<Shape> mine(a, memory);
  const float* const records = mine.records;
  const unsigned lane = threadIdx.x % 32;
  // A lane's own places of the warp's sums.
  int own[Own], component[Own];
  const bool tied = Shape::matrix && a.shared_triangle != 0;
#pragma unroll
  for (int i = 0; i < Own; ++i) {
    const int sum = scattered_place<All + 1>(i);
    component[i] = sum / Sums;
    own[i] = -1;
    if (sum == All)
      own[i] = log_likelihood_place, component[i] = 0;
    else if (sum >= 0 && component[i] < static_cast<int>(a.components))
      own[i] = static_cast<int>(lane_place<Columns, Shape::type>(a, component[i], sum % Sums));
  }
  cuda::wait_for_predecessor();
  const int stopped = *a.parameters.stopped;
  mine.fill(a);
  if (stopped != 0) return;
  __syncthreads();

  while (next.valid) {
    const float* rows;
    unsigned count, any_far = 0;
    float sums[All + 1] = {};
    logarithms logs[Rows];
    int exponents = 0, near = 0;
    while (true) {
      rows = next.rows;
      count = next.count;
      const unsigned offset = next.offset;
      next.next();
      float coming[Rows][Columns];
      load_stage<Shape>(next, coming);
      float terms[Components][Rows], sum[Rows] = {};
#pragma unroll
      for (int k = 0; k < Components; ++k) {
        team_densities<Shape, Rows>(records + k * Shape::record, x, terms[k]);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          terms[k][r] = exponential_of_two(terms[k][r]);
          sum[r] += terms[k][r];
        }
      }
      bool fine = offset + Shape::stage_rows <= count;
      float extent = 0;
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int i = 0; i < Columns; ++i) extent = fmaxf(extent, fabsf(x[r][i]));
        fine = fine && sum[r] >= least_sum;
      }
      fine = fine && extent <= most_extent;
      int found = Rows;
      if (__any_sync(cuda::every_lane, !fine)) {
        found = careful_responsibilities<Shape>(records, count - offset, mine.far.bits + offset / 32, any_far, x, terms,
                                                sum, exponents);
      }
      near += found;
      float scale[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        logs[r].add(sum[r], exponents);
        exponents -= exponent_bias;
        scale[r] = reciprocal(sum[r]);
      }
#pragma unroll
      for (int k = 0; k < Components; ++k) {
        float centre[Columns];
#pragma unroll
        for (int i = 0; i < Columns; ++i) centre[i] = records[k * Shape::record + i];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          float z[Columns];
#pragma unroll
          for (int i = 0; i < Columns; ++i) z[i] = x[r][i] - centre[i];
          add_moments<Shape>(terms[k][r] * scale[r], z, sums + k * Sums);
        }
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int i = 0; i < Columns; ++i) x[r][i] = coming[r][i];
      }
      if (offset + Shape::stage_rows < count) continue;

      float fractions = 0;
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        fractions += logarithm_of_two(logs[r].product);
        logs[r].product = 1;
      }
      sums[All] = fractions;
      scatter_sums<All + 1>(sums);
      exponents = __reduce_add_sync(cuda::every_lane, exponents);
      near = __reduce_add_sync(cuda::every_lane, near);
      for (int k = 0; k < (tied ? Components : 1); ++k) {
#pragma unroll
        for (int i = 0; i < Own; ++i) {
          if (own[i] < 0 || (tied && component[i] != k)) continue;
          const double added = static_cast<double>(sums[i]);
          mine.state[own[i]] += own[i] == static_cast<int>(log_likelihood_place) ? ln_2 * added : added;
        }
        __syncwarp();
      }
      if (lane == 0) {
        mine.state[log_likelihood_place] += ln_2 * exponents + near * *a.parameters.packed.log_shift;
        mine.state[total_weight_place] += near;
      }
      __syncwarp();
      exponents = near = 0;
#pragma unroll
      for (int i = 0; i <= All; ++i) sums[i] = 0;
      if (!next.valid || any_far != 0) break;
    }
    if (any_far != 0) far_rows_of_group<Shape>(a, mine.far, rows, count, mine.state);
  }
  __syncthreads();
  mine.leave(a);
}

template <covariance_type Type, int Columns, int Components>
register_kernel describe_register_kernel() {
  using Shape = register_shape<Type, Columns, Components>;
  register_kernel kernel;
  kernel.function = reinterpret_cast<const void*>(&accumulate_in_registers<Shape>);
  kernel.threads = Shape::threads;
  kernel.components = Components;
  kernel.record = Shape::record;
  kernel.rows = Shape::stage_rows;
  return kernel;
}

/// For covariances of one type: the kernel of the fewest components that hold so many.
template <covariance_type Type, int Columns = 1, int Components = 1>
register_kernel find_register_kernel_of(std::size_t columns, std::size_t components) {
  if constexpr (Columns <= most_register_columns) {
    if (columns != Columns) return find_register_kernel_of<Type, Columns + 1, 1>(columns, components);
    if constexpr (Components <= most_register_components && Components * sums_of<Type>(Columns) <= most_register_sums) {
      if constexpr (has_register_kernel(Components)) {
        if (components <= Components) return describe_register_kernel<Type, Columns, Components>();
      }
      return find_register_kernel_of<Type, Columns, Components + 1>(columns, components);
    }
  }
  return {};
}

}  // namespace shoal::gmm::few_columns
