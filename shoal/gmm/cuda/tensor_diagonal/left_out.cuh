// What a common frame leaves out: the terms of components that are too narrow or too far away for it, found by
// themselves, in float32, beside what the frame has found of their rows. Device code of refine.cu.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {

// Components that are in shared memory at a time, by their first columns: these are enough to say of most rows that a
// narrow component has no part of them.
inline constexpr int first_columns = 4;
inline constexpr int left_out_batch = 256;

template <int Warps>
struct left_out_memory {
  static constexpr int groups = Warps / (tile_rows / 32);  // that share the components of a batch

  float centre[left_out_batch][first_columns];
  float factor[left_out_batch][first_columns];
  float offset[left_out_batch][first_columns];
  float constant[left_out_batch];
  int component[left_out_batch];
  int counts[left_out_batch / 32];
  exact_state states[groups][tile_rows];
  double changes[tile_rows / 32];

  // [tile_rows][row_stride()], behind this.
  __device__ float* rows() { return reinterpret_cast<float*>(this + 1); }
};

// Odd, so that threads that read a column of their rows hit different banks.
__host__ __device__ constexpr int row_stride(int columns) { return columns | 1; }

template <int Warps>
constexpr std::size_t left_out_bytes(int columns) {
  return sizeof(left_out_memory<Warps>) + static_cast<std::size_t>(tile_rows * row_stride(columns)) * sizeof(float);
}

// What a thread brings of a component, asked for a batch ahead.
struct asked_component {
  int k;
  bool own;  // the component is left out
  float centre[first_columns], factor[first_columns], offset[first_columns];
  float constant;

  __device__ asked_component(const problem& mixture, int begin) : k(begin + static_cast<int>(threadIdx.x)) {
    own = threadIdx.x < left_out_batch && k < mixture.components && mixture.left_out[k] != 0;
    const auto& packed = mixture.parameters.packed;
    const std::size_t start = static_cast<std::size_t>(k) * mixture.columns;
#pragma unroll
    for (int j = 0; j < first_columns; ++j) {
      const bool inside = own && j < mixture.columns;
      centre[j] = inside ? packed.centres[start + j] : 0.0F;
      factor[j] = inside ? packed.factors[start + j] : 0.0F;
      offset[j] = inside ? packed.offsets[start + j] : 0.0F;
    }
    constant = own ? packed.log_constants[k] : 0;
  }
};

// Brings the components of a batch that are left out to shared memory, in order, and says that none of their terms
// counts yet. Returns their number.
template <int Warps>
__device__ int put_left_out(const problem& mixture, const asked_component& asked, int first_row,
                            left_out_memory<Warps>& memory) {
  const int thread = static_cast<int>(threadIdx.x), k = asked.k;
  const bool own = asked.own;
  const unsigned in_warp = __ballot_sync(~0U, own);
  if (thread < left_out_batch && thread % 32 == 0) memory.counts[thread / 32] = __popc(in_warp);
  __syncthreads();
  int place = __popc(in_warp & ((1U << thread % 32) - 1)), count = 0;
  for (int warp = 0; warp < left_out_batch / 32; ++warp) {
    if (warp < thread / 32) place += memory.counts[warp];
    count += memory.counts[warp];
  }
  if (own) {
#pragma unroll
    for (int j = 0; j < first_columns; ++j) {
      memory.centre[place][j] = asked.centre[j];
      memory.factor[place][j] = asked.factor[j];
      memory.offset[place][j] = asked.offset[j];
    }
    memory.constant[place] = asked.constant;
    memory.component[place] = k;
    // The words of this tile's rows are neighbours.
    *reinterpret_cast<uint4*>(mixture.kept + kept_place(mixture.components, k, first_row)) = make_uint4(0, 0, 0, 0);
  }
  __syncthreads();
  return count;
}

// What a warp knows of its rows, one to a thread.
struct left_out_row {
  const float* columns;  // in shared memory
  float first[first_columns];
  float least;  // a logarithm, to base e, below which nothing counts

  // ‖y‖² of the first columns under a component of the batch.
  template <int Warps>
  __device__ float first_norm(const left_out_memory<Warps>& memory, int at) const {
    const float4 centre = *reinterpret_cast<const float4*>(memory.centre[at]);
    const float4 factor = *reinterpret_cast<const float4*>(memory.factor[at]);
    const float4 offset = *reinterpret_cast<const float4*>(memory.offset[at]);
    const float y[first_columns] = {
        fmaf(first[0] - centre.x, factor.x, offset.x), fmaf(first[1] - centre.y, factor.y, offset.y),
        fmaf(first[2] - centre.z, factor.z, offset.z), fmaf(first[3] - centre.w, factor.w, offset.w)};
    return fmaf(y[3], y[3], fmaf(y[2], y[2], fmaf(y[1], y[1], y[0] * y[0])));
  }

  // ‖y‖² of all columns, or of as many as show that the component has no part of any of the warp's rows. All threads of
  // the warp ask together.
  __device__ float norm(const problem& mixture, int k, float norm, float constant) const {
    const auto& packed = mixture.parameters.packed;
    const std::size_t start = static_cast<std::size_t>(k) * mixture.columns;
    for (int j = first_columns; j < mixture.columns; j += first_columns) {
#pragma unroll
      for (int i = 0; i < first_columns; ++i) {
        if (j + i >= mixture.columns) break;
        const std::size_t at = start + j + i;
        const float y =
            fmaf(columns[j + i] - __ldg(packed.centres + at), __ldg(packed.factors + at), __ldg(packed.offsets + at));
        norm = fmaf(y, y, norm);
      }
      if (!__any_sync(~0U, fmaf(norm, -0.5F, constant) >= least)) break;
    }
    return norm;
  }
};

