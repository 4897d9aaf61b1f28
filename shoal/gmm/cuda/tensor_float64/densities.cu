// The log-densities of a chunk's rows: which kernel for which shape.
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

}  // namespace shoal::gmm::tensor_float64
