// Predictions: densities of all components, chunk by chunk, then a thread a row.
#include <shoal/gmm/cuda/tensor_float64/chunks.hpp>
#include <shoal/gmm/cuda/tensor_float64/mixture_frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {
namespace {

template <class Scalar>
class tensor_predictor final : public predictor<Scalar> {
 public:
  tensor_predictor(const predictor_shape& shape, cudaStream_t stream)
      : layout_(shape.layout),
        score_(shape.most_rows, stream),
        workspace_(layout_.components, shape.most_rows, predictor<Scalar>::unit),
        frame_(layout_, workspace_.rows(), 0, 0, 0) {}

  void prepare(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    parameters_ = parameters;
    frame_.pack(parameters, stream);
  }

  void add(const cuda::device_piece<Scalar>& piece, const prediction<Scalar>& out, cudaStream_t stream) override {
    row_terms terms = workspace_.terms();
    workspace_.for_each_chunk(piece, layout_.columns, [&](const row_chunk<Scalar>& chunk, std::size_t begin) {
      if (frame_.used()) densities_in_frame(layout_, chunk, frame_.get(), parameters_, terms, stream);
      launch_densities(layout_, chunk, frame_.apart(parameters_), terms, stream);
      const prediction<Scalar> part{
          out.labels == nullptr ? nullptr : out.labels + begin,
          out.probabilities == nullptr ? nullptr : out.probabilities + begin * layout_.components,
          out.log_density == nullptr ? nullptr : out.log_density + begin};
      terms.sums = score_.tiles() + 2 * score_tiles(begin);
      launch_predictions(layout_, chunk, parameters_, terms, part, stream);
    });
    score_.add(piece.share_first, piece.count, stream);
  }

  std::vector<score_sums> totals(cudaStream_t stream) const override { return score_.totals(stream); }

 private:
  kernel_layout layout_;
  prepared_parameters<Scalar> parameters_;
  score_lanes score_;
  chunk_workspace workspace_;
  mixture_frame frame_;
};

}  // namespace

bool suits(const predictor_shape& shape) { return shape.layout.components() <= most_components; }

template <class Scalar>
std::unique_ptr<predictor<Scalar>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  return std::make_unique<tensor_predictor<Scalar>>(shape, stream);
}
template std::unique_ptr<predictor<float>> make_predictor(const predictor_shape&, cudaStream_t);
template std::unique_ptr<predictor<double>> make_predictor(const predictor_shape&, cudaStream_t);

}  // namespace shoal::gmm::tensor_float64
