#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor/clear.hpp>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>
#include <shoal/gmm/cuda/tensor_wide/held_rows.hpp>
#include <shoal/gmm/cuda/tensor_wide/tuning.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

constexpr int list_threads = 256;
constexpr int list_warps = list_threads / 32;
constexpr int rows_of_warp = static_cast<int>(tensor_float64::most_section_rows) / list_warps;
constexpr int looks = rows_of_warp / 32;

__device__ double block_maximum(double value) {
  __shared__ double of_warp[list_warps];
  for (int distance = 16; distance > 0; distance /= 2) value = fmax(value, __shfl_xor_sync(~0U, value, distance));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  for (const double other : of_warp) value = fmax(value, other);
  return value;
}

// Half of the exponent of a positive weight, rounded up: its root over two to that is at most √2.
__device__ int root_exponent(double most) { return most > 0 ? (ilogb(most) + 1) >> 1 : 0; }

// A block for each section and component. A warp looks at neighbouring rows.
__global__ void __launch_bounds__(list_threads)
    list_kernel(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk, const row_terms terms,
                const __grid_constant__ held_sections held) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  __shared__ unsigned held_by[list_warps];
  const cuda::block_group block;
  const unsigned section = blockIdx.x, k = blockIdx.y, d = mixture.layout.columns;
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32;
  const std::size_t begin = std::size_t{section} * held.section_rows;
  const auto count = static_cast<unsigned>(min(std::size_t{held.section_rows}, chunk.count - begin));
  const double* const responsibilities = terms.values + k * terms.stride + begin;
  double value[looks];
  double most = 0, weight = 0, squares = 0;
#pragma unroll
  for (int look = 0; look < looks; ++look) {
    const unsigned row = warp * rows_of_warp + look * 32 + thread;
    value[look] = row < count ? responsibilities[row] : 0;
  }
  unsigned mine = 0;
#pragma unroll
  for (int look = 0; look < looks; ++look) {
    most = fmax(most, value[look]);
    weight += value[look];
    squares = fma(value[look], value[look], squares);
    mine += __popc(__ballot_sync(~0U, value[look] != 0));
  }
  if (mixture.tied()) {
    most = squares = 0;
    for (unsigned row = threadIdx.x; row < count; row += list_threads) {
      const double of_row = chunk.weights == nullptr ? 1.0 : static_cast<double>(chunk.weights[begin + row]);
      most = fmax(most, of_row);
      if (k == 0) squares = fma(of_row, of_row, squares);
    }
  }
  if (thread == 0) held_by[warp] = mine;
  most = block_maximum(most);
  weight = block.sum(weight);
  squares = block.sum(squares);
  const int exponent = root_exponent(most);
  const double unit = ldexp(1.0, -exponent);
  unsigned place = 0, all = 0;
  for (unsigned other = 0; other < list_warps; ++other) {
    if (other < warp) place += held_by[other];
    all += held_by[other];
  }
  held_row* const to = held.rows + k * held.row_stride + begin;
#pragma unroll
  for (int look = 0; look < looks; ++look) {
    const unsigned mask = __ballot_sync(~0U, value[look] != 0);
    if (value[look] != 0) {
      const unsigned row = warp * rows_of_warp + look * 32 + thread;
      to[place + __popc(mask & ((1U << thread) - 1))] = {static_cast<unsigned>(begin) + row,
                                                         static_cast<float>(sqrt(value[look]) * unit)};
    }
    place += __popc(mask);
  }
  __syncthreads();
  // A few rows say how far columns are correlated.
  double spread = 0, sampled = 0;
  const double* const centre = mixture.parameters.in_double.centres + std::size_t{k} * d;
  const float* const norms = mixture.norms + (mixture.tied() ? 0 : std::size_t{k} * d);
  for (unsigned at = warp; at < min(all, unsigned{sampled_rows}); at += list_warps) {
    const unsigned row = to[at].row;
    const double of_row = responsibilities[row - begin];
    double norm = 0;
    for (unsigned j = thread; j < d; j += 32) {
      const double z =
          (static_cast<double>(chunk.rows[std::size_t{row} * d + j]) - centre[j]) * static_cast<double>(norms[j]);
      norm = fma(z, z, norm);
    }
    spread = fma(of_row, norm, spread);
    if (thread == 0) sampled += of_row;
  }
  spread = block.sum(spread);
  sampled = block.sum(sampled);
  if (threadIdx.x == 0) {
    held.facts[std::size_t{k} * held.section_stride + section] = {weight, squares, spread, sampled, all, exponent, 0};
  }
}

