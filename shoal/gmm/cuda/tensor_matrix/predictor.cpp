// Predictions of full and tied mixtures on one GPU, by tensor cores.
#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/tensor/predictor.hpp>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/problem.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tensor_matrix.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

struct prediction_room {
  using problem = tensor_matrix::problem;
  static problem sizes(const predictor_shape& shape) { return sizes_of(shape.layout, 3, shape.most_rows); }

  prediction_room(problem& sizes, cudaStream_t stream) : buffers(sizes) { buffers.clear(stream); }
  void expect(const problem& mixture, const chunk& rows, cudaStream_t stream) { expectation(mixture, rows, stream); }

  expectation_buffers buffers;
};

}  // namespace

bool suits(const predictor_shape& shape) {
  return shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         shape.shared_bytes >= expectation_bytes(compiled_groups(shape.layout.columns()));
}

std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  if (!suits(shape)) {
    throw bad_argument(
        fmt::format("these kernels for predictions take full and tied covariances of at most {} columns on a GPU with "
                    "enough shared "
                    "memory for a block; this mixture has {} columns, and a block may have {} bytes",
                    most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<room_predictor<prediction_room>>(shape, stream);
}

}  // namespace shoal::gmm::tensor_matrix
