#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/posterior.cuh>
#include <shoal/gmm/cuda/predict_rows.hpp>
#include <shoal/gmm/cuda/thread_group.cuh>

namespace shoal::gmm {
namespace {

constexpr unsigned tile_rows = row_predictor<float>::unit;
static_assert(cuda::piece_unit % tile_rows == 0);

// Tile t of a share is summed in lane t mod score_lanes, by one thread.
constexpr unsigned score_lanes = 256;

// The blocks' scratch takes at most so many bytes.
constexpr std::size_t scratch_limit = std::size_t{256} << 20;

// Predicted responsibilities are as small as the scalar can tell (but for denormals), as on the CPU.
template <class Arithmetic>
inline constexpr double prediction_cut = sizeof(Arithmetic) == 4 ? 87.0 : 708.0;

template <class Scalar>
__device__ void write_row(const prediction<Scalar>& out, const row_posterior& found, const double* terms,
                          unsigned components, std::size_t at) {
  if (out.labels != nullptr) {
    unsigned best = 0;
    for (unsigned k = 1; k < components; ++k) {
      if (terms[std::size_t{k} * tile_rows] > terms[std::size_t{best} * tile_rows]) best = k;
    }
    out.labels[at] = static_cast<std::int32_t>(best);
  }
  if (out.probabilities != nullptr) {
    for (unsigned k = 0; k < components; ++k) {
      out.probabilities[at * components + k] = static_cast<Scalar>(terms[std::size_t{k} * tile_rows] / found.sum);
    }
  }
  if (out.log_density != nullptr) out.log_density[at] = static_cast<Scalar>(found.log_density);
}

template <class Scalar>
__global__ void __launch_bounds__(tile_rows)
    predict_tiles(const device_layout layout, const __grid_constant__ cuda::device_piece<Scalar> piece,
                  const __grid_constant__ device_parameters<Scalar> parameters, const prediction<Scalar> out,
                  double* scratch, double* tiles) {
  const block_group block;
  double* const terms = scratch + std::size_t{blockIdx.x} * layout.components * tile_rows + block.rank;
  for (std::size_t tile = blockIdx.x; tile * tile_rows < piece.count; tile += gridDim.x) {
    const std::size_t r = tile * tile_rows + block.rank;
    double weight = 0, log_likelihood = 0;
    if (r < piece.count) {
      const row_posterior found = posterior(parameters, layout, piece.rows + r * layout.columns, prediction_cut<Scalar>,
                                            prediction_cut<double>, terms, tile_rows);
      write_row(out, found, terms, layout.components, r);
      weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[r]);
      log_likelihood = weight * found.log_density;
    }
    log_likelihood = block.sum(log_likelihood);
    weight = block.sum(weight);
    if (block.rank == 0) {
      tiles[2 * tile] = log_likelihood;
      tiles[2 * tile + 1] = weight;
    }
  }
}

__global__ void add_tiles(const double* tiles, std::size_t count, std::size_t before, double* lanes) {
  const std::size_t lane = threadIdx.x;
  for (std::size_t tile = (lane + score_lanes - before % score_lanes) % score_lanes; tile < count;
       tile += score_lanes) {
    lanes[2 * lane] += tiles[2 * tile];
    lanes[2 * lane + 1] += tiles[2 * tile + 1];
  }
}

std::size_t tiles_of(std::size_t rows) { return (rows + tile_rows - 1) / tile_rows; }

}  // namespace

template <class Scalar>
row_predictor<Scalar>::row_predictor(const statistics_layout& layout, std::size_t most_rows,
                                     std::size_t multiprocessors, cudaStream_t stream)
    : layout_(layout), tiles_(2 * std::max<std::size_t>(1, tiles_of(most_rows))), lanes_(2 * score_lanes) {
  const std::size_t block_scratch = layout.components() * unit;
  const std::size_t affordable = std::max<std::size_t>(1, scratch_limit / (block_scratch * sizeof(double)));
  blocks_ =
      static_cast<unsigned>(std::max<std::size_t>(1, std::min({tiles_of(most_rows), affordable, 4 * multiprocessors})));
  scratch_.grow(blocks_ * block_scratch);
  lanes_.fill_with_zeros(stream);
}

template <class Scalar>
void row_predictor<Scalar>::add(const cuda::device_piece<Scalar>& piece, const device_parameters<Scalar>& parameters,
                                const prediction<Scalar>& out, cudaStream_t stream) {
  predict_tiles<Scalar>
      <<<blocks_, tile_rows, 0, stream>>>(layout_, piece, parameters, out, scratch_.data(), tiles_.data());
  cuda::check_launch("predict_tiles");
  add_tiles<<<1, score_lanes, 0, stream>>>(tiles_.data(), tiles_of(piece.count), piece.share_first / tile_rows,
                                           lanes_.data());
  cuda::check_launch("add_tiles");
}

template <class Scalar>
typename row_predictor<Scalar>::score row_predictor<Scalar>::total(cudaStream_t stream) const {
  score sum;
  const std::vector<double> lanes = lanes_.download(2 * score_lanes, stream);
  for (unsigned lane = 0; lane < score_lanes; ++lane) {
    sum.log_likelihood += lanes[2 * lane];
    sum.weight += lanes[2 * lane + 1];
  }
  return sum;
}

template class row_predictor<float>;
template class row_predictor<double>;

}  // namespace shoal::gmm
