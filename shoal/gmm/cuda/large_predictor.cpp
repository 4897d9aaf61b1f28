// Predictions of full and tied mixtures on one GPU, by tensor cores.
#include <algorithm>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/device_predictor.hpp>
#include <shoal/gmm/cuda/large_kernels.hpp>
#include <shoal/gmm/cuda/large_problem.hpp>
#include <shoal/gmm/cuda/score_lanes.hpp>

namespace shoal::gmm {
namespace {

using namespace large;

class large_predictor final : public device_predictor<float> {
 public:
  large_predictor(const predictor_shape& shape, cudaStream_t stream)
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
    mixture_.stopped = nullptr;  // a fit that has stopped asks for the rows that fit worst
    pack_mixture(mixture_, stream);
  }

  void add(const cuda::device_piece<float>& piece, const prediction<float>& out, cudaStream_t stream) override {
    const auto columns = static_cast<std::size_t>(sizes_.columns);
    for (std::size_t first = 0; first < piece.count; first += sizes_.chunk_rows) {
      chunk rows;
      rows.rows = piece.rows + first * columns;
      rows.share_first = piece.share_first + first;
      rows.count = static_cast<int>(std::min(sizes_.chunk_rows, piece.count - first));
      expectation(mixture_, rows, stream);
      far_responsibilities(mixture_, rows, stream);
      rows.weights = piece.weights == nullptr ? nullptr : piece.weights + first;  // which count in the score alone
      write_predictions(mixture_, rows, beginning_at(out, first), score_.tiles(), stream);
      score_.add(rows.share_first, static_cast<std::size_t>(rows.count), stream);
    }
  }

  score_sums total(cudaStream_t stream) const override { return score_.total(stream); }

 private:
  prediction<float> beginning_at(const prediction<float>& out, std::size_t row) const {
    const auto components = static_cast<std::size_t>(sizes_.components);
    return {out.labels == nullptr ? nullptr : out.labels + row,
            out.probabilities == nullptr ? nullptr : out.probabilities + row * components,
            out.log_density == nullptr ? nullptr : out.log_density + row};
  }

  problem sizes_;
  expectation_buffers expectation_;
  cuda::device_buffer<double> log_densities_;
  score_lanes score_;
  problem mixture_;
};

}  // namespace

bool takes_large_predictor(const predictor_shape& shape) {
  return shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         shape.shared_bytes >= expectation_bytes(compiled_groups(shape.layout.columns()));
}

std::unique_ptr<device_predictor<float>> make_large_predictor(const predictor_shape& shape, cudaStream_t stream) {
  if (!takes_large_predictor(shape)) {
    throw bad_argument(
        fmt::format("these kernels for predictions take full and tied covariances of at most {} columns on a GPU with "
                    "enough shared "
                    "memory for a block; this mixture has {} columns, and a block may have {} bytes",
                    most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<large_predictor>(shape, stream);
}

}  // namespace shoal::gmm