constexpr unsigned tied_threads = 1024;

struct section_sums {
  double weight, squares, spread, sampled;
};

// A warp for each component, which adds in the order of the sections, so that a cut between chunks decides nothing. Of
// tied components there is one block, whose warps first add up what their components hold of 32 sections.
__global__ void __launch_bounds__(tied_threads)
    decide_kernel(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                  const __grid_constant__ held_sections held, unsigned sections) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  __shared__ section_sums of_section[32];
  __shared__ int decided[32];
  const unsigned k = blockIdx.x, d = mixture.layout.columns, thread = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned past = mixture.tied() ? mixture.layout.components : k + 1;
  const bool coupled = mixture.coupled[k] != 0;
  double2 so_far = held.before[k];
  for (unsigned base = 0; base < sections; base += 32) {
    const unsigned section = base + thread;
    section_sums sums{};
    const auto add = [&](const section_facts& facts) {
      sums.weight += facts.weight;
      sums.squares += facts.squares;
      sums.spread += facts.spread;
      sums.sampled += facts.sampled;
    };
    if (mixture.tied()) {
      for (unsigned of = thread; base + warp < sections && of < past; of += 32) add(held.of(of, base + warp));
      sums = {cuda::warp_sum(sums.weight), cuda::warp_sum(sums.squares), cuda::warp_sum(sums.spread),
              cuda::warp_sum(sums.sampled)};
      if (thread == 0) of_section[warp] = sums;
      __syncthreads();
      sums = of_section[thread];
    } else if (section < sections) {
      add(held.of(k, section));
    }
    if (warp == 0) {
      int far = 0;
      if (section < sections) {
        const std::size_t begin = std::size_t{section} * held.section_rows;
        const std::size_t end = min(begin + held.section_rows, chunk.count);
        for (std::size_t t = begin / tile; t * tile < end; ++t) far |= mixture.far_tiles[t];
      }
      double2 own = so_far;
      for (int other = 0; other < 32; ++other) {
        so_far.x += __shfl_sync(~0U, sums.weight, other);
        so_far.y += __shfl_sync(~0U, sums.squares, other);
        if (static_cast<int>(thread) == other) own = so_far;
      }
      const bool enough = own.x * own.x >= least_rows_a_column * d * own.y;
      const bool steep = !(sums.spread <= most_spread * d * sums.sampled);
      decided[thread] = coupled && enough && !steep && far == 0 ? 1 : 0;
    }
    __syncthreads();
    for (unsigned of = k + warp; section < sections && of < past; of += blockDim.x / 32) {
      held.facts[std::size_t{of} * held.section_stride + section].halves = decided[thread];
    }
    __syncthreads();  // what was decided has been read
  }
  if (threadIdx.x == 0) held.before[k] = so_far;
}

}  // namespace

section_buffers::section_buffers(const problem& mixture, std::size_t share_rows, std::size_t section_rows,
                                 std::size_t chunk_rows) {
  using tensor::take;
  if (share_rows < least_share_rows) return;
  const std::size_t components = mixture.layout.components;
  held_.row_stride = chunk_rows;
  held_.section_rows = static_cast<unsigned>(section_rows);
  held_.section_stride = static_cast<unsigned>((chunk_rows + section_rows - 1) / section_rows);
  held_.rows = take(rows_, components * chunk_rows);
  held_.facts = take(facts_, components * held_.section_stride);
  held_.before = take(before_, components);
}

void section_buffers::clear(cudaStream_t stream) {
  if (held_.facts == nullptr) return;
  tensor::cleared_memory sums;
  sums.add(before_);
  tensor::clear(sums, nullptr, stream);
}

void list_rows(const problem& mixture, const row_chunk& chunk, const row_terms& terms, const held_sections& held,
               cudaStream_t stream) {
  const auto sections = static_cast<unsigned>((chunk.count + held.section_rows - 1) / held.section_rows);
  cuda::launch_in_turn(list_kernel, dim3(sections, mixture.layout.components), list_threads, 0, stream, mixture, chunk,
                       terms, held);
  const unsigned factors = mixture.tied() ? 1 : mixture.layout.components;
  cuda::launch_in_turn(decide_kernel, factors, mixture.tied() ? tied_threads : 32, 0, stream, mixture, chunk, held,
                       sections);
}

}  // namespace shoal::gmm::tensor_wide
