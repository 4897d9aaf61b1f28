// Predictions of wide rows: densities of all components, chunk by chunk, then a thread a row.
#include <vector>

#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_float64/chunks.hpp>
#include <shoal/gmm/cuda/tensor_wide/buffers.hpp>
#include <shoal/gmm/cuda/tensor_wide/kernels.hpp>
#include <shoal/gmm/cuda/tensor_wide/tensor_wide.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

class wide_predictor final : public predictor<float> {
 public:
  wide_predictor(const predictor_shape& shape, cudaStream_t stream)
      : columns_(shape.layout.columns()),
        components_(shape.layout.components()),
        score_(shape.most_rows, stream),
        workspace_(components_, shape.most_rows, unit),
        buffers_(shape.layout, 3, workspace_.terms().stride, shape.multiprocessors),
        never_(1) {
    never_.fill_with_zeros(stream);
  }

  void prepare(const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    mixture_ = buffers_.with(parameters);
    mixture_.parameters.stopped = never_.data();  // a fit that has stopped asks for the rows that fit worst
    pack_mixture(mixture_, stream);
  }

  void add(const cuda::device_piece<float>& piece, const prediction<float>& out, cudaStream_t stream) override {
    row_terms terms = workspace_.terms();
    workspace_.for_each_chunk(piece, columns_, [&](const row_chunk& chunk, std::size_t begin) {
      densities(mixture_, chunk, terms, stream);
      terms.sums = score_.tiles() + 2 * score_tiles(begin);
      tensor_float64::launch_predictions(mixture_.layout, chunk, mixture_.parameters, terms,
                                         tensor::beginning_at(out, begin, components_), stream);
    });
    score_.add(piece.share_first, piece.count, stream);
  }

  std::vector<score_sums> totals(cudaStream_t stream) const override { return score_.totals(stream); }

 private:
  std::size_t columns_, components_;
  score_lanes score_;
  tensor_float64::chunk_workspace workspace_;
  density_buffers buffers_;
  cuda::device_buffer<int> never_;
  problem mixture_;
};

}  // namespace

bool suits(const predictor_shape& shape) { return takes(shape.layout, shape.shared_bytes); }

std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  return std::make_unique<wide_predictor>(shape, stream);
}

}  // namespace shoal::gmm::tensor_wide
