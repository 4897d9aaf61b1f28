#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/elementwise.hpp>

namespace shoal::cuda {
namespace {

constexpr unsigned threads = 256;

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

// One thread for each element, so the order of the sum is that of the parts.
__global__ void add_parts_kernel(double* into, const double* parts, std::size_t count, std::size_t others) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double sum = into[i];
  for (std::size_t part = 0; part < others; ++part) sum += parts[part * count + i];
  into[i] = sum;
}

template <class Number>
__global__ void scale_kernel(Number* values, std::size_t count, Number factor) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

template <class Number>
void launch_scale(Number* values, std::size_t count, Number factor, cudaStream_t stream) {
  if (count == 0) return;
  scale_kernel<<<blocks_for(count), threads, 0, stream>>>(values, count, factor);
  check_launch("scale");
}

}  // namespace

void add_parts(double* into, const double* parts, std::size_t count, std::size_t others, cudaStream_t stream) {
  add_parts_kernel<<<blocks_for(count), threads, 0, stream>>>(into, parts, count, others);
  check_launch("add_parts");
}

void scale(float* values, std::size_t count, float factor, cudaStream_t stream) {
  launch_scale(values, count, factor, stream);
}
void scale(double* values, std::size_t count, double factor, cudaStream_t stream) {
  launch_scale(values, count, factor, stream);
}

}  // namespace shoal::cuda
