// Rows that float32 is too coarse for, once more in float64: first their responsibilities, then their moments.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/far_rows.cuh>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

constexpr int threads = 128;

// How a chunk is arranged, for find_far_responsibilities().
struct arrangement {
  static constexpr int tile_words = 1;
  __device__ static int row_of(int bit) { return owned_row(bit); }
  // A column of U for each thread in turn.
  __device__ static double norm_of(const problem& mixture, int k, const float* row) {
    const int d = mixture.columns;
    const double* const centre = mixture.parameters.in_double.centres + static_cast<std::size_t>(k) * d;
    const double* const offset = mixture.parameters.in_double.offsets + static_cast<std::size_t>(k) * d;
    const double* const factor =
        mixture.parameters.in_double.factors + (mixture.tied ? 0 : static_cast<std::size_t>(k) * d * d);
    double norm = 0;
    for (int j = static_cast<int>(threadIdx.x) % 32; j < d; j += 32) {
      double y = offset[j];
      for (int i = 0; i <= j; ++i) {
        y = fma(factor[static_cast<std::size_t>(i) * d + j], static_cast<double>(row[i]) - centre[i], y);
      }
      norm = fma(y, y, norm);
    }
    return cuda::warp_sum(norm);
  }
  __device__ static float& term(const problem& mixture, int k, int index) {
    return mixture.terms[k * mixture.chunk_rows + static_cast<std::size_t>(index)];
  }
  __device__ static double2* sums(const problem& mixture) { return mixture.word_sums; }
};
static_assert(word_rows == 32 * arrangement::tile_words);

__global__ void __launch_bounds__(threads) responsibilities_kernel(const problem mixture, const chunk rows) {
  cuda::wait_for_predecessor();
  if (*mixture.far_found == 0) return;
  find_far_responsibilities<arrangement>(mixture, rows);
}

// One component and lane to a block: its far rows, one after the other. They have lanes of their own, because between
// the other rows their place would depend on where chunks end.
__global__ void __launch_bounds__(threads) moments_kernel(const problem mixture, const chunk rows) {
  cuda::wait_for_predecessor();
  if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) || *mixture.any_far == 0) return;
  __shared__ double z[group_columns * 16];
  const int k = static_cast<int>(blockIdx.x);
  const int lane = static_cast<int>(blockIdx.y);
  const int places = group_columns * mixture.groups;
  const int sizes = sums_size(mixture.groups);
  double* const sums = mixture.sums + (static_cast<std::size_t>(mixture.lanes + lane) * mixture.components + k) * sizes;
  const float2* const scales = mixture.moment_scales + k * places;
  const auto first_section =
      static_cast<int>(rows.share_first / mixture.section_rows % static_cast<std::size_t>(mixture.lanes));
  int section = lane - first_section;
  if (section < 0) section += mixture.lanes;
  for (; section * mixture.section_rows < rows.count; section += mixture.lanes) {
    const int first_row = section * mixture.section_rows, first_word = first_row / word_rows;
    const int words = (min(rows.count - first_row, mixture.section_rows) + word_rows - 1) / word_rows;
    for (int word = first_word; word < first_word + words; ++word) {
      for (unsigned left = mixture.far_masks[word]; left != 0; left &= left - 1) {
        const int index = word * word_rows + owned_row(__ffs(static_cast<int>(left)) - 1);
        const auto responsibility =
            static_cast<double>(mixture.terms[k * mixture.chunk_rows + static_cast<std::size_t>(index)]);
        if (!(responsibility > 0)) continue;
        __syncthreads();
        for (int place = static_cast<int>(threadIdx.x); place < places; place += threads) {
          const int column = moment_column(mixture.groups, mixture.width, place / 8, place % 8);
          const bool inside = column < mixture.columns;
          z[place] =
              inside ? (static_cast<double>(rows.rows[static_cast<std::size_t>(index) * mixture.columns + column]) -
                        mixture.parameters.in_double.centres[static_cast<std::size_t>(k) * mixture.columns + column]) *
                           static_cast<double>(scales[place].x)
                     : 0.0;
        }
        __syncthreads();
        for (int i = static_cast<int>(threadIdx.x); i < places * places; i += threads) {
          const int row = i / places;
          const int column = i % places;
          if (row > column) continue;
          double& sum = sums[sums_second(mixture.groups, row, column)];
          sum = fma(responsibility * z[row], z[column], sum);
        }
        for (int i = static_cast<int>(threadIdx.x); i < places; i += threads) {
          double& sum = sums[sums_first(mixture.groups) + i];
          sum = fma(responsibility, z[i], sum);
        }
        if (threadIdx.x == 0) sums[sums_weight(mixture.groups)] += responsibility;
      }
    }
  }
}

}  // namespace

void far_responsibilities(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  cuda::launch_in_turn(responsibilities_kernel, far_warps * 32 / threads, threads, 0, stream, mixture, rows);
}

void far_moments(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(mixture.components), static_cast<unsigned>(mixture.lanes));
  cuda::launch_in_turn(moments_kernel, grid, threads, 0, stream, mixture, rows);
}

}  // namespace shoal::gmm::tensor_matrix