// Takes in what a row's components beside the frame have found, and says which rows are far now. A row is near if the
// component that has most of it is near. Where the frame has found that it is far, what it has found is hardly more
// than that: so much less must it be than what was found beside.
__device__ inline double join_left_out(const problem& mixture, const chunk& rows, int row, const exact_state& beside,
                                       bool& far) {
  if (!(beside.greatest > -INFINITY)) return 0;
  const float in_frame = mixture.densities[row];
  const float most = fmaxf(in_frame, beside.greatest);
  const float total = most + log2f(power_of_two(in_frame - most) + beside.sum * power_of_two(beside.greatest - most));
  const bool close = beside.norm <= far_norm;
  const bool near = far ? close && beside.greatest - wide_margin(mixture) > in_frame + fabsf(in_frame) / 32
                        : close || !(beside.greatest > in_frame);
  const float weight = rows.weights == nullptr ? 1.0F : rows.weights[row];
  const auto log_density = [&](float density) {
    return ln_2 * static_cast<double>(density) + *mixture.parameters.packed.log_shift;
  };
  double change = 0;
  if (weight > 0 && !far) change -= static_cast<double>(weight) * log_density(in_frame);
  if (weight > 0 && near) change += static_cast<double>(weight) * log_density(total);
  if (!near) {
    mixture.shifts[row] = INFINITY;
    if (mixture.spherical) mixture.norms[row] = 0;
  } else if (!far) {
    mixture.shifts[row] += total - in_frame;
  }
  // Of a row that was far in the frame nobody there has a part: its shift is infinite.
  if (near) mixture.densities[row] = total;
  if (near && mixture.log_densities != nullptr) mixture.log_densities[row] = log_density(total);
  far = !near;
  return change;
}

// A tile of rows by a block: a row to a thread of each group of warps.
template <int Warps>
__device__ void add_left_out(const problem& mixture, const chunk& rows, int tile, left_out_memory<Warps>& memory) {
  constexpr int row_warps = tile_rows / 32, groups = left_out_memory<Warps>::groups, at_once = 4;
  const int first = tile * tile_rows, thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int inside = min(tile_rows, rows.count - first), columns = mixture.columns, stride = row_stride(columns);
  const float* const from = rows.rows + static_cast<std::size_t>(first) * columns;
  for (int i = thread; i < tile_rows * columns; i += 32 * Warps) {
    memory.rows()[i / columns * stride + i % columns] = i < inside * columns ? from[i] : 0.0F;
  }
  __syncthreads();
  const int in_tile = thread % tile_rows, group = thread / tile_rows;
  left_out_row own;
  own.columns = memory.rows() + in_tile * stride;
#pragma unroll
  for (int j = 0; j < first_columns; ++j) own.first[j] = j < columns ? own.columns[j] : 0.0F;
  const float margin = wide_margin(mixture);
  constexpr auto to_natural = static_cast<float>(ln_2);
  own.least = in_tile < inside ? (mixture.densities[first + in_tile] - margin) * to_natural : INFINITY;
  exact_state found;
  asked_component next(mixture, 0);
  for (int begin = 0; begin < mixture.components; begin += left_out_batch) {
    const int count = put_left_out(mixture, next, first, memory);
    next = asked_component(mixture, begin + left_out_batch);
    for (int some = group; some < count; some += groups * at_once) {
      float norms[at_once];
      unsigned any = 0;
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int at = min(some + i * groups, count - 1);
        norms[i] = own.first_norm(memory, at);
        if (fmaf(norms[i], -0.5F, memory.constant[at]) >= own.least) any |= 1U << i;
      }
      any = __reduce_or_sync(~0U, any);
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int at = some + i * groups;
        if ((any >> i & 1) == 0 || at >= count) continue;
        const int k = memory.component[at];
        const float constant = memory.constant[at], norm = own.norm(mixture, k, norms[i], constant);
        const float logarithm = fmaf(norm, -0.5F, constant);
        const bool holds = logarithm >= own.least;
        if (holds) {
          found.add(logarithm * log2_of_e, norm);
          own.least = fmaxf(own.least, logarithm - margin * to_natural);
        }
        const unsigned mask = __ballot_sync(~0U, holds);
        if (lane == 0 && mask != 0) mixture.kept[kept_place(mixture.components, k, first + in_tile)] = mask;
      }
    }
    __syncthreads();  // the batch has been read
  }
  memory.states[group][in_tile] = found;
  __syncthreads();
  if (thread < tile_rows) {
    exact_state all;
    for (const auto& of_group : memory.states) {
      const exact_state& other = of_group[thread];
      all.add(other.greatest, other.norm, other.sum);
    }
    bool far = (mixture.far_masks[first / 32 + thread / 32] >> lane & 1) != 0;
    const double change = cuda::warp_sum(join_left_out(mixture, rows, first + thread, all, far));
    const unsigned far_mask = __ballot_sync(~0U, far);
    if (lane == 0) {
      mixture.far_masks[first / 32 + thread / 32] = far_mask;
      memory.changes[thread / 32] = change;
    }
  }
  __syncthreads();
  if (thread != 0) return;
  double change = 0;
  for (int i = 0; i < row_warps; ++i) change += memory.changes[i];
  mixture.tile_sums[tile].x += change;
}

}  // namespace shoal::gmm::tensor_diagonal
