#include <cuda_runtime.h>

#include <shoal/gmm/cuda/maximise.hpp>
#include <shoal/gmm/cuda/prepare_component.cuh>
#include <shoal/gmm/cuda/step_launch.hpp>
#include <shoal/gmm/cuda/tied.cuh>

namespace shoal::gmm {
namespace {

// A component of full, diag or spherical.
template <class Group, class Scalar>
__device__ void prepare_component(const Group& group, const step_arguments<Scalar>& arguments, unsigned k,
                                  double* work) {
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
    prepare_diagonal(group, arguments, k, weight, work,
                     [=](unsigned j) { return variances[type == covariance_type::diag ? j : 0]; });
    return;
  }
  const double* const covariance = arguments.model.covariances + std::size_t{k} * d * d;
  for (unsigned element = group.rank; element < d * d; element += group.size) {
    const unsigned i = element / d, j = element % d;
    if (i <= j) work[std::size_t{i} * stride + j] = covariance[element];
  }
  group.sync();
  prepare_matrix(group, arguments, k, weight, work);
}

// By the block that is last.
template <class Scalar>
__device__ void settle_prepared(const block_group& block, const step_arguments<Scalar>& arguments) {
  shift_constants(block, arguments);
  if (block.rank != 0) return;
  const bool failed = atomicMin(&arguments.state->failure, refusal::none) != refusal::none;
  const stop_reason reason = failed ? stop_reason::failed : stop_reason::none;
  arguments.state->reason = reason;
  *arguments.prepared.stopped = static_cast<int>(reason);
}

template <class Scalar>
__global__ void __launch_bounds__(1024) prepare_by_warps(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  const warp_group warp;
  const unsigned index = threadIdx.x / warp_size;
  const unsigned k = blockIdx.x * (blockDim.x / warp_size) + index;
  if (k < arguments.layout.components) {
    prepare_component(warp, arguments, k, work_of(arguments, shared, index));
  }
  const block_group block;
  if (last_block(block, &arguments.state->finished_blocks)) settle_prepared(block, arguments);
}

template <class Scalar>
__global__ void __launch_bounds__(1024)
    prepare_by_blocks(const __grid_constant__ step_arguments<Scalar> arguments, bool in_shared) {
  extern __shared__ double shared[];
  const block_group block;
  double* const work = in_shared ? shared : work_of(arguments, static_cast<double*>(nullptr), blockIdx.x);
  for (unsigned k = blockIdx.x; k < arguments.layout.components; k += gridDim.x) {
    prepare_component(block, arguments, k, work);
    block.sync();
  }
  if (last_block(block, &arguments.state->finished_blocks)) settle_prepared(block, arguments);
}

template <class Scalar>
__global__ void prepare_tied_centres(const __grid_constant__ step_arguments<Scalar> arguments) {
  const unsigned d = arguments.layout.columns;
  const unsigned element = blockIdx.x * blockDim.x + threadIdx.x;
  if (element < arguments.layout.components * d) {
    write_centre(arguments, element / d, element % d, arguments.model.means[element]);
  }
}

template <class Scalar>
__global__ void __launch_bounds__(1024)
    prepare_tied_factor(const __grid_constant__ step_arguments<Scalar> arguments, bool in_shared) {
  extern __shared__ double shared[];
  factorise_tied(arguments, shared, in_shared);
}

template <class Scalar>
__global__ void prepare_tied_components(const __grid_constant__ step_arguments<Scalar> arguments) {
  const block_group block;
  prepare_all_tied(arguments);
  if (last_block(block, &arguments.state->finished_blocks)) settle_prepared(block, arguments);
}

template <class Scalar>
void prepare_all(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  const device_layout& layout = arguments.layout;
  if (layout.type == covariance_type::tied) {
    const step_launch launch = choose_tied_launch(layout, arguments.shared_bytes);
    allow_shared(prepare_tied_factor<Scalar>, launch.shared);
    prepare_tied_centres<<<blocks_for(std::size_t{layout.components} * layout.columns), tied_threads, 0, stream>>>(
        arguments);
    prepare_tied_factor<<<1, launch.threads, launch.shared, stream>>>(arguments, launch.shared != 0);
    prepare_tied_components<<<blocks_for(std::size_t{layout.components} * warp_size), tied_threads, 0, stream>>>(
        arguments);
    return;
  }
  const step_launch launch = choose_step_launch(layout, arguments.multiprocessors, arguments.shared_bytes);
  if (launch.warps) {
    allow_shared(prepare_by_warps<Scalar>, launch.shared);
    prepare_by_warps<<<launch.blocks, launch.threads, launch.shared, stream>>>(arguments);
  } else {
    allow_shared(prepare_by_blocks<Scalar>, launch.shared);
    prepare_by_blocks<<<launch.blocks, launch.threads, launch.shared, stream>>>(arguments, launch.shared != 0);
  }
}

}  // namespace

template <class Scalar>
void prepare(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  prepare_all(arguments, stream);
  cuda::check_launch("prepare");
}

template void prepare(const step_arguments<float>&, cudaStream_t);
template void prepare(const step_arguments<double>&, cudaStream_t);

}  // namespace shoal::gmm
