// Makes mixtures ready for products of float64 rows of few columns: a frame, and components in it.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/float64_frame.cuh>
#include <shoal/gmm/cuda/few_columns/float64_products.hpp>

namespace shoal::gmm::few_columns {
namespace {

constexpr unsigned pack_threads = 32 * float64_pack_components;

// Each block finds the frame for itself; a warp packs a component.
__global__ void __launch_bounds__(pack_threads)
    pack_components(const float64_source source, const float64_mixture mixture) {
  cuda::wait_for_predecessor();
  __shared__ packed_component packed[float64_pack_components];
  __shared__ double origin[most_frame_columns], unit[most_frame_columns];
  find_float64_frame(source, origin, unit);
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x < source.columns) {
    mixture.origin[threadIdx.x] = origin[threadIdx.x];
    mixture.unit[threadIdx.x] = unit[threadIdx.x];
  }
  const unsigned warp = threadIdx.x / 32;
  const bool apart = pack_float64_component(source, origin, unit, blockIdx.x * float64_pack_components + warp,
                                            packed[warp], mixture.coefficients, mixture.constants);
  const bool any_apart = __syncthreads_or(apart ? 1 : 0) != 0;
  if (threadIdx.x == 0) mixture.apart[blockIdx.x] = any_apart ? 1 : 0;
}

}  // namespace

void pack_float64(const prepared_parameters<double>& parameters, covariance_type type, unsigned columns,
                  unsigned components, unsigned factor_stride, unsigned tiles, const float64_mixture& mixture,
                  cudaStream_t stream) {
  const bool matrix = type == covariance_type::full || type == covariance_type::tied;
  const covariance_type kernels = matrix ? covariance_type::full : covariance_type::diag;
  const unsigned padded = padded_float64_columns(kernels, columns);
  const float64_sizes sizes{kernels, padded, 1};
  const float64_source source{parameters.packed, matrix,        columns,          padded,
                              components,        factor_stride, sizes.features(), sizes.quads()};
  cuda::launch_in_turn(pack_components, tiles * float64_tile / float64_pack_components, pack_threads, 0, stream, source,
                       mixture);
}

}  // namespace shoal::gmm::few_columns
