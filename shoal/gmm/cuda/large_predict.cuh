// Predictions from what an expectation step left: its terms become labels and probabilities.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/thread_group.cuh>

namespace shoal::gmm {

// A row's components pass so many at a time, so that their probabilities leave together.
inline constexpr unsigned batch_components = 32;

// Writes what `out` asks for of a chunk's rows, a tile to a block and a row to a thread. Found tells of a row: of(row),
// which has term(k), greater for more probable components, and responsibility(term).
template <class Found>
__global__ void __launch_bounds__(score_tile_rows)
    write_predictions(const __grid_constant__ Found found, const float* weights, unsigned count, unsigned components,
                      const prediction<float> out, double* tiles) {
  __shared__ float staged[score_tile_rows][batch_components + 1];
  const block_group block;
  const unsigned first = blockIdx.x * score_tile_rows;
  const unsigned row = first + block.rank;
  const bool inside = row < count;
  const auto own = found.of(inside ? row : count - 1);

  double weight = 0, log_likelihood = 0;
  if (inside) {
    const double log_density = found.log_densities[row];
    if (out.log_density != nullptr) out.log_density[row] = static_cast<float>(log_density);
    weight = weights == nullptr ? 1.0 : static_cast<double>(weights[row]);
    log_likelihood = weight * log_density;
  }
  log_likelihood = block.sum(log_likelihood);
  weight = block.sum(weight);
  if (block.rank == 0) {
    tiles[2 * blockIdx.x] = log_likelihood;
    tiles[2 * blockIdx.x + 1] = weight;
  }
  if (out.labels == nullptr && out.probabilities == nullptr) return;

  float greatest = -INFINITY;
  unsigned best = 0;
  for (unsigned begin = 0; begin < components; begin += batch_components) {
    const unsigned some = min(batch_components, components - begin);
    float term[batch_components];
#pragma unroll
    for (unsigned i = 0; i < batch_components; ++i) term[i] = i < some ? own.term(begin + i) : -INFINITY;
      // Comparisons that a NaN fails; of equal terms the first counts.
#pragma unroll
    for (unsigned i = 0; i < batch_components; ++i) {
      if (term[i] > greatest) {
        greatest = term[i];
        best = begin + i;
      }
    }
    if (out.probabilities == nullptr) continue;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < batch_components; ++i) staged[block.rank][i] = own.responsibility(term[i]);
    __syncthreads();
    const unsigned rows = min(score_tile_rows, count - first);
    float* const to = out.probabilities + std::size_t{first} * components + begin;
    for (unsigned at = block.rank; at < rows * some; at += score_tile_rows) {
      const unsigned r = some == batch_components ? at / batch_components : at / some;
      const unsigned i = at - r * some;
      to[std::size_t{r} * components + i] = staged[r][i];
    }
  }
  if (inside && out.labels != nullptr) out.labels[row] = static_cast<std::int32_t>(best);
}

}  // namespace shoal::gmm
