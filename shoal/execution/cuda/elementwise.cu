#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/elementwise.hpp>
#include <shoal/execution/cuda/launch.cuh>

namespace shoal::cuda {
namespace {

constexpr unsigned threads = 256;

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

constexpr std::size_t most_parts = 16;  // of one launch

template <class Element>
struct part_list {
  const Element* of[most_parts];
  unsigned count;
};

// One thread for each element, so the order of the sum is that of the parts.
template <class Element>
__global__ void sum_parts_kernel(Element* into, const __grid_constant__ part_list<Element> parts, std::size_t count) {
  wait_for_predecessor();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Element sum = parts.of[0][i];
  for (unsigned part = 1; part < parts.count; ++part) sum += parts.of[part][i];
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

template <class Element>
void sum_parts(Element* into, std::span<const Element* const> parts, std::size_t count, cudaStream_t stream) {
  for (std::size_t next = 0; next < parts.size();) {
    part_list<Element> some{};
    if (next > 0) some.of[some.count++] = into;  // the sum of those before
    while (next < parts.size() && some.count < most_parts) some.of[some.count++] = parts[next++];
    launch_in_turn(sum_parts_kernel<Element>, blocks_for(count), threads, 0, stream, into, some, count);
  }
}
template void sum_parts(double*, std::span<const double* const>, std::size_t, cudaStream_t);
template void sum_parts(long long*, std::span<const long long* const>, std::size_t, cudaStream_t);

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
