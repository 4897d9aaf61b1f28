// The expectation step's second half. For mixtures whose components lie wide apart in the frame the products tell only
// to a bit or two which components matter for a row, and these are found again by themselves, in float32. A common
// frame may have left components out, which are added.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/left_out.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

constexpr int warps = 16;
constexpr int threads = 32 * warps;
static_assert(threads >= tile_rows);

// A row, its columns over the threads of a warp.
struct row_columns {
  float x[most_columns / 32];

  __device__ row_columns(const float* row, int columns) {
#pragma unroll
    for (int i = 0; i < most_columns / 32; ++i) {
      const int j = 32 * i + static_cast<int>(threadIdx.x) % 32;
      x[i] = j < columns ? row[j] : 0.0F;
    }
  }

  // ‖y‖² under component k, which all threads ask for together.
  __device__ float norm(const problem& mixture, int k) const {
    const std::size_t start = static_cast<std::size_t>(k) * mixture.columns;
    float norm = 0;
#pragma unroll
    for (int i = 0; i < most_columns / 32; ++i) {
      const int j = 32 * i + static_cast<int>(threadIdx.x) % 32;
      if (j >= mixture.columns) continue;
      const float y = fmaf(x[i] - mixture.parameters.packed.centres[start + j],
                           mixture.parameters.packed.factors[start + j], mixture.parameters.packed.offsets[start + j]);
      norm = fmaf(y, y, norm);
    }
    return cuda::warp_sum(norm);
  }

  // The same of each thread for a component of its own.
  __device__ float own_norm(const problem& mixture, int k) const {
    const std::size_t start = static_cast<std::size_t>(k) * mixture.columns;
    float norm = 0;
#pragma unroll
    for (int i = 0; i < most_columns / 32; ++i) {
      const int some = min(32, mixture.columns - 32 * i);
#pragma unroll 4
      for (int j = 0; j < some; ++j) {
        const std::size_t at = start + 32 * i + j;
        const float difference = __shfl_sync(~0U, x[i], j) - mixture.parameters.packed.centres[at];
        const float y = fmaf(difference, mixture.parameters.packed.factors[at], mixture.parameters.packed.offsets[at]);
        norm = fmaf(y, y, norm);
      }
    }
    return norm;
  }
};

// From so many components on that matter for a row among 32, each thread finds one's distance by itself.
constexpr int many_components = 8;

