#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/step/factorise_in_tiles.hpp>
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
    prepare_by_blocks(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  if (!wanted(arguments)) return;
  const cuda::block_group block;
  const kernel_layout& layout = arguments.layout;
  for (unsigned k = blockIdx.x; k < layout.components; k += gridDim.x) {
    prepare_component(block, arguments, k, shared, arguments.prepared.in_double.log_constants);
    block.sync();
  }
  if (last_block(block, &arguments.state->finished_blocks))
    settle_prepared(block, arguments, arguments.prepared.in_double.log_constants);
}

template <class Scalar>
__global__ void prepare_centres(const __grid_constant__ step_arguments<Scalar> arguments) {
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
    prepare_tied_factor(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  if (!wanted(arguments)) return;
  factorise_tied(arguments, shared);
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
__global__ void prepare_after_tiles(const __grid_constant__ step_arguments<Scalar> arguments) {
  cuda::wait_for_predecessor();
  if (!wanted(arguments)) return;
  const cuda::block_group block;
  prepare_columns(block, arguments, blockIdx.x, blockIdx.y);
  if (last_block(block, &arguments.state->finished_blocks))
    settle_prepared(block, arguments, arguments.prepared.in_double.log_constants);
}

template <class Scalar>
void prepare_means(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  cuda::launch_in_turn(prepare_centres<Scalar>,
                       blocks_for(std::size_t{arguments.layout.components} * arguments.layout.columns), tied_threads, 0,
                       stream, arguments);
}

template <class Scalar>
void prepare_all(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  const kernel_layout& layout = arguments.layout;
  const step_launch launch = choose_launch(layout, arguments.multiprocessors, arguments.shared_bytes);
  if (launch.memory == step_memory::tiles) {
    prepare_means(arguments, stream);
    factorise_in_tiles(arguments, work_of_tiles(arguments), factors_of::prepared, stream);
    cuda::launch_in_turn(prepare_after_tiles<Scalar>, dim3(layout.components, tiles_of_side(layout.columns)),
                         tied_threads, 0, stream, arguments);
  } else if (layout.type == covariance_type::tied) {
    prepare_means(arguments, stream);
    cuda::launch_in_turn(prepare_tied_factor<Scalar>, 1, launch.threads, launch.shared, stream, arguments);
    cuda::launch_in_turn(prepare_tied_components<Scalar>, blocks_for(std::size_t{layout.components} * cuda::warp_size),
                         tied_threads, 0, stream, arguments);
  } else {
    const auto kernel = launch.warps ? prepare_by_warps<Scalar> : prepare_by_blocks<Scalar>;
    cuda::launch_in_turn(kernel, launch.blocks, launch.threads, launch.shared, stream, arguments);
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
