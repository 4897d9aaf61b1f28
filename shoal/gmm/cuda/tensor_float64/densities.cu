// The log-densities of a chunk's rows: which kernel for which shape.
#include <algorithm>

#include <shoal/gmm/cuda/tensor_float64/diagonal_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/matrix_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/narrow_densities.cuh>

namespace shoal::gmm::tensor_float64 {

template <class Scalar>
void launch_densities(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                      const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream) {
  const bool matrices = layout.type == covariance_type::full || layout.type == covariance_type::tied;
  if constexpr (sizeof(Scalar) == 8) {
    if (matrices && layout.columns <= narrow_columns) {
      const auto narrow = layout.columns <= 32   ? launch_narrow_densities<2>
                          : layout.columns <= 48 ? launch_narrow_densities<3>
                                                 : launch_narrow_densities<4>;
      return narrow(layout, chunk, parameters, terms, stream);
    }
  }
  const auto launch = !matrices              ? launch_diagonal_densities<Scalar>
                      : layout.columns <= 32 ? launch_matrix_densities<Scalar, 32>
                      : layout.columns <= 64 ? launch_matrix_densities<Scalar, 64>
                                             : launch_matrix_densities<Scalar, 128>;
  launch(layout, chunk, parameters, terms, stream);
}
template void launch_densities(const kernel_layout&, const row_chunk<float>&, const prepared_parameters<float>&,
                               const row_terms&, cudaStream_t);
template void launch_densities(const kernel_layout&, const row_chunk<double>&, const prepared_parameters<double>&,
                               const row_terms&, cudaStream_t);

void launch_wanted_densities(const kernel_layout& layout, const row_chunk<float>& chunk,
                             const prepared_parameters<float>& parameters, const row_terms& terms, const int* wanted,
                             const int* any, unsigned processors, cudaStream_t stream) {
  constexpr int width = 128;
  constexpr int bytes = 2 * sizeof(density_stage<width>);
  const auto kernel = wanted_densities<float, width>;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "give a kernel shared memory");
  // Mostly there are none.
  const auto tiles = static_cast<unsigned>((chunk.count + density_rows - 1) / density_rows);
  const dim3 blocks(std::min(tiles, (processors + layout.components - 1) / layout.components), layout.components);
  kernel<<<blocks, threads, bytes, stream>>>(layout, chunk, parameters.in_double, terms, wanted, any,
                                             parameters.stopped);
  cuda::check_launch("wanted_densities");
}

}  // namespace shoal::gmm::tensor_float64