// Finds the terms of one row that matter again, by one warp, and keeps them.
__device__ exact_state refine_row(const problem& mixture, const chunk& rows, int row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int words = 4 * mixture.tiles;
  exact_state own;
  const float least = mixture.shifts[row] - wide_margin(mixture);
  if (!(least < INFINITY)) return own;  // beyond the last row, or out of the frame's range
  const row_columns columns(rows.rows + static_cast<std::size_t>(row) * mixture.columns, mixture.columns);
  // Few words are cut, so that all threads have some of them.
  const int cuts = words <= 4 ? 8 : (words <= 8 ? 4 : (words <= 16 ? 2 : 1));
  const int bits = 32 / cuts;
  const unsigned own_bits = ~0U >> (32 - bits) << lane % cuts * bits;
  for (int begin = 0; begin < words; begin += bits) {
    const int word = begin + lane / cuts;
    unsigned left = word < words ? mixture.candidates[static_cast<std::size_t>(row) * words + word] & own_bits : 0;
    while (__any_sync(~0U, left != 0)) {
      int k = 0;
      bool matters = false;
      if (left != 0) {
        k = candidate_component(word, __ffs(static_cast<int>(left)) - 1);
        matters = !(mixture.terms[term_place(mixture.tiles, k, row)] < least);  // true of what is not a number
        left &= left - 1;
      }
      const unsigned some = __ballot_sync(~0U, matters);
      float norm = 0;
      if (__popc(some) >= many_components) {
        norm = columns.own_norm(mixture, k);
      } else {
        for (unsigned rest = some; rest != 0; rest &= rest - 1) {
          const int source = __ffs(static_cast<int>(rest)) - 1;
          const float its_norm = columns.norm(mixture, __shfl_sync(~0U, k, source));
          if (lane == source) norm = its_norm;
        }
      }
      if (!matters) continue;
      const float exact = fmaf(norm, -0.5F, mixture.parameters.packed.log_constants[k]) * log2_of_e;
      own.add(exact, norm);
      mixture.terms[term_place(mixture.tiles, k, row)] = exact;
      atomicOr(mixture.kept + kept_place(mixture.components, k, row), 1U << row % 32);
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    const float term = __shfl_xor_sync(~0U, own.greatest, distance);
    const float norm = __shfl_xor_sync(~0U, own.norm, distance);
    const float sum = __shfl_xor_sync(~0U, own.sum, distance);
    own.add(term, norm, sum);
  }
  return own;
}

// A term that is found by itself takes so many times as long as one among all of a tile.
constexpr int crowded_ratio = 6;

// Whether the tile's rows have so many candidates that expectation_apart() finds them sooner. Every thread gets the
// answer.
__device__ bool is_crowded(const problem& mixture, const chunk& rows, int first) {
  __shared__ int candidates;
  if (threadIdx.x == 0) candidates = 0;
  __syncthreads();
  const int words = 4 * mixture.tiles, inside = min(tile_rows, rows.count - first);
  int own = 0;
  for (int i = static_cast<int>(threadIdx.x); i < inside * words; i += threads) {
    own += __popc(mixture.candidates[static_cast<std::size_t>(first) * words + i]);
  }
  atomicAdd(&candidates, own);
  __syncthreads();
  return candidates / inside * crowded_ratio >= mixture.components;
}

__device__ void refine_tile(const problem& mixture, const chunk& rows, int tile) {
  __shared__ exact_state states[tile_rows];
  __shared__ double likelihoods[tile_rows / 32];
  __shared__ double weights[tile_rows / 32];
  const int first = tile * tile_rows;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const bool crowded = is_crowded(mixture, rows, first);
  if (thread == 0) mixture.crowded[tile] = crowded ? 1 : 0;
  if (crowded) return;
  // The words of this tile's rows are neighbours.
  unsigned* const kept = mixture.kept + kept_place(mixture.components, 0, first);
  for (int i = thread; i < tile_rows / 32 * mixture.components; i += threads) kept[i] = 0;
  __syncthreads();
  for (int in_tile = thread / 32; in_tile < tile_rows; in_tile += warps) {
    const exact_state own = refine_row(mixture, rows, first + in_tile);
    if (lane == 0) states[in_tile] = own;
  }
  __syncthreads();
  if (thread < tile_rows) {
    const exact_state& all = states[thread];
    const int row = first + thread;
    const bool inside = row < rows.count;
    const float weight = !inside ? 0.0F : (rows.weights == nullptr ? 1.0F : rows.weights[row]);
    const bool near = all.norm <= far_norm;
    const bool counts = inside && near && weight > 0;
    const double log_density = write_row(mixture, row, all.greatest, log2f(all.sum), weight, counts);
    const unsigned far_mask = __ballot_sync(~0U, inside && !near);
    const double likelihood = counts ? static_cast<double>(weight) * log_density : 0.0;
    const double likelihood_sum = cuda::warp_sum(likelihood);
    const double weight_sum = cuda::warp_sum(static_cast<double>(weight));
    if (lane == 0) {
      mixture.far_masks[row / 32] = far_mask;
      likelihoods[thread / 32] = likelihood_sum;
      weights[thread / 32] = weight_sum;
    }
  }
  __syncthreads();
  if (thread != 0) return;
  double2 sum = make_double2(0, 0);
  for (int i = 0; i < tile_rows / 32; ++i) {
    sum.x += likelihoods[i];
    sum.y += weights[i];
  }
  mixture.tile_sums[tile] = sum;
}

__global__ void __launch_bounds__(threads)
    refine_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  cuda::wait_for_predecessor();
  const bool wide = arrangement_of(mixture) == wide_frame;
  if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) ||
      (!wide && !leaves_out_some(mixture)))
    return;
  extern __shared__ __align__(16) unsigned char memory[];
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles_of(rows); tile += static_cast<int>(gridDim.x)) {
    if (wide) {
      refine_tile(mixture, rows, tile);
    } else {
      add_left_out(mixture, rows, tile, *reinterpret_cast<left_out_memory<warps>*>(memory));
    }
    __syncthreads();
  }
}

}  // namespace

void refine(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const std::size_t bytes = mixture.left_out == nullptr ? 0 : left_out_bytes<warps>(mixture.columns);
  cuda::launch_in_turn(refine_kernel, static_cast<unsigned>(std::min(tiles_of(rows), most_tile_blocks)), threads, bytes,
                       stream, mixture, rows);
}

}  // namespace shoal::gmm::tensor_diagonal
