// The moments of a chunk's rows: which kernel for which shape; and the lanes.
#include <type_traits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor/clear.hpp>
#include <shoal/gmm/cuda/tensor_float64/diagonal_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/eights.hpp>
#include <shoal/gmm/cuda/tensor_float64/matrix_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/narrow_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/triangle_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {
namespace {

std::size_t matrix_tile(const kernel_layout& layout) {
  return layout.columns <= 32 ? 32 : (layout.columns <= 64 ? 64 : 128);
}

bool has_matrices(const kernel_layout& layout) {
  return layout.type == covariance_type::full || layout.type == covariance_type::tied;
}

// Tied components add up in one triangle, so that they are no work for many warps.
template <class Scalar>
bool has_own_triangles(const kernel_layout& layout) {
  return sizeof(Scalar) == 8 && layout.type == covariance_type::full && layout.columns <= row_columns;
}

// So few that the elements of a small triangle are spread over all multiprocessors.
constexpr unsigned merge_threads = 64;

__global__ void merge(const lane_plan plan, double* statistics, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i >= plan.size) return;
  double sum = 0;
  unsigned lane = 0;
  // Many are asked for before the first is added: each addition waits for the one before.
  const auto add = [&]<unsigned Count>(std::integral_constant<unsigned, Count>) {
    for (; lane + Count <= plan.lanes; lane += Count) {
      double some[Count];
#pragma unroll
      for (unsigned l = 0; l < Count; ++l) some[l] = plan.sums[(lane + l) * plan.size + i];
#pragma unroll
      for (const double value : some) sum += value;
    }
  };
  add(std::integral_constant<unsigned, 32>());
  add(std::integral_constant<unsigned, 8>());
  add(std::integral_constant<unsigned, 1>());
  statistics[i] = sum;
}

// The same by several threads for each sum, of which each has neighbouring lanes.
constexpr unsigned merge_parts = 8, shared_sums = 32;

__global__ void __launch_bounds__(merge_parts* shared_sums)
    merge_many(const lane_plan plan, double* statistics, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  __shared__ double sums[merge_parts][shared_sums];
  const unsigned own = threadIdx.x % shared_sums, part = threadIdx.x / shared_sums;
  const std::size_t i = blockIdx.x * std::size_t{shared_sums} + own;
  const unsigned share = (plan.lanes + merge_parts - 1) / merge_parts;
  const unsigned past = min((part + 1) * share, plan.lanes);
  double sum = 0;
#pragma unroll 8
  for (unsigned lane = part * share; lane < past; ++lane) sum += i < plan.size ? plan.sums[lane * plan.size + i] : 0;
  sums[part][own] = sum;
  __syncthreads();
  if (part != 0 || i >= plan.size) return;
  for (unsigned other = 1; other < merge_parts; ++other) sum += sums[other][own];
  statistics[i] = sum;
}

}  // namespace

template <class Scalar>
std::size_t moment_blocks(const kernel_layout& layout) {
  if (has_own_triangles<Scalar>(layout)) {
    const int eights = static_cast<int>((layout.columns + 7) / 8);
    const std::size_t own =
        layout.columns > narrow_columns ? 1 : block_components(eights) / row_groups(eights, layout.components);
    return (layout.components + own - 1) / own;
  }
  if (has_matrices(layout)) {
    return triangle_tiles(layout.columns, matrix_tile(layout)) *
           (layout.type == covariance_type::tied ? 1 : layout.components);
  }
  return ((layout.columns + moment_side - 1) / moment_side) * ((layout.components + moment_side - 1) / moment_side);
}

template std::size_t moment_blocks<float>(const kernel_layout&);
template std::size_t moment_blocks<double>(const kernel_layout&);

template <class Scalar>
void launch_moments(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                    const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                    cudaStream_t stream) {
  if constexpr (sizeof(Scalar) == 8) {
    if (has_own_triangles<Scalar>(layout)) {
      return with_eights(layout.columns, [&]<int Eights>(std::integral_constant<int, Eights>) {
        if constexpr (Eights <= 8) {
          launch_narrow_moments<Eights>(layout, chunk, parameters, terms, plan, stream);
        } else {
          launch_triangle_moments<Scalar, Eights / 2>(layout, chunk, parameters, terms, plan, stream);
        }
      });
    }
  }
  const auto launch = !has_matrices(layout)       ? launch_diagonal_moments<Scalar>
                      : matrix_tile(layout) == 32 ? launch_matrix_moments<Scalar, 32>
                      : matrix_tile(layout) == 64 ? launch_matrix_moments<Scalar, 64>
                                                  : launch_matrix_moments<Scalar, 128>;
  launch(layout, chunk, parameters, terms, plan, stream);
}
template void launch_moments(const kernel_layout&, const row_chunk<float>&, const prepared_parameters<float>&,
                             const row_terms&, const lane_plan&, cudaStream_t);
template void launch_moments(const kernel_layout&, const row_chunk<double>&, const prepared_parameters<double>&,
                             const row_terms&, const lane_plan&, cudaStream_t);

void clear_lanes(const lane_plan& plan, const int* stopped, cudaStream_t stream) {
  tensor::cleared_memory cleared;
  cleared.add(plan.sums, plan.lanes * plan.size);
  tensor::clear(cleared, stopped, stream);
}

void merge_lanes(const lane_plan& plan, double* statistics, const int* stopped, cudaStream_t stream) {
  if (plan.many) {
    const auto blocks = static_cast<unsigned>((plan.size + shared_sums - 1) / shared_sums);
    return cuda::launch_in_turn(merge_many, blocks, merge_parts * shared_sums, 0, stream, plan, statistics, stopped);
  }
  const auto blocks = static_cast<unsigned>((plan.size + merge_threads - 1) / merge_threads);
  cuda::launch_in_turn(merge, blocks, merge_threads, 0, stream, plan, statistics, stopped);
}

}  // namespace shoal::gmm::tensor_float64
