#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/elementwise.hpp>
#include <shoal/execution/cuda/launch.cuh>

namespace shoal::cuda {
namespace {

constexpr unsigned threads = 256;

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

constexpr std::size_t most_parts = 16;  // of one launch

struct part_list {
  const double* of[most_parts];
  unsigned count;
};

// One thread for each element, so the order of the sum is that of the parts.
__global__ void add_parts_kernel(double* into, const __grid_constant__ part_list parts, std::size_t count) {
  wait_for_predecessor();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double sum = into[i];
  for (unsigned part = 0; part < parts.count; ++part) sum += parts.of[part][i];
  into[i] = sum;
}

__global__ void copy_words_kernel(std::uint32_t* to, const std::uint32_t* from, std::size_t count) {
  wait_for_predecessor();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
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

void add_parts(double* into, std::span<const double* const> parts, std::size_t count, cudaStream_t stream) {
  for (std::size_t first = 0; first < parts.size(); first += most_parts) {
    part_list some{};
    some.count = static_cast<unsigned>(std::min(most_parts, parts.size() - first));
    for (unsigned part = 0; part < some.count; ++part) some.of[part] = parts[first + part];
    launch_in_turn(add_parts_kernel, blocks_for(count), threads, 0, stream, into, some, count);
  }
}

void copy_words(std::uint32_t* to, const std::uint32_t* from, std::size_t count, cudaStream_t stream) {
  launch_in_turn(copy_words_kernel, blocks_for(count), threads, 0, stream, to, from, count);
}

void scale(float* values, std::size_t count, float factor, cudaStream_t stream) {
  launch_scale(values, count, factor, stream);
}
void scale(double* values, std::size_t count, double factor, cudaStream_t stream) {
  launch_scale(values, count, factor, stream);
}

}  // namespace shoal::cuda
