// Predictions by a thread for each row, of any shape.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/plain/plain.hpp>
#include <shoal/gmm/cuda/posterior.cuh>
#include <shoal/gmm/cuda/score_lanes.hpp>

namespace shoal::gmm::plain {
namespace {

constexpr unsigned tile_rows = score_tile_rows;

// The blocks' scratch takes at most so many bytes, of many components enough for so many blocks.
constexpr std::size_t scratch_limit = std::size_t{256} << 20;
constexpr std::size_t most_scratch = std::size_t{1} << 30;
constexpr std::size_t least_blocks = 512;

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
    predict_tiles(const kernel_layout layout, const __grid_constant__ cuda::device_piece<Scalar> piece,
                  const __grid_constant__ prepared_parameters<Scalar> parameters, const prediction<Scalar> out,
                  double* scratch, double* tiles) {
  const cuda::block_group block;
  double* const terms = scratch + std::size_t{blockIdx.x} * layout.components * tile_rows + block.rank;
  for (std::size_t tile = blockIdx.x; tile * tile_rows < piece.count; tile += gridDim.x) {
    const std::size_t r = tile * tile_rows + block.rank;
    double weight = 0, log_likelihood = 0;
    if (r < piece.count) {
      const row_posterior found = posterior(parameters, layout, piece.rows + r * layout.columns, prediction_cut<Scalar>,
                                            prediction_cut<double>, terms, tile_rows);
      write_row(out, found, terms, layout.components, r);
      weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[r]);
      if (weight > 0) log_likelihood = weight * found.log_density;
    }
    log_likelihood = block.sum(log_likelihood);
    weight = block.sum(weight);
    if (block.rank == 0) {
      tiles[2 * tile] = log_likelihood;
      tiles[2 * tile + 1] = weight;
    }
  }
}

template <class Scalar>
class plain_predictor final : public predictor<Scalar> {
 public:
  plain_predictor(const predictor_shape& shape, cudaStream_t stream)
      : layout_(shape.layout), score_(shape.most_rows, stream) {
    const std::size_t block_scratch = shape.layout.components() * tile_rows,
                      block_bytes = block_scratch * sizeof(double);
    const std::size_t limit = std::max(scratch_limit, std::min(least_blocks * block_bytes, most_scratch));
    const std::size_t affordable = std::max<std::size_t>(1, limit / block_bytes);
    blocks_ = static_cast<unsigned>(
        std::max<std::size_t>(1, std::min({score_tiles(shape.most_rows), affordable, 16 * shape.multiprocessors})));
    scratch_.grow(blocks_ * block_scratch);
  }

  void prepare(const prepared_parameters<Scalar>& parameters, cudaStream_t) override { parameters_ = parameters; }

  void add(const cuda::device_piece<Scalar>& piece, const prediction<Scalar>& out, cudaStream_t stream) override {
    predict_tiles<Scalar>
        <<<blocks_, tile_rows, 0, stream>>>(layout_, piece, parameters_, out, scratch_.data(), score_.tiles());
    cuda::check_launch("predict_tiles");
    score_.add(piece.share_first, piece.count, stream);
  }

  std::vector<score_sums> totals(cudaStream_t stream) const override { return score_.totals(stream); }

 private:
  kernel_layout layout_;
  prepared_parameters<Scalar> parameters_;
  unsigned blocks_ = 1;
  cuda::device_buffer<double> scratch_;  // [blocks][K][tile_rows]
  score_lanes score_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<predictor<Scalar>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  return std::make_unique<plain_predictor<Scalar>>(shape, stream);
}
template std::unique_ptr<predictor<float>> make_predictor(const predictor_shape&, cudaStream_t);
template std::unique_ptr<predictor<double>> make_predictor(const predictor_shape&, cudaStream_t);

}  // namespace shoal::gmm::plain
