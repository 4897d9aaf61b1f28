// Predictions of diagonal and spherical mixtures on one GPU, by tensor cores.
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/problem.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

class predictor final : public device_predictor<float> {
 public:
  predictor(const predictor_shape& shape, cudaStream_t stream)
      : sizes_(sizes_of(shape.layout, 3, shape.most_rows)),
        has_products_(has_products()),
        expectation_(sizes_),
        log_densities_(sizes_.chunk_rows),
        log_sums_(sizes_.chunk_rows),
        score_(sizes_.chunk_rows, stream) {
    sizes_.negligible = prediction_cut<float>;
    sizes_.log_densities = log_densities_.data();
    sizes_.log_sums = log_sums_.data();
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
    // Which of them work depends on the mixture.
    if (has_products_) {
      expectation(mixture_, rows, stream);
      refine(mixture_, rows, stream);
    }
    expectation_apart(mixture_, rows, stream);
    far_responsibilities(mixture_, rows, stream);
    rows.weights = weights;
    write_predictions(mixture_, rows, beginning_at(out, first, static_cast<std::size_t>(sizes_.components)),
                      score_.tiles(), stream);
    score_.add(rows.share_first, static_cast<std::size_t>(rows.count), stream);
  }

  problem sizes_;
  bool has_products_;
  expectation_buffers expectation_;
  cuda::device_buffer<double> log_densities_;
  cuda::device_buffer<float> log_sums_;
  score_lanes score_;
  problem mixture_;
};

}  // namespace

bool suits(const predictor_shape& shape) {
  problem widest;
  widest.steps = most_columns / step_size;
  return !shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         (!has_products() || shape.shared_bytes >= expectation_bytes(widest));
}

std::unique_ptr<device_predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  if (!suits(shape)) {
    throw bad_argument(
        fmt::format("these kernels for predictions take diagonal and spherical covariances of at most {} columns on a "
                    "GPU with enough shared "
                    "memory for a block; this mixture has {} columns, and a block may have {} bytes",
                    most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<predictor>(shape, stream);
}

}  // namespace shoal::gmm::tensor_diagonal
