// The expectation step of diagonal and spherical mixtures whose components are too different for one frame, of rows in
// a wide frame that are near many of them, and on GPUs without products by four warps: each row's distance to each
// component by itself, in float32.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

constexpr int threads = 256;
// A thread takes so many rows and components at a time; a block has 16 × 16 threads.
constexpr int own_rows = tile_rows / 16;
constexpr int own_components = 4;
constexpr int batch = 16 * own_components;  // components in shared memory at a time
constexpr int part = 16;                    // columns in shared memory at a time
// Neighbouring threads write neighbouring columns: into other banks, and fours stay aligned.
constexpr int padding = 4;

struct shared_tile {
  float x[part][tile_rows + padding];
  float centre[part][batch + padding];
  float factor[part][batch + padding];
  float offset[part][batch + padding];
  double likelihoods[threads / 32];
  double weights[threads / 32];
  float greatest[tile_rows];  // terms
  unsigned far[tile_rows / 32];
  int greatest_weight;
};

__device__ void load_part(const problem& mixture, const chunk& rows, int first, int batch_first, int column,
                          shared_tile& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < part * tile_rows; i += threads) {
    const int j = column + i % part;
    const int row = first + i / part;
    shared.x[i % part][i / part] =
        j < mixture.columns && row < rows.count ? rows.rows[static_cast<std::size_t>(row) * mixture.columns + j] : 0.0F;
  }
  for (int i = thread; i < part * batch; i += threads) {
    const int j = column + i % part;
    const int k = batch_first + i / part;
    const bool inside =
        j < mixture.columns && k < mixture.components && mixture.parameters.packed.log_constants[k] > -INFINITY;
    const std::size_t at = static_cast<std::size_t>(k) * mixture.columns + j;
    shared.centre[i % part][i / part] = inside ? mixture.parameters.packed.centres[at] : 0.0F;
    shared.factor[i % part][i / part] = inside ? mixture.parameters.packed.factors[at] : 0.0F;
    shared.offset[i % part][i / part] = inside ? mixture.parameters.packed.offsets[at] : 0.0F;
  }
}

// ‖y‖² of the thread's rows under its components of a batch.
__device__ void find_norms(const problem& mixture, const chunk& rows, int first, int batch_first, shared_tile& shared,
                           float (&norms)[own_rows][own_components]) {
  const int across = static_cast<int>(threadIdx.x) % 16;
  const int down = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
  for (int r = 0; r < own_rows; ++r) {
#pragma unroll
    for (int c = 0; c < own_components; ++c) norms[r][c] = 0;
  }
  for (int column = 0; column < mixture.columns; column += part) {
    __syncthreads();
    load_part(mixture, rows, first, batch_first, column, shared);
    __syncthreads();
    const int present = min(part, mixture.columns - column);
#pragma unroll 4
    for (int j = 0; j < present; ++j) {
#pragma unroll
      for (int c = 0; c < own_components; ++c) {
        const int k = own_components * across + c;
        const float centre = shared.centre[j][k];
        const float factor = shared.factor[j][k];
        const float offset = shared.offset[j][k];
#pragma unroll
        for (int r = 0; r < own_rows; ++r) {
          const float y = fmaf(shared.x[j][own_rows * down + r] - centre, factor, offset);
          norms[r][c] = fmaf(y, y, norms[r][c]);
        }
      }
    }
  }
}

// Says which of the tile's terms count.
__device__ void keep_terms(const problem& mixture, int first, const shared_tile& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  const int in_tile = thread % tile_rows;
  const float least = shared.greatest[in_tile] - wide_margin(mixture);
  constexpr int at_once = 8, across = threads / tile_rows;
  for (int begin = thread / tile_rows; begin < mixture.components; begin += at_once * across) {
    // Asked for together: one after the other they took longer than their being found.
    float terms[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int k = begin + i * across;
      terms[i] = k < mixture.components ? mixture.terms[term_place(mixture.tiles, k, first + in_tile)] : -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int k = begin + i * across;
      const unsigned mask = __ballot_sync(~0U, terms[i] >= least);
      if (thread % 32 == 0 && k < mixture.components) {
        mixture.kept[kept_place(mixture.components, k, first + in_tile)] = mask;
      }
    }
  }
}

