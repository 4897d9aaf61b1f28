#include <shoal/reaction_diffusion/device_states.hpp>

#include <cuda_runtime.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/reaction_diffusion/wave_speed.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr int threads = 256;
using place = unsigned long long;
constexpr place nowhere = std::numeric_limits<place>::max();

__device__ place own_place() { return static_cast<place>(blockIdx.x) * threads + threadIdx.x; }
unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

template <class Scalar>
__global__ void first_not_finite_kernel(const Scalar* values, place count, place* first) {
  const place i = own_place();
  if (i < count && !isfinite(values[i])) atomicMin(first, i);
}

// How many pairs of neighbours v = ½ lies between, and the last of them that is found.
template <class Scalar>
__global__ void crossings_kernel(const Scalar* v, place pairs, place* found) {
  const place i = own_place();
  if (i >= pairs) return;
  const double here = static_cast<double>(v[i]) - 0.5, there = static_cast<double>(v[i + 1]) - 0.5;
  if ((here < 0) == (there < 0)) return;
  atomicAdd(&found[0], 1ull);
  found[1] = i;
}

void check_place(const void* values, int device) {
  int present = 0;
  cuda::check(cudaGetDeviceCount(&present), "count the devices");
  cudaPointerAttributes found{};
  cuda::check(cudaPointerGetAttributes(&found, values), "ask where a state is");
  const bool there =
      found.type == cudaMemoryTypeManaged || (found.type == cudaMemoryTypeDevice && found.device == device);
  if (device >= 0 && device < present && there) return;
  throw bad_argument("a state is said to lie on CUDA device " + std::to_string(device) + ", where it is not");
}

// The one place where v crosses ½; nothing where there are others or none.
template <class Scalar>
std::optional<double> crossing_of(const Scalar* v, const grid& nodes, const cuda::stream& stream) {
  cuda::device_buffer<place> found(2);
  found.fill_with_zeros(stream);
  crossings_kernel<<<blocks_for(nodes.columns), threads, 0, stream>>>(v, nodes.columns - 1, found.data());
  cuda::check_launch("crossings");
  const std::vector<place> seen = found.download(2, stream);
  if (seen[0] != 1) return std::nullopt;
  std::array<Scalar, 2> beside{};
  cuda::check(cudaMemcpyAsync(beside.data(), v + seen[1], sizeof(beside), cudaMemcpyDeviceToHost, stream),
              "copy from the device");
  stream.synchronize();
  return static_cast<double>(seen[1]) * nodes.spacing + crossings(beside.data(), {1, 2, nodes.spacing}).front();
}

}  // namespace

template <class Scalar>
void require_on_device(const device_state<Scalar>& state) {
  check_place(state.v, state.device);
  check_place(state.w, state.device);
  // Whoever made them may use other streams.
  const cuda::device_scope scope(state.device);
  cuda::check(cudaDeviceSynchronize(), "finish its work");
}

template <class Scalar>
std::size_t first_not_finite(const Scalar* values, std::size_t count, int device) {
  const cuda::device_scope scope(device);
  const cuda::stream stream;
  cuda::device_buffer<place> first;
  first.upload({&nowhere, 1}, stream);
  first_not_finite_kernel<<<blocks_for(count), threads, 0, stream>>>(values, count, first.data());
  cuda::check_launch("first_not_finite");
  const place found = first.download(1, stream).front();
  return found == nowhere ? count : static_cast<std::size_t>(found);
}

template <class Scalar>
void copy_values(const Scalar* from, Scalar* to, std::size_t count) {
  const cuda::stream stream;
  cuda::check(cudaMemcpyAsync(to, from, count * sizeof(Scalar), cudaMemcpyDefault, stream), "copy a state");
  stream.synchronize();
}

template <class Scalar>
std::optional<double> wave_speed(const device_state<Scalar>& before, const device_state<Scalar>& after,
                                 double time_between, const grid& nodes) {
  if (nodes.rows > 1 || !(time_between > 0)) return std::nullopt;
  const cuda::device_scope scope(before.device);
  const cuda::stream stream;
  const std::optional<double> first = crossing_of(before.v, nodes, stream),
                              second = crossing_of(after.v, nodes, stream);
  if (!first || !second) return std::nullopt;
  return (*second - *first) / time_between;
}

template void require_on_device(const device_state<double>&);
template void require_on_device(const device_state<float>&);
template std::size_t first_not_finite(const double*, std::size_t, int);
template std::size_t first_not_finite(const float*, std::size_t, int);
template void copy_values(const double*, double*, std::size_t);
template void copy_values(const float*, float*, std::size_t);
template std::optional<double> wave_speed(const device_state<double>&, const device_state<double>&, double,
                                          const grid&);
template std::optional<double> wave_speed(const device_state<float>&, const device_state<float>&, double, const grid&);

}  // namespace shoal::reaction_diffusion
