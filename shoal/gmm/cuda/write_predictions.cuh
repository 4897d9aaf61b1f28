// Predictions from what an expectation step left: its terms become labels and probabilities.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/score_lanes.hpp>

namespace shoal::gmm {

// A row's components pass so many at a time, so that their probabilities leave together; a quarter of the block's
// threads takes every fourth of them.
inline constexpr unsigned batch_components = 32;
inline constexpr unsigned prediction_quarters = 4;
inline constexpr unsigned prediction_threads = prediction_quarters * score_tile_rows;

// Writes what `out` asks for of a chunk's rows, a tile to a block and a row to four threads. Found tells of a row:
// of(row), which has term(k), greater for more probable components, and responsibility(term).
template <class Found>
__global__ void __launch_bounds__(prediction_threads)
    write_predictions(const __grid_constant__ Found found, const float* weights, unsigned count, unsigned components,
                      const prediction<float> out, double* tiles) {
  __shared__ float staged[score_tile_rows][batch_components + 1];
  __shared__ float greatest_terms[prediction_quarters][score_tile_rows];
  __shared__ unsigned best_components[prediction_quarters][score_tile_rows];
  const cuda::block_group block;
  const unsigned first = blockIdx.x * score_tile_rows;
  const unsigned in_tile = block.rank % score_tile_rows;
  const unsigned quarter = block.rank / score_tile_rows;
  const unsigned row = first + in_tile;
  const bool inside = row < count;

  double weight = 0, log_likelihood = 0;
  if (inside && quarter == 0) {
    const double log_density = found.log_densities[row];
    if (out.log_density != nullptr) out.log_density[row] = static_cast<float>(log_density);
    weight = weights == nullptr ? 1.0 : static_cast<double>(weights[row]);
    if (weight > 0) log_likelihood = weight * log_density;  // a row that weighs nothing may have a density of zero
  }
  log_likelihood = block.sum(log_likelihood);
  weight = block.sum(weight);
  if (block.rank == 0) {
    tiles[2 * blockIdx.x] = log_likelihood;
    tiles[2 * blockIdx.x + 1] = weight;
  }
  if (out.labels == nullptr && out.probabilities == nullptr) return;

  const auto own = found.of(inside ? row : count - 1);
  const unsigned rows = min(score_tile_rows, count - first);
  float greatest = -INFINITY;
  unsigned best = 0;
  for (unsigned begin = 0; begin < components; begin += batch_components) {
    const unsigned some = min(batch_components, components - begin);
    constexpr unsigned own_components = batch_components / prediction_quarters;
    float term[own_components];
#pragma unroll
    for (unsigned i = 0; i < own_components; ++i) {
      const unsigned k = i * prediction_quarters + quarter;
      term[i] = k < some ? own.term(begin + k) : -INFINITY;
    }
    // Comparisons that a NaN fails; of equal terms the first counts.
#pragma unroll
    for (unsigned i = 0; i < own_components; ++i) {
      if (term[i] > greatest) {
        greatest = term[i];
        best = begin + i * prediction_quarters + quarter;
      }
    }
    if (out.probabilities == nullptr) continue;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < own_components; ++i) {
      staged[in_tile][i * prediction_quarters + quarter] = own.responsibility(term[i]);
    }
    __syncthreads();
    float* const to = out.probabilities + std::size_t{first} * components + begin;
    for (unsigned at = block.rank; at < rows * some; at += prediction_threads) {
      const unsigned r = some == batch_components ? at / batch_components : at / some;
      const unsigned i = at - r * some;
      to[std::size_t{r} * components + i] = staged[r][i];
    }
  }
  if (out.labels == nullptr) return;
  greatest_terms[quarter][in_tile] = greatest;
  best_components[quarter][in_tile] = best;
  __syncthreads();
  if (quarter != 0 || !inside) return;
  for (unsigned other = 1; other < prediction_quarters; ++other) {
    const float term = greatest_terms[other][in_tile];
    const unsigned k = best_components[other][in_tile];
    if (term > greatest || (term == greatest && k < best)) {
      greatest = term;
      best = k;
    }
  }
  out.labels[row] = static_cast<std::int32_t>(best);
}

}  // namespace shoal::gmm
