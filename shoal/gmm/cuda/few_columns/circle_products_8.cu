// The kernels whose warps share rows and divide components, for as many columns in a circle.
#include <shoal/gmm/cuda/few_columns/circle_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_circle_kernel_of_eight(unsigned terms) { return find_circle_kernel_of<8, false>(terms); }

std::size_t circle_shared_bytes(const circle_sizes& sizes, unsigned parts, unsigned teams) {
  return circle_places(sizes, parts, teams).bytes;
}

}  // namespace shoal::gmm::few_columns
