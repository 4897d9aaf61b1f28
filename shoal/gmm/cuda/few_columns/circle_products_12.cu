// The kernels whose warps share rows and divide components, for as many columns in a circle.
#include <shoal/gmm/cuda/few_columns/circle_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_circle_kernel_of_twelve(unsigned terms) { return find_circle_kernel_of<12, false>(terms); }

}  // namespace shoal::gmm::few_columns
