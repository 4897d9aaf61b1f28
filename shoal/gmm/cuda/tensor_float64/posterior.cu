// Log-densities to responsibilities and predictions, a thread a row.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/frame_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_float64 {
namespace {

struct row_sum {
  double log_density;
  double sum;  // of the terms
};

// Terms that are asked for before the first is used.
constexpr unsigned at_once = 8;

template <class Use>
__device__ void for_each_term(const double* terms, std::size_t stride, unsigned count, const Use& use) {
  for (unsigned first = 0; first < count; first += at_once) {
    double some[at_once];
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) some[i] = first + i < count ? terms[(first + i) * stride] : 0;
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      if (first + i < count) use(first + i, some[i]);
    }
  }
}

// Turns a row's log-densities into exp(ln pₖ − their greatest), zero below exp(−cut).
__device__ row_sum exponentials(const kernel_layout& layout, double* terms, std::size_t stride, double cut,
                                double log_shift) {
  double greatest = -INFINITY;
  for_each_term(terms, stride, layout.components, [&](unsigned, double term) {
    // A comparison, not a maximum: it leaves out a NaN.
    if (term > greatest) greatest = term;
  });
  double sum = 0;
  for_each_term(terms, stride, layout.components, [&](unsigned k, double density) {
    const double ratio = density - greatest;
    const double term = ratio >= -cut ? exp(ratio) : 0;
    terms[k * stride] = term;
    sum += term;
  });
  return {greatest + log(sum) + log_shift, sum};
}

template <class Scalar, bool Predict>
__global__ void __launch_bounds__(score_tile_rows)
    posterior(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk, const double* log_shift,
              const row_terms terms, const prediction<Scalar> out, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const cuda::block_group block;
  for (std::size_t tile = blockIdx.x; tile < score_tiles(chunk.count); tile += gridDim.x) {
    const std::size_t row = tile * score_tile_rows + threadIdx.x;
    double weight = 0, log_likelihood = 0;
    if (row < chunk.count) {
      double* const mine = terms.values + row;
      constexpr double cut = Predict ? prediction_cut<Scalar> : negligible_log_ratio<Scalar>;
      const row_sum found = exponentials(layout, mine, terms.stride, cut, *log_shift);
      weight = chunk.weights == nullptr ? 1.0 : static_cast<double>(chunk.weights[row]);
      // A row that weighs nothing may have a density of zero.
      if (weight > 0) log_likelihood = weight * found.log_density;
      if constexpr (Predict) {
        unsigned best = 0;
        for (unsigned k = 0; k < layout.components; ++k) {
          const double term = mine[k * terms.stride];
          if (term > mine[best * terms.stride]) best = k;
          if (out.probabilities != nullptr) {
            out.probabilities[row * layout.components + k] = static_cast<Scalar>(term / found.sum);
          }
        }
        if (out.labels != nullptr) out.labels[row] = static_cast<std::int32_t>(best);
        if (out.log_density != nullptr) out.log_density[row] = static_cast<Scalar>(found.log_density);
      } else {
        const double scale = weight > 0 ? weight / found.sum : 0;
        for_each_term(mine, terms.stride, layout.components,
                      [&](unsigned k, double term) { mine[k * terms.stride] = term * scale; });
      }
    }
    log_likelihood = block.sum(log_likelihood);
    weight = block.sum(weight);
    if (threadIdx.x == 0) {
      terms.sums[2 * tile] = log_likelihood;
      terms.sums[2 * tile + 1] = weight;
    }
  }
}

// Responsibilities of many components: so many threads for each row.
constexpr unsigned parts = 8;