__device__ void find_tile(const problem& mixture, const chunk& rows, int tile, shared_tile& shared) {
  const int first = tile * tile_rows;
  const int thread = static_cast<int>(threadIdx.x);
  const int across = thread % 16;
  const int down = thread / 16;
  if (thread < tile_rows / 32) shared.far[thread] = 0;
  if (thread == 0) shared.greatest_weight = 0;
  exact_state state[own_rows];  // a sixteenth of the components
  for (int batch_first = 0; batch_first < mixture.components; batch_first += batch) {
    float norms[own_rows][own_components];
    find_norms(mixture, rows, first, batch_first, shared, norms);
#pragma unroll
    for (int c = 0; c < own_components; ++c) {
      const int k = batch_first + own_components * across + c;
      if (k >= mixture.components) continue;
      const float constant = mixture.parameters.packed.log_constants[k];
#pragma unroll
      for (int four = 0; four < own_rows; four += 4) {
        float4 terms;
        float* const term = &terms.x;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          term[r] = fmaf(norms[four + r][c], -0.5F, constant) * log2_of_e;
          state[four + r].add(term[r], norms[four + r][c]);
        }
        // Four rows' places are neighbours. One by one, the stores took most of the kernel.
        float* const to = mixture.terms + term_place(mixture.tiles, k, first + own_rows * down + four);
        *reinterpret_cast<float4*>(to) = terms;
      }
    }
  }
  double likelihood = 0;
  double weights = 0;
#pragma unroll
  for (int r = 0; r < own_rows; ++r) {
    exact_state& own = state[r];
    for (int distance = 1; distance < 16; distance *= 2) {
      const float term = __shfl_xor_sync(~0U, own.greatest, distance);
      const float norm = __shfl_xor_sync(~0U, own.norm, distance);
      const float sum = __shfl_xor_sync(~0U, own.sum, distance);
      own.add(term, norm, sum);
    }
    if (across != r) continue;  // each row is one thread's
    const int in_tile = own_rows * down + r;
    const int row = first + in_tile;
    const bool inside = row < rows.count;
    const float weight = !inside ? 0.0F : (rows.weights == nullptr ? 1.0F : rows.weights[row]);
    shared.greatest[in_tile] = inside ? own.greatest : INFINITY;  // no term of rows beyond the last counts
    const bool near = own.norm <= far_norm;
    const bool counts = inside && near && weight > 0;
    const double log_density = write_row(mixture, row, own.greatest, log2f(own.sum), weight, counts);
    if (inside && !near) atomicOr(&shared.far[in_tile / 32], 1U << in_tile % 32);
    atomicMax(&shared.greatest_weight, __float_as_int(weight));  // of integers: like floats that are not negative
    if (counts) likelihood = static_cast<double>(weight) * log_density;
    weights = static_cast<double>(weight);
  }
  likelihood = cuda::warp_sum(likelihood);
  weights = cuda::warp_sum(weights);
  if (thread % 32 == 0) {
    shared.likelihoods[thread / 32] = likelihood;
    shared.weights[thread / 32] = weights;
  }
  __syncthreads();
  keep_terms(mixture, first, shared);
  if (thread < tile_rows / 32) mixture.far_masks[first / 32 + thread] = shared.far[thread];
  if (thread != 0) return;
  double2 sum = make_double2(0, 0);
  for (int i = 0; i < threads / 32; ++i) {
    sum.x += shared.likelihoods[i];
    sum.y += shared.weights[i];
  }
  mixture.tile_sums[tile] = sum;
  write_exponent(mixture, tile, shared.greatest_weight);
}

__global__ void __launch_bounds__(threads, 2)
    expectation_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int arrangement = arrangement_of(mixture);
  if (arrangement == common_frame) return;
  extern __shared__ __align__(16) unsigned char memory[];
  shared_tile& shared = *reinterpret_cast<shared_tile*>(memory);
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles_of(rows); tile += static_cast<int>(gridDim.x)) {
    if (arrangement == wide_frame && mixture.crowded[tile] == 0) continue;
    find_tile(mixture, rows, tile, shared);
    __syncthreads();
  }
}

}  // namespace

void expectation_apart(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  constexpr int bytes = static_cast<int>(sizeof(shared_tile));
  cuda::launch_in_turn(expectation_kernel, static_cast<unsigned>(std::min(tiles_of(rows), most_tile_blocks)), threads,
                       bytes, stream, mixture, rows);
}

}  // namespace shoal::gmm::tensor_diagonal
