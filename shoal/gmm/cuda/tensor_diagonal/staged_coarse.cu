// The kernels that have rows in shared memory once: eleven bits of each factor.
#include <shoal/gmm/cuda/tensor_diagonal/staged_kernel.cuh>

namespace shoal::gmm::tensor_diagonal {

staged_kernel find_coarse_staged_kernel(int columns, int components) {
  if (components <= 40) {
    if (columns <= 32) return staged_kernel_of<4, 40, 1, 3>();
    if (columns <= 40) return staged_kernel_of<5, 40, 1, 3>();
    if (columns <= 48) return staged_kernel_of<6, 40, 1, 3>();
    if (columns <= 64) return staged_kernel_of<8, 40, 1, 2>();
    if (columns <= 72) return staged_kernel_of<9, 40, 1, 2>();
    if (columns <= 96) return staged_kernel_of<12, 40, 1, 2>();
    return {};
  }
  if (components <= 64) {
    if (columns <= 32) return staged_kernel_of<4, 64, 1, 3>();
    if (columns <= 48) return staged_kernel_of<6, 64, 1, 2>();
    if (columns <= 64) return staged_kernel_of<8, 64, 1, 2>();
    if (columns <= 72) return staged_kernel_of<9, 64, 1, 2>();
    return {};
  }
  if (components <= 104) {
    if (columns <= 32) return staged_kernel_of<4, 104, 1, 2>();
    if (columns <= 48) return staged_kernel_of<6, 104, 1, 2>();
    if (columns <= 64) return staged_kernel_of<8, 104, 1, 2>();
  }
  // Two teams.
  if (components <= 256 && columns <= 24) return staged_kernel_of<3, 128, 1, 1, 2>();
  return {};
}

}  // namespace shoal::gmm::tensor_diagonal
