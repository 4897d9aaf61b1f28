// Predictions of full and tied mixtures from what expectation() left.
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/write_predictions.cuh>

namespace shoal::gmm::tensor_matrix {
namespace {

struct found_rows {
  const float* terms;
  std::size_t chunk_rows;
  const float2* shifts;
  const unsigned* far_masks;
  const double* log_densities;

  struct found_row {
    const float* terms;
    std::size_t chunk_rows;
    float2 shift;
    bool far;  // its terms are responsibilities

    __device__ float term(unsigned k) const { return terms[k * chunk_rows]; }
    __device__ float responsibility(float term) const {
      const float logarithm = term - shift.x - shift.y;
      return far ? fmaxf(term, 0.0F)
                 : (logarithm >= -static_cast<float>(prediction_cut<float>) ? __expf(logarithm) : 0.0F);
    }
  };
  __device__ found_row of(unsigned row) const {
    const int owner = owner_of(static_cast<int>(row % word_rows));
    return {terms + row, chunk_rows, shifts[row], (far_masks[row / word_rows] >> owner & 1) != 0};
  }
};

}  // namespace

void write_predictions(const problem& mixture, const chunk& rows, const prediction<float>& out, double* tiles,
                       cudaStream_t stream) {
  const found_rows found{mixture.terms, mixture.chunk_rows, mixture.shifts, mixture.far_masks, mixture.log_densities};
  gmm::write_predictions<<<static_cast<unsigned>(score_tiles(static_cast<std::size_t>(rows.count))), prediction_threads,
                           0, stream>>>(found, rows.weights, static_cast<unsigned>(rows.count),
                                        static_cast<unsigned>(mixture.components), out, tiles);
  cuda::check_launch("write_predictions");
}

}  // namespace shoal::gmm::tensor_matrix
