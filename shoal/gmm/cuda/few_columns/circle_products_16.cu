// The kernels whose warps share rows and divide components, for as many columns in a circle.
#include <shoal/gmm/cuda/few_columns/circle_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_circle_kernel_of_sixteen(unsigned terms, bool large) {
  return large ? find_circle_kernel_of<16, true>(terms) : find_circle_kernel_of<16, false>(terms);
}

}  // namespace shoal::gmm::few_columns
