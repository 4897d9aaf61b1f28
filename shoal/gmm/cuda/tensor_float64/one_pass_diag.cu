// Float32 rows read once: Diagonal covariances.
#include <shoal/gmm/cuda/tensor_float64/one_pass.cuh>

namespace shoal::gmm::tensor_float64 {

void one_pass_diag(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                   const prepared_parameters<float>& parameters, const row_terms& terms, const lane_plan& plan,
                   cudaStream_t stream) {
  launch_some_pass<false>(layout, chunk, frame, parameters, terms, plan, stream);
}

}  // namespace shoal::gmm::tensor_float64
