// Predictions of full and tied mixtures on one GPU, by tensor cores.
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/problem.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tensor_matrix.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

class predictor final : public device_predictor<float> {
 public:
  predictor(const predictor_shape& shape, cudaStream_t stream)
      : sizes_(sizes_of(shape.layout, 3, shape.most_rows)),
        expectation_(sizes_),
        log_densities_(sizes_.chunk_rows),
        score_(sizes_.chunk_rows, stream) {
    sizes_.negligible = prediction_cut<float>;
    sizes_.log_densities = log_densities_.data();
    expectation_.clear(stream);
  }

  void prepare(const device_parameters<float>& parameters, cudaStream_t stream) override {
    mixture_ = with(sizes_, parameters);
    mixture_.parameters.stopped = nullptr;  // a fit that has stopped asks for the rows that fit worst
    pack_mixture(mixture_, stream);
  }

  void add(const cuda::device_piece<float>& piece, const prediction<float>& out, cudaStream_t stream) override {
    for_each_chunk(piece, static_cast<std::size_t>(sizes_.columns), sizes_.chunk_rows,
                   [&](chunk& rows, std::size_t first) { add_chunk(rows, first, out, stream); });
  }

  std::vector<score_sums> totals(cudaStream_t stream) const override { return score_.totals(stream); }

 private:
  void add_chunk(chunk& rows, std::size_t first, const prediction<float>& out, cudaStream_t stream) {
    const float* const weights = std::exchange(rows.weights, nullptr);  // which count in the score alone
    expectation(mixture_, rows, stream);
    far_responsibilities(mixture_, rows, stream);
    rows.weights = weights;
    write_predictions(mixture_, rows, beginning_at(out, first, static_cast<std::size_t>(sizes_.components)),
                      score_.tiles(), stream);
    score_.add(rows.share_first, static_cast<std::size_t>(rows.count), stream);
  }

  problem sizes_;
  expectation_buffers expectation_;
  cuda::device_buffer<double> log_densities_;
  score_lanes score_;
  problem mixture_;
};

}  // namespace

bool suits(const predictor_shape& shape) {
  return shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         shape.shared_bytes >= expectation_bytes(compiled_groups(shape.layout.columns()));
}

std::unique_ptr<device_predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  if (!suits(shape)) {
    throw bad_argument(
        fmt::format("these kernels for predictions take full and tied covariances of at most {} columns on a GPU with "
                    "enough shared "
                    "memory for a block; this mixture has {} columns, and a block may have {} bytes",
                    most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<predictor>(shape, stream);
}

}  // namespace shoal::gmm::tensor_matrix
