#include <shoal/gmm/cuda/tensor_wide/framed_sums.hpp>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor/clear.hpp>
#include <shoal/gmm/cuda/tensor_wide/tuning.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

constexpr int merge_threads = 128;
constexpr int move_threads = 256;

// How far a component's centre is from the origin.
__device__ double distance(const problem& mixture, unsigned k, unsigned i) {
  return mixture.parameters.in_double.centres[std::size_t{k} * mixture.layout.columns + i] -
         static_cast<double>(mixture.frame.origin[i]);
}

__device__ double* component_of(const problem& mixture, double* statistics, unsigned k) {
  return statistics + mixture.layout.header + std::size_t{k} * mixture.layout.component_size;
}

// Adds up the lanes' first moments about the origin, a thread for each column, and adds them to those about the centre.
__global__ void __launch_bounds__(merge_threads)
    merge_first(const __grid_constant__ problem mixture, const double* lanes, unsigned lane_count, double* merged,
                double* statistics) {
  cuda::wait_for_predecessor();
  const unsigned k = blockIdx.y, d = mixture.layout.columns, i = blockIdx.x * merge_threads + threadIdx.x;
  if (*mixture.parameters.stopped != 0 || mixture.frame.near[k] == 0 || i > d) return;
  const std::size_t stride = std::size_t{mixture.layout.components} * (d + 1);
  const double* const from = lanes + std::size_t{k} * (d + 1);
  double sum = 0, weight = 0;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    sum += from[lane * stride + i];
    weight += from[lane * stride + d];
  }
  merged[std::size_t{k} * (d + 1) + i] = sum;
  if (i == d) return;
  component_of(mixture, statistics, k)[statistics_layout::triangle_row(d + 1, i) + d] +=
      sum - weight * distance(mixture, k, i);
}

// Σ w r (z − δ)(z − δ)ᵀ = Σ w r z zᵀ − f δᵀ − δ fᵀ + W δ δᵀ with δ = c − o and f = Σ w r z; a row for each warp.
__global__ void __launch_bounds__(move_threads)
    move_triangle(const __grid_constant__ problem mixture, const double* merged, double* statistics) {
  cuda::wait_for_predecessor();
  const unsigned k = blockIdx.y, d = mixture.layout.columns;
  const unsigned i = blockIdx.x * (move_threads / 32) + threadIdx.x / 32;
  if (*mixture.parameters.stopped != 0 || mixture.frame.near[k] == 0 || i >= d) return;
  const double* const first = merged + std::size_t{k} * (d + 1);
  double* const row = component_of(mixture, statistics, k) + statistics_layout::triangle_row(d + 1, i);
  const double own = distance(mixture, k, i), own_first = first[i] - first[d] * own;
  for (unsigned j = i + threadIdx.x % 32; j < d; j += 32) {
    row[j] -= fma(own_first, distance(mixture, k, j), own * first[j]);
  }
}

}  // namespace

framed_accumulator::framed_accumulator(const problem& mixture, const moment_plan& plan, std::size_t chunk_rows) {
  if (mixture.frame.near == nullptr) return;
  const kernel_layout& layout = mixture.layout;
  const std::size_t row_size = std::size_t{eights_of(layout.columns)} * 8 * static_cast<std::size_t>(mixture.terms());
  const std::size_t affordable = most_framed_bytes / (row_size * sizeof(std::uint16_t)) / cuda::piece_unit;
  rows_ = std::min(chunk_rows, std::max<std::size_t>(affordable, 1) * cuda::piece_unit);
  const std::size_t firsts = layout.components * (std::size_t{layout.columns} + 1);
  sums_.rows = tensor::take(row_memory_, rows_ * row_size);
  sums_.first = tensor::take(first_memory_, plan.lanes.lanes * firsts);
  merged_ = tensor::take(merged_memory_, firsts);
}

void framed_accumulator::clear(const problem& mixture, cudaStream_t stream) {
  if (rows_ == 0) return;
  tensor::cleared_memory cleared;
  cleared.add(first_memory_);
  tensor::clear(cleared, mixture.parameters.stopped, stream);
}

void framed_accumulator::add(const problem& mixture, const row_chunk& chunk, const held_sections& held,
                             const moment_plan& plan, cudaStream_t stream) {
  if (rows_ == 0) return;
  for (std::size_t first = 0; first < chunk.count; first += rows_) {
    const row_chunk part{chunk.rows + first * mixture.layout.columns,
                         chunk.weights == nullptr ? nullptr : chunk.weights + first,
                         std::min(rows_, chunk.count - first), chunk.share_first + first};
    move_rows(mixture, part, sums_, stream);
    framed_moments(mixture, part, held.from(first), plan, sums_, stream);
  }
}

void framed_accumulator::merge(const problem& mixture, const moment_plan& plan, double* statistics,
                               cudaStream_t stream) {
  if (rows_ == 0) return;
  const unsigned d = mixture.layout.columns, components = mixture.layout.components;
  cuda::launch_in_turn(merge_first, dim3(ceiling(d + 1, unsigned{merge_threads}), components), merge_threads, 0, stream,
                       mixture, static_cast<const double*>(sums_.first), plan.lanes.lanes, merged_, statistics);
  cuda::launch_in_turn(move_triangle, dim3(ceiling(d, move_threads / 32U), components), move_threads, 0, stream,
                       mixture, static_cast<const double*>(merged_), statistics);
}

}  // namespace shoal::gmm::tensor_wide
