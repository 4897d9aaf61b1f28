// Predictions of diagonal and spherical mixtures from what the expectation steps of large_diagonal left.
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/cuda/write_predictions.cuh>

namespace shoal::gmm::tensor_diagonal {
namespace {

struct found_rows {
  const float* terms;
  int tiles;
  int components;
  const int* arrangement;
  const float* shifts;
  const float* log_sums;
  const unsigned* far_masks;
  const unsigned* kept;
  const double* log_densities;

  struct found_row {
    const float* terms;
    int tiles;
    int components;
    int row;
    float shift;
    float log_sum;
    bool far;              // its terms are responsibilities
    const unsigned* kept;  // null where all terms count

    __device__ float term(unsigned component) const {
      const int k = static_cast<int>(component);
      if (kept != nullptr && (kept[kept_place(components, k, row)] >> row % 32 & 1) == 0) return -INFINITY;
      return terms[term_place(tiles, k, row)];
    }
    __device__ float responsibility(float term) const {
      const float logarithm = term - shift - log_sum;
      constexpr float least = -static_cast<float>(prediction_cut<float>) * log2_of_e;
      return far ? fmaxf(term, 0.0F) : (logarithm >= least ? power_of_two(logarithm) : 0.0F);
    }
  };
  __device__ found_row of(unsigned row) const {
    const bool far = (far_masks[row / 32] >> row % 32 & 1) != 0;
    const bool all = far || *arrangement == common_frame;
    return {terms, tiles, components, static_cast<int>(row), shifts[row], log_sums[row], far, all ? nullptr : kept};
  }
};

}  // namespace

void write_predictions(const problem& mixture, const chunk& rows, const prediction<float>& out, double* tiles,
                       cudaStream_t stream) {
  const found_rows found{mixture.terms,    mixture.tiles,     mixture.components, mixture.arrangement,  mixture.shifts,
                         mixture.log_sums, mixture.far_masks, mixture.kept,       mixture.log_densities};
  gmm::write_predictions<<<static_cast<unsigned>(score_tiles(static_cast<std::size_t>(rows.count))), prediction_threads,
                           0, stream>>>(found, rows.weights, static_cast<unsigned>(rows.count),
                                        static_cast<unsigned>(mixture.components), out, tiles);
  cuda::check_launch("write_predictions");
}

}  // namespace shoal::gmm::tensor_diagonal
