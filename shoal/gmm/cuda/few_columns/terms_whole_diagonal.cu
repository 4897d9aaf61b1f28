// The kernels for few columns whose warps have densities under all components: diagonal covariances.
#include <shoal/gmm/cuda/few_columns/term_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_diagonal_whole_kernel(unsigned tiles) { return find_whole_kernel_of<covariance_type::diag>(tiles); }

}  // namespace shoal::gmm::few_columns
