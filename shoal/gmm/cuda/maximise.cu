#include <cuda_runtime.h>

#include <limits>

#include <shoal/gmm/cuda/maximise.hpp>
#include <shoal/gmm/cuda/prepare_component.cuh>
#include <shoal/gmm/cuda/step_launch.hpp>
#include <shoal/gmm/cuda/tied.cuh>

namespace shoal::gmm {
namespace {

// As in maximise.cpp.
constexpr double least_weight = 10 * std::numeric_limits<double>::epsilon();

// What every group finds out for itself, which is quicker than to be told.
struct verdict {
  double total = 0;    // Σ Wₖ
  bool empty = false;  // some component has no rows
};

template <class Scalar>
__device__ const double* sums_of(const step_arguments<Scalar>& arguments, unsigned k) {
  return arguments.statistics + arguments.layout.header + k * arguments.layout.component_size;
}

template <class Scalar>
__device__ double weight_of(const step_arguments<Scalar>& arguments, unsigned k) {
  return fmax(sums_of(arguments, k)[arguments.layout.weight], 0.0);
}

template <class Group, class Scalar>
__device__ verdict decide(const Group& group, const step_arguments<Scalar>& arguments) {
  double total = 0;
  bool empty = false;
  for (unsigned k = group.rank; k < arguments.layout.components; k += group.size) {
    const double weight = weight_of(arguments, k);
    total += weight;
    empty = empty || !(weight > least_weight);
  }
  return {group.sum(total), group.any(empty)};
}

__device__ unsigned triangle_row(unsigned order, unsigned row) { return row * order - row * (row + 1) / 2; }

// The new mean of a column; leaves δ and returns what the new centre leaves of the mean.
template <class Scalar>
__device__ double maximise_mean(const step_arguments<Scalar>& arguments, unsigned k, unsigned j, double delta) {
  const std::size_t at = std::size_t{k} * arguments.layout.columns + j;
  const double mean = arguments.prepared.in_double.centres[at] + delta;
  arguments.model.means[at] = mean;
  return write_centre(arguments, k, j, mean);
}

template <class Group, class Scalar>
__device__ void maximise_full(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double total,
                              double* work) {
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  const double* const sums = sums_of(arguments, k);
  const double weight = weight_of(arguments, k);
  double* const deltas = work + std::size_t{d} * stride;
  double* const covariance = arguments.model.covariances + std::size_t{k} * d * d;
  for (unsigned j = group.rank; j < d; j += group.size) {
    const double delta = sums[triangle_row(d + 1, j) + d] / weight;
    deltas[j] = delta;
    work[std::size_t{j} * stride + d] = maximise_mean(arguments, k, j, delta);
  }
  group.sync();
  for (unsigned element = group.rank; element < d * d; element += group.size) {
    const unsigned i = element / d, j = element % d;
    if (i > j) continue;
    double value = sums[triangle_row(d + 1, i) + j] / weight - deltas[i] * deltas[j];
    if (i == j) value = fmax(value, 0.0) + arguments.regularization;
    work[std::size_t{i} * stride + j] = value;
    covariance[std::size_t{i} * d + j] = value;
    covariance[std::size_t{j} * d + i] = value;
  }
  if (group.rank == 0) arguments.model.weights[k] = weight / total;
  group.sync();
  prepare_matrix(group, arguments, k, weight / total, work);
}

template <class Group, class Scalar>
__device__ void maximise_diagonal(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double total,
                                  double* rests) {
  const unsigned d = arguments.layout.columns;
  const double* const first = sums_of(arguments, k) + 1;
  const double* const second = first + d;
  const double weight = weight_of(arguments, k);
  const auto variance = [&](unsigned j) {
    const double delta = first[j] / weight;
    return fmax(second[j] / weight - delta * delta, 0.0) + arguments.regularization;
  };
  for (unsigned j = group.rank; j < d; j += group.size) {
    rests[j] = maximise_mean(arguments, k, j, first[j] / weight);
  }
  if (group.rank == 0) arguments.model.weights[k] = weight / total;
  if (arguments.layout.type == covariance_type::diag) {
    double* const variances = arguments.model.covariances + std::size_t{k} * d;
    prepare_diagonal(group, arguments, k, weight / total, rests, [&](unsigned j) {
      const double value = variance(j);
      variances[j] = value;
      return value;
    });
  } else {
    double sum = 0;
    for (unsigned j = group.rank; j < d; j += group.size) sum += variance(j);
    const double mean = group.sum(sum) / d;
    if (group.rank == 0) arguments.model.covariances[k] = mean;
    prepare_diagonal(group, arguments, k, weight / total, rests, [=](unsigned) { return mean; });
  }
}

// The record of this step, and whether others may follow. By one thread.
template <class Scalar>
__device__ void record_step(const step_arguments<Scalar>& arguments, bool empty) {
  step_state& state = *arguments.state;
  const double objective = arguments.statistics[log_likelihood_at] / arguments.statistics[total_weight_at];
  stop_reason reason = stop_reason::none;
  if (empty) {
    reason = stop_reason::empty;
  } else if (atomicMin(&state.failure, refusal::none) != refusal::none) {
    reason = stop_reason::failed;
  } else if (state.has_previous != 0 && state.tolerance != 0 && fabs(objective - state.previous) < state.tolerance) {
    reason = stop_reason::converged;
  }
  state.objectives[state.steps++] = objective;
  state.previous = objective;
  state.has_previous = 1;
  state.reason = reason;
  *arguments.prepared.stopped = static_cast<int>(reason);
}

// By the block that is last to end a step.
template <class Scalar>
__device__ void settle(const block_group& block, const step_arguments<Scalar>& arguments, bool empty) {
  if (!empty) shift_constants(block, arguments);
  if (block.rank == 0) record_step(arguments, empty);
}

template <class Group, class Scalar>
__device__ void maximise_components(const Group& group, const step_arguments<Scalar>& arguments, unsigned first,
                                    unsigned step, double* work, const verdict& found) {
  for (unsigned k = first; k < arguments.layout.components; k += step) {
    if (arguments.layout.type == covariance_type::full) {
      maximise_full(group, arguments, k, found.total, work);
    } else {
      maximise_diagonal(group, arguments, k, found.total, work);
    }
    group.sync();
  }
}

// A warp for each component.
template <class Scalar>
__global__ void __launch_bounds__(1024) maximise_by_warps(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  if (*arguments.prepared.stopped != 0) return;
  const warp_group warp;
  const unsigned index = threadIdx.x / warp_size;
  const unsigned warps = blockDim.x / warp_size;
  const verdict found = decide(warp, arguments);
  if (!found.empty) {
    maximise_components(warp, arguments, blockIdx.x * warps + index, gridDim.x * warps,
                        work_of(arguments, shared, index), found);
  }
  const block_group block;
  if (!last_block(block, &arguments.state->finished_blocks)) return;
  settle(block, arguments, found.empty);
}

// A block for each component.
template <class Scalar>
__global__ void __launch_bounds__(1024)
    maximise_by_blocks(const __grid_constant__ step_arguments<Scalar> arguments, bool in_shared) {
  extern __shared__ double shared[];
  if (*arguments.prepared.stopped != 0) return;
  const block_group block;
  const verdict found = decide(block, arguments);
  if (!found.empty) {
    double* const work = in_shared ? shared : work_of(arguments, static_cast<double*>(nullptr), blockIdx.x);
    maximise_components(block, arguments, blockIdx.x, gridDim.x, work, found);
  }
  if (!last_block(block, &arguments.state->finished_blocks)) return;
  settle(block, arguments, found.empty);
}

// Tied components: means first, since all of them have a part in the one covariance.
template <class Scalar>
__global__ void maximise_tied_means(const __grid_constant__ step_arguments<Scalar> arguments) {
  if (*arguments.prepared.stopped != 0) return;
  const verdict found = decide(block_group(), arguments);
  const unsigned d = arguments.layout.columns;
  const unsigned element = blockIdx.x * blockDim.x + threadIdx.x;
  if (found.empty || element >= arguments.layout.components * d) return;
  const unsigned k = element / d, j = element % d;
  const double weight = weight_of(arguments, k);
  const double delta = sums_of(arguments, k)[j] / weight;
  arguments.work[element] = delta;
  maximise_mean(arguments, k, j, delta);
  if (j == 0) arguments.model.weights[k] = weight / found.total;
}

template <class Scalar>
__global__ void maximise_tied_covariance(const __grid_constant__ step_arguments<Scalar> arguments) {
  if (*arguments.prepared.stopped != 0) return;
  const verdict found = decide(block_group(), arguments);
  const unsigned d = arguments.layout.columns;
  const unsigned element = blockIdx.x * blockDim.x + threadIdx.x;
  if (found.empty || element >= d * d) return;
  const unsigned i = element / d, j = element % d;
  if (i > j) return;
  double between = 0;
  for (unsigned k = 0; k < arguments.layout.components; ++k) {
    const double* const deltas = arguments.work + std::size_t{k} * d;
    between += weight_of(arguments, k) * deltas[i] * deltas[j];
  }
  double value = (arguments.statistics[arguments.layout.shared + triangle_row(d, i) + j] - between) / found.total;
  if (i == j) value = fmax(value, 0.0) + arguments.regularization;
  arguments.model.covariances[std::size_t{i} * d + j] = value;
  arguments.model.covariances[std::size_t{j} * d + i] = value;
}

template <class Scalar>
__global__ void __launch_bounds__(1024)
    factorise_tied_kernel(const __grid_constant__ step_arguments<Scalar> arguments, bool in_shared) {
  extern __shared__ double shared[];
  if (*arguments.prepared.stopped != 0) return;
  if (decide(block_group(), arguments).empty) return;
  factorise_tied(arguments, shared, in_shared);
}

template <class Scalar>
__global__ void finish_tied(const __grid_constant__ step_arguments<Scalar> arguments) {
  if (*arguments.prepared.stopped != 0) return;
  const block_group block;
  const verdict found = decide(block, arguments);
  if (!found.empty) prepare_all_tied(arguments);
  if (!last_block(block, &arguments.state->finished_blocks)) return;
  settle(block, arguments, found.empty);
}

template <class Scalar>
void maximise_tied(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  const device_layout& layout = arguments.layout;
  const std::size_t d = layout.columns;
  const step_launch launch = choose_tied_launch(layout, arguments.shared_bytes);
  allow_shared(factorise_tied_kernel<Scalar>, launch.shared);
  maximise_tied_means<<<blocks_for(layout.components * d), tied_threads, 0, stream>>>(arguments);
  maximise_tied_covariance<<<blocks_for(d * d), tied_threads, 0, stream>>>(arguments);
  factorise_tied_kernel<<<1, launch.threads, launch.shared, stream>>>(arguments, launch.shared != 0);
  finish_tied<<<blocks_for(std::size_t{layout.components} * warp_size), tied_threads, 0, stream>>>(arguments);
}

}  // namespace

std::size_t work_size(const device_layout& layout, unsigned multiprocessors, std::size_t shared_bytes) {
  if (layout.type == covariance_type::tied) {
    const bool fits = choose_tied_launch(layout, shared_bytes).shared != 0;
    return std::size_t{layout.components} * layout.columns + 1 + (fits ? 0 : group_work(layout));
  }
  const step_launch launch = choose_step_launch(layout, multiprocessors, shared_bytes);
  return launch.shared != 0 ? 0 : launch.blocks * group_work(layout);
}

template <class Scalar>
void maximise(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  if (arguments.layout.type == covariance_type::tied) {
    maximise_tied(arguments, stream);
  } else {
    const step_launch launch = choose_step_launch(arguments.layout, arguments.multiprocessors, arguments.shared_bytes);
    if (launch.warps) {
      allow_shared(maximise_by_warps<Scalar>, launch.shared);
      maximise_by_warps<<<launch.blocks, launch.threads, launch.shared, stream>>>(arguments);
    } else {
      allow_shared(maximise_by_blocks<Scalar>, launch.shared);
      maximise_by_blocks<<<launch.blocks, launch.threads, launch.shared, stream>>>(arguments, launch.shared != 0);
    }
  }
  cuda::check_launch("maximise");
}

template void maximise(const step_arguments<float>&, cudaStream_t);
template void maximise(const step_arguments<double>&, cudaStream_t);

}  // namespace shoal::gmm
