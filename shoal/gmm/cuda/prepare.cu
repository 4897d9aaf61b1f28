#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/maximise.hpp>
#include <shoal/gmm/cuda/prepare_component.cuh>
#include <shoal/gmm/cuda/step_launch.cuh>
#include <shoal/gmm/cuda/tied.cuh>

namespace shoal::gmm {
namespace {

// A component of full, diag or spherical.
template <class Group, class Scalar>
__device__ void prepare_component(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double* work,
                                  double* constants) {
  const covariance_type type = arguments.layout.type;
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  const double weight = arguments.model.weights[k];
  const bool full = type == covariance_type::full;
  for (unsigned j = group.rank; j < d; j += group.size) {
    const double rest = write_centre(arguments, k, j, arguments.model.means[std::size_t{k} * d + j]);
    work[full ? std::size_t{j} * stride + d : j] = rest;
  }
  if (!full) {
    const double* const variances =
        arguments.model.covariances + (type == covariance_type::diag ? std::size_t{k} * d : k);
    prepare_diagonal(
        group, arguments, k, weight, work, [=](unsigned j) { return variances[type == covariance_type::diag ? j : 0]; },
        constants);
    return;
  }
  const double* const covariance = arguments.model.covariances + std::size_t{k} * d * d;
  for (unsigned element = group.rank; element < d * d; element += group.size) {
    const unsigned i = element / d, j = element % d;
    if (i <= j) work[std::size_t{i} * stride + j] = covariance[element];
  }
  group.sync();
  prepare_matrix(group, arguments, k, weight, work, constants);
}

// By the block that is last.
template <class Scalar>
__device__ void settle_prepared(const block_group& block, const step_arguments<Scalar>& arguments) {
  const refusal::code failure = __ldcg(&arguments.state->failure);
  shift_constants(block, arguments, arguments.prepared.in_double.log_constants);
  if (block.rank != 0) return;
  const stop_reason reason = failure == refusal::none ? stop_reason::none : stop_reason::failed;
  arguments.state->reason = reason;
  *arguments.prepared.stopped = static_cast<int>(reason);
}

template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    prepare_by_warps(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  const warp_group warp;
  const device_layout& layout = arguments.layout;
  const unsigned index = threadIdx.x / warp_size;
  const unsigned k = blockIdx.x * (blockDim.x / warp_size) + index;
  double* const work = shared + index * component_work(layout.type, layout.columns);
  if (k < layout.components) prepare_component(warp, arguments, k, work, arguments.prepared.in_double.log_constants);
  const block_group block;
  if (last_block(block, &arguments.state->finished_blocks)) settle_prepared(block, arguments);
}

template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    prepare_by_blocks(const __grid_constant__ step_arguments<Scalar> arguments, step_memory memory) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  const block_group block;
  const device_layout& layout = arguments.layout;
  double* const work = memory != step_memory::global
                           ? shared
                           : arguments.work + blockIdx.x * component_work(layout.type, layout.columns);
  for (unsigned k = blockIdx.x; k < layout.components; k += gridDim.x) {
    prepare_component(block, arguments, k, work, arguments.prepared.in_double.log_constants);
    block.sync();
  }
  if (last_block(block, &arguments.state->finished_blocks)) settle_prepared(block, arguments);
}

template <class Scalar>
__global__ void prepare_tied_centres(const __grid_constant__ step_arguments<Scalar> arguments) {
  cuda::wait_for_predecessor();
  const unsigned d = arguments.layout.columns;
  const unsigned element = blockIdx.x * blockDim.x + threadIdx.x;
  if (element < arguments.layout.components * d) {
    write_centre(arguments, element / d, element % d, arguments.model.means[element]);
  }
}

template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    prepare_tied_factor(const __grid_constant__ step_arguments<Scalar> arguments, bool in_shared) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  factorise_tied(arguments, shared, in_shared);
}

template <class Scalar>
__global__ void prepare_tied_components(const __grid_constant__ step_arguments<Scalar> arguments) {
  cuda::wait_for_predecessor();
  const block_group block;
  prepare_all_tied(arguments);
  if (last_block(block, &arguments.state->finished_blocks)) settle_prepared(block, arguments);
}

template <class Scalar>
void prepare_all(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  const device_layout& layout = arguments.layout;
  if (layout.type == covariance_type::tied) {
    const step_launch launch = choose_tied_launch(layout, arguments.shared_bytes);
    cuda::launch_in_turn(prepare_tied_centres<Scalar>, blocks_for(std::size_t{layout.components} * layout.columns),
                         tied_threads, 0, stream, arguments);
    cuda::launch_in_turn(prepare_tied_factor<Scalar>, 1, launch.threads, launch.shared, stream, arguments,
                         launch.memory == step_memory::shared);
    cuda::launch_in_turn(prepare_tied_components<Scalar>, blocks_for(std::size_t{layout.components} * warp_size),
                         tied_threads, 0, stream, arguments);
    return;
  }
  const step_launch launch = choose_step_launch(layout, arguments.multiprocessors, arguments.shared_bytes);
  if (launch.warps) {
    cuda::launch_in_turn(prepare_by_warps<Scalar>, launch.blocks, launch.threads, launch.shared, stream, arguments);
  } else {
    cuda::launch_in_turn(prepare_by_blocks<Scalar>, launch.blocks, launch.threads, launch.shared, stream, arguments,
                         launch.memory);
  }
}

}  // namespace

template <class Scalar>
void prepare(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  prepare_all(arguments, stream);
}

template void prepare(const step_arguments<float>&, cudaStream_t);
template void prepare(const step_arguments<double>&, cudaStream_t);

}  // namespace shoal::gmm
