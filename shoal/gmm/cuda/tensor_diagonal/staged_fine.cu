// The kernels that have rows in shared memory once: all digits of float32.
#include <shoal/gmm/cuda/tensor_diagonal/staged_kernel.cuh>

namespace shoal::gmm::tensor_diagonal {

staged_kernel find_fine_staged_kernel(int columns, int components) {
  if (components > 40) return {};
  if (columns <= 24) return staged_kernel_of<3, 40, 3, 3>();
  if (columns <= 32) return staged_kernel_of<4, 40, 3, 3>();
  if (columns <= 40) return staged_kernel_of<5, 40, 3, 2>();
  if (columns <= 48) return staged_kernel_of<6, 40, 3, 2>();
  return {};
}

}  // namespace shoal::gmm::tensor_diagonal
