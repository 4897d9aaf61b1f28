#include <cuda_runtime.h>

#include <shoal/execution/cuda/add_parts.hpp>
#include <shoal/execution/cuda/check.hpp>

namespace shoal::cuda {
namespace {

// One thread for each element, so the order of the sum is that of the parts.
__global__ void add_parts_kernel(double* into, const double* parts, std::size_t count, std::size_t others) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double sum = into[i];
  for (std::size_t part = 0; part < others; ++part) sum += parts[part * count + i];
  into[i] = sum;
}

}  // namespace

void add_parts(double* into, const double* parts, std::size_t count, std::size_t others, cudaStream_t stream) {
  constexpr unsigned threads = 256;
  add_parts_kernel<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(into, parts, count,
                                                                                                   others);
  check_launch("add_parts");
}

}  // namespace shoal::cuda
