// The expectation step's second half for mixtures whose components lie wide apart in the frame: there the products tell
// only to a bit or two which components matter for a row, and these are found again by themselves, in float32.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/large_diagonal_kernels.hpp>
#include <shoal/gmm/cuda/large_diagonal_split.cuh>
#include <shoal/gmm/cuda/thread_group.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::large_diagonal {
namespace {

// A thread looks at every 16th component of four rows of a block.
constexpr int parts = 16;
constexpr int row_groups = block_rows / 4;
constexpr int block_threads = parts * row_groups;
constexpr int threads = block_threads * (tile_rows / block_rows);

// What is known of a row, in bits.
struct row_state {
  float greatest = -INFINITY;
  float sum = 0;
  float norm = INFINITY;  // ‖y‖² under the component of the greatest term

  __device__ void add(float term, float its_norm, float its_sum = 1) {
    if (!(term > -INFINITY)) return;
    const float most = fmaxf(greatest, term);
    sum = sum * power_of_two(greatest - most) + its_sum * power_of_two(term - most);
    if (term > greatest) norm = its_norm;
    greatest = most;
  }
};

// ‖y‖² of one row by one warp.
__device__ float norm_of(const problem& mixture, int k, const float* row) {
  const std::size_t start = static_cast<std::size_t>(k) * mixture.columns;
  float norm = 0;
  for (int j = static_cast<int>(threadIdx.x) % 32; j < mixture.columns; j += 32) {
    const float y = fmaf(row[j] - mixture.centres[start + j], mixture.factors[start + j], mixture.offsets[start + j]);
    norm = fmaf(y, y, norm);
  }
  for (int distance = 16; distance > 0; distance /= 2) norm += __shfl_xor_sync(~0U, norm, distance);
  return norm;
}

__global__ void __launch_bounds__(threads)
    refine_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  if ((mixture.stopped != nullptr && *mixture.stopped != 0) || *mixture.arrangement != wide_frame) return;
  __shared__ row_state states[parts][tile_rows];
  __shared__ double likelihoods[tile_rows / 32];
  __shared__ double weights[tile_rows / 32];
  const int first = static_cast<int>(blockIdx.x) * tile_rows;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int part = thread % block_threads / row_groups;
  // Four neighbours in memory are four rows; which ones depends on whether the component is odd, as its part is.
  const int in_tile = thread / block_threads * block_rows + (thread % row_groups ^ part % 2 * 4) * 4;
  // A term this far below its row's greatest, in bits, counts as nothing, whatever the products' errors are: with
  // large::wide_squared_distance they are less than a bit each.
  const float negligible = static_cast<float>(mixture.negligible) * log2_of_e + 2;
  float least[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) least[i] = mixture.shifts[first + in_tile + i] - negligible;
  row_state own[4];
  // Those that fill up the last tile have terms of −∞.
  for (int k = part; k < mixture.tiles * tile_components; k += parts) {
    float* const at = mixture.terms + term_place(mixture.tiles, k, first + in_tile);
    const float4 four = *reinterpret_cast<const float4*>(at);
    const float term[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // A far row's least is infinite, and it has none here.
      const bool matters = term[i] >= least[i];
      unsigned left = __ballot_sync(~0U, matters);
      for (; left != 0; left &= left - 1) {
        const int source = __ffs(static_cast<int>(left)) - 1;
        const int its_k = __shfl_sync(~0U, k, source);
        const int its_row = __shfl_sync(~0U, first + in_tile + i, source);
        const float norm = norm_of(mixture, its_k, rows.rows + static_cast<std::size_t>(its_row) * mixture.columns);
        if (lane == source) {
          const float exact = fmaf(norm, -0.5F, mixture.log_constants[k]) * log2_of_e;
          own[i].add(exact, norm);
          at[i] = exact;
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) states[part][in_tile + i] = own[i];
  __syncthreads();
  if (thread < tile_rows) {
    row_state all = states[0][thread];
    for (int other = 1; other < parts; ++other) {
      const row_state& state = states[other][thread];
      all.add(state.greatest, state.norm, state.sum);
    }
    const int row = first + thread;
    const bool inside = row < rows.count;
    const float weight = !inside ? 0.0F : (rows.weights == nullptr ? 1.0F : rows.weights[row]);
    const bool near = all.norm <= far_norm;
    const bool counts = inside && near && weight > 0;
    const double log_density = write_row(mixture, row, all.greatest, log2f(all.sum), weight, counts);
    const unsigned far_mask = __ballot_sync(~0U, inside && !near);
    const double likelihood = counts ? static_cast<double>(weight) * log_density : 0.0;
    const double likelihood_sum = warp_sum(likelihood);
    const double weight_sum = warp_sum(static_cast<double>(weight));
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
  mixture.tile_sums[blockIdx.x] = sum;
}

}  // namespace

void refine(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  refine_kernel<<<(rows.count + tile_rows - 1) / tile_rows, threads, 0, stream>>>(mixture, rows);
  cuda::check_launch("refine");
}

}  // namespace shoal::gmm::large_diagonal