template <class Scalar>
__global__ void __launch_bounds__(parts* score_tile_rows)
    shared_posterior(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                     const double* log_shift, const row_terms terms, const int* stopped, const component_frame frame) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || !is_far(frame, std::size_t{blockIdx.x} * score_tile_rows)) return;
  const cuda::block_group block;
  __shared__ double greatest_of[parts][score_tile_rows], sum_of[parts][score_tile_rows];
  const unsigned in_tile = threadIdx.x % score_tile_rows, part = threadIdx.x / score_tile_rows;
  const std::size_t row = std::size_t{blockIdx.x} * score_tile_rows + in_tile;
  const unsigned share = (layout.components + parts - 1) / parts, first = min(part * share, layout.components);
  const unsigned count = row < chunk.count ? min(share, layout.components - first) : 0;
  double* const mine = terms.values + first * terms.stride + row;
  double greatest = -INFINITY;
  for_each_term(mine, terms.stride, count, [&](unsigned, double term) {
    if (term > greatest) greatest = term;
  });
  greatest_of[part][in_tile] = greatest;
  __syncthreads();
  for (const auto& other : greatest_of) greatest = fmax(greatest, other[in_tile]);
  double sum = 0;
  for_each_term(mine, terms.stride, count, [&](unsigned k, double density) {
    const double ratio = density - greatest;
    const double term = ratio >= -negligible_log_ratio<Scalar> ? exp(ratio) : 0;
    mine[k * terms.stride] = term;
    sum += term;
  });
  sum_of[part][in_tile] = sum;
  __syncthreads();
  sum = 0;
  for (const auto& other : sum_of) sum += other[in_tile];
  double weight = 0, log_likelihood = 0;
  if (row < chunk.count) weight = chunk.weights == nullptr ? 1.0 : static_cast<double>(chunk.weights[row]);
  const double scale = weight / sum;
  for_each_term(mine, terms.stride, count, [&](unsigned k, double term) {
    if (term != 0) mine[k * terms.stride] = term * scale;
  });
  if (part != 0) weight = 0;
  if (weight != 0) log_likelihood = weight * (greatest + log(sum) + *log_shift);
  log_likelihood = block.sum(log_likelihood);
  weight = block.sum(weight);
  if (threadIdx.x == 0) {
    terms.sums[2 * blockIdx.x] = log_likelihood;
    terms.sums[2 * blockIdx.x + 1] = weight;
  }
}

template <class Scalar, bool Predict>
void launch(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const prepared_parameters<Scalar>& parameters,
            const row_terms& terms, const prediction<Scalar>& out, cudaStream_t stream, unsigned most_blocks) {
  const auto tiles = static_cast<unsigned>(score_tiles(chunk.count));
  cuda::launch_in_turn(posterior<Scalar, Predict>, std::min(tiles, most_blocks), score_tile_rows, 0, stream, layout,
                       chunk, parameters.in_double.log_shift, terms, out, parameters.stopped);
}

}  // namespace

template <class Scalar>
void launch_responsibilities(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                             const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream,
                             unsigned most_blocks) {
  if (layout.components >= least_shared_components) {
    return cuda::launch_in_turn(shared_posterior<Scalar>, static_cast<unsigned>(score_tiles(chunk.count)),
                                parts * score_tile_rows, 0, stream, layout, chunk, parameters.in_double.log_shift,
                                terms, parameters.stopped, component_frame());
  }
  launch<Scalar, false>(layout, chunk, parameters, terms, {}, stream, most_blocks);
}
template void launch_responsibilities(const kernel_layout&, const row_chunk<float>&, const prepared_parameters<float>&,
                                      const row_terms&, cudaStream_t, unsigned);
template void launch_responsibilities(const kernel_layout&, const row_chunk<double>&,
                                      const prepared_parameters<double>&, const row_terms&, cudaStream_t, unsigned);

template <class Scalar>
void far_responsibilities(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const component_frame& frame,
                          const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream) {
  cuda::launch_in_turn(shared_posterior<Scalar>, static_cast<unsigned>(score_tiles(chunk.count)),
                       parts * score_tile_rows, 0, stream, layout, chunk, parameters.in_double.log_shift, terms,
                       parameters.stopped, frame);
}
template void far_responsibilities(const kernel_layout&, const row_chunk<float>&, const component_frame&,
                                   const prepared_parameters<float>&, const row_terms&, cudaStream_t);
template void far_responsibilities(const kernel_layout&, const row_chunk<double>&, const component_frame&,
                                   const prepared_parameters<double>&, const row_terms&, cudaStream_t);

template <class Scalar>
void launch_predictions(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                        const prepared_parameters<Scalar>& parameters, const row_terms& terms,
                        const prediction<Scalar>& out, cudaStream_t stream) {
  launch<Scalar, true>(layout, chunk, parameters, terms, out, stream, any_blocks);
}
template void launch_predictions(const kernel_layout&, const row_chunk<float>&, const prepared_parameters<float>&,
                                 const row_terms&, const prediction<float>&, cudaStream_t);
template void launch_predictions(const kernel_layout&, const row_chunk<double>&, const prepared_parameters<double>&,
                                 const row_terms&, const prediction<double>&, cudaStream_t);

}  // namespace shoal::gmm::tensor_float64
