#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/step/maximise.hpp>
#include <shoal/gmm/cuda/step/prepare_component.cuh>
#include <shoal/gmm/cuda/step/step_launch.cuh>
#include <shoal/gmm/cuda/step/tied.cuh>

namespace shoal::gmm {
namespace {

// Whether there is a model to be made ready.
template <class Scalar>
__device__ bool wanted(const step_arguments<Scalar>& arguments) {
  return arguments.replaced == nullptr || *arguments.replaced != 0;
}

template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    prepare_by_warps(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  if (!wanted(arguments)) return;
  const cuda::warp_group warp;
  const kernel_layout& layout = arguments.layout;
  const unsigned index = threadIdx.x / cuda::warp_size;
  const unsigned k = blockIdx.x * (blockDim.x / cuda::warp_size) + index;
  double* const work = shared + index * component_work(layout.type, layout.columns);
  if (k < layout.components) prepare_component(warp, arguments, k, work, arguments.prepared.in_double.log_constants);
  const cuda::block_group block;
  if (last_block(block, &arguments.state->finished_blocks))
    settle_prepared(block, arguments, arguments.prepared.in_double.log_constants);
}

template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    prepare_by_blocks(const __grid_constant__ step_arguments<Scalar> arguments, step_memory memory) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  if (!wanted(arguments)) return;
  const cuda::block_group block;
  const kernel_layout& layout = arguments.layout;
  double* const work = memory != step_memory::global
                           ? shared
                           : arguments.work + blockIdx.x * component_work(layout.type, layout.columns);
  for (unsigned k = blockIdx.x; k < layout.components; k += gridDim.x) {
    prepare_component(block, arguments, k, work, arguments.prepared.in_double.log_constants);
    block.sync();
  }
  if (last_block(block, &arguments.state->finished_blocks))
    settle_prepared(block, arguments, arguments.prepared.in_double.log_constants);
}

template <class Scalar>
__global__ void prepare_tied_centres(const __grid_constant__ step_arguments<Scalar> arguments) {
  cuda::wait_for_predecessor();
  if (!wanted(arguments)) return;
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
  if (!wanted(arguments)) return;
  factorise_tied(arguments, shared, in_shared);
}

template <class Scalar>
__global__ void prepare_tied_components(const __grid_constant__ step_arguments<Scalar> arguments) {
  cuda::wait_for_predecessor();
  if (!wanted(arguments)) return;
  const cuda::block_group block;
  prepare_all_tied(arguments);
  if (last_block(block, &arguments.state->finished_blocks))
    settle_prepared(block, arguments, arguments.prepared.in_double.log_constants);
}

template <class Scalar>
void prepare_all(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  const kernel_layout& layout = arguments.layout;
  if (layout.type == covariance_type::tied) {
    const step_launch launch = choose_tied_launch(layout, arguments.shared_bytes);
    cuda::launch_in_turn(prepare_tied_centres<Scalar>, blocks_for(std::size_t{layout.components} * layout.columns),
                         tied_threads, 0, stream, arguments);
    cuda::launch_in_turn(prepare_tied_factor<Scalar>, 1, launch.threads, launch.shared, stream, arguments,
                         launch.memory == step_memory::shared);
    cuda::launch_in_turn(prepare_tied_components<Scalar>, blocks_for(std::size_t{layout.components} * cuda::warp_size),
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
