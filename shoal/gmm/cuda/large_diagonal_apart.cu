// The expectation step of diagonal and spherical mixtures whose components are too different for one frame, and on GPUs
// without products by four warps: each row's distance to each component by itself, in float32.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/large_diagonal_kernels.hpp>
#include <shoal/gmm/cuda/large_diagonal_split.cuh>
#include <shoal/gmm/cuda/thread_group.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::large_diagonal {
namespace {

constexpr int threads = 256;
// A thread takes so many rows and components at a time; a block has 16 × 16 threads.
constexpr int own_rows = tile_rows / 16;
constexpr int own_components = 4;
constexpr int batch = 16 * own_components;  // components in shared memory at a time
constexpr int part = 16;                    // columns in shared memory at a time

struct shared_tile {
  float x[part][tile_rows];
  float centre[part][batch];
  float factor[part][batch];
  float offset[part][batch];
  double likelihoods[threads / 32];
  double weights[threads / 32];
  unsigned far[tile_rows / 32];
  int greatest_weight;
};

// What a thread knows of a row while the components pass by, its sixteenth of them. In bits.
struct row_state {
  float greatest = -INFINITY;
  float sum = 0;
  float norm = INFINITY;  // ‖y‖² under the component of the greatest term

  // A term that is −∞ (an empty component) or not a number (a ‖y‖² out of range) is beyond what counts.
  __device__ void add(float term, float its_norm, float its_sum = 1) {
    if (!(term > -INFINITY)) return;
    const float most = fmaxf(greatest, term);
    sum = sum * power_of_two(greatest - most) + its_sum * power_of_two(term - most);
    if (term > greatest) norm = its_norm;
    greatest = most;
  }
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
    const bool inside = j < mixture.columns && k < mixture.components && mixture.log_constants[k] > -INFINITY;
    const std::size_t at = static_cast<std::size_t>(k) * mixture.columns + j;
    shared.centre[i % part][i / part] = inside ? mixture.centres[at] : 0.0F;
    shared.factor[i % part][i / part] = inside ? mixture.factors[at] : 0.0F;
    shared.offset[i % part][i / part] = inside ? mixture.offsets[at] : 0.0F;
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
#pragma unroll 4
    for (int j = 0; j < part; ++j) {
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

__global__ void __launch_bounds__(threads, 2)
    expectation_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  if ((mixture.stopped != nullptr && *mixture.stopped != 0) || *mixture.arrangement != no_frame) return;
  extern __shared__ __align__(16) unsigned char memory[];
  shared_tile& shared = *reinterpret_cast<shared_tile*>(memory);
  const int first = static_cast<int>(blockIdx.x) * tile_rows;
  const int thread = static_cast<int>(threadIdx.x);
  const int across = thread % 16;
  const int down = thread / 16;
  if (thread < tile_rows / 32) shared.far[thread] = 0;
  if (thread == 0) shared.greatest_weight = 0;
  row_state state[own_rows];
  for (int batch_first = 0; batch_first < mixture.components; batch_first += batch) {
    float norms[own_rows][own_components];
    find_norms(mixture, rows, first, batch_first, shared, norms);
#pragma unroll
    for (int c = 0; c < own_components; ++c) {
      const int k = batch_first + own_components * across + c;
      if (k >= mixture.components) continue;
      const float constant = mixture.log_constants[k];
#pragma unroll
      for (int r = 0; r < own_rows; ++r) {
        const float term = fmaf(norms[r][c], -0.5F, constant) * log2_of_e;
        mixture.terms[term_place(mixture.tiles, k, first + own_rows * down + r)] = term;
        state[r].add(term, norms[r][c]);
      }
    }
  }
  double likelihood = 0;
  double weights = 0;
#pragma unroll
  for (int r = 0; r < own_rows; ++r) {
    row_state& own = state[r];
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
    const bool near = own.norm <= far_norm;
    const bool counts = inside && near && weight > 0;
    const double log_density = write_row(mixture, row, own.greatest, log2f(own.sum), weight, counts);
    if (inside && !near) atomicOr(&shared.far[in_tile / 32], 1U << in_tile % 32);
    atomicMax(&shared.greatest_weight, __float_as_int(weight));  // of integers: like floats that are not negative
    if (counts) likelihood = static_cast<double>(weight) * log_density;
    weights = static_cast<double>(weight);
  }
  likelihood = warp_sum(likelihood);
  weights = warp_sum(weights);
  if (thread % 32 == 0) {
    shared.likelihoods[thread / 32] = likelihood;
    shared.weights[thread / 32] = weights;
  }
  __syncthreads();
  if (thread < tile_rows / 32) mixture.far_masks[first / 32 + thread] = shared.far[thread];
  if (thread != 0) return;
  double2 sum = make_double2(0, 0);
  for (int i = 0; i < threads / 32; ++i) {
    sum.x += shared.likelihoods[i];
    sum.y += shared.weights[i];
  }
  mixture.tile_sums[blockIdx.x] = sum;
  const float greatest = __int_as_float(shared.greatest_weight);
  mixture.exponents[blockIdx.x] = greatest > 0 ? ilogbf(greatest) : 0;
}

}  // namespace

void expectation_apart(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  constexpr int bytes = static_cast<int>(sizeof(shared_tile));
  cuda::check(cudaFuncSetAttribute(expectation_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "reserve shared memory");
  expectation_kernel<<<(rows.count + tile_rows - 1) / tile_rows, threads, bytes, stream>>>(mixture, rows);
  cuda::check_launch("expectation_apart");
}

}  // namespace shoal::gmm::large_diagonal
