// Predictions of diagonal and spherical mixtures on one GPU, by tensor cores.
#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/tensor/predictor.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/problem.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

struct prediction_room {
  using problem = tensor_diagonal::problem;
  static problem sizes(const predictor_shape& shape) { return sizes_of(shape.layout, 3, shape.most_rows); }

  prediction_room(problem& sizes, cudaStream_t stream)
      : by_products(has_products()), buffers(sizes), log_sums(sizes.chunk_rows) {
    sizes.log_sums = log_sums.data();
    buffers.clear(stream);
  }
  // Which of them work depends on the mixture.
  void expect(const problem& mixture, const chunk& rows, cudaStream_t stream) {
    if (by_products) {
      expectation(mixture, rows, stream);
      refine(mixture, rows, stream);
    }
    expectation_apart(mixture, rows, stream);
  }

  bool by_products;
  expectation_buffers buffers;
  cuda::device_buffer<float> log_sums;
};

}  // namespace

bool suits(const predictor_shape& shape) {
  problem widest;
  widest.steps = most_columns / step_size;
  return !shape.layout.has_matrices() && shape.layout.columns() <= most_columns &&
         (!has_products() || shape.shared_bytes >= expectation_bytes(widest));
}

std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream) {
  if (!suits(shape)) {
    throw bad_argument(
        fmt::format("these kernels for predictions take diagonal and spherical covariances of at most {} columns on a "
                    "GPU with enough shared "
                    "memory for a block; this mixture has {} columns, and a block may have {} bytes",
                    most_columns, shape.layout.columns(), shape.shared_bytes));
  }
  return std::make_unique<room_predictor<prediction_room>>(shape, stream);
}

}  // namespace shoal::gmm::tensor_diagonal
