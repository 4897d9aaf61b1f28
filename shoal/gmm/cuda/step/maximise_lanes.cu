#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/cluster.cuh>
#include <shoal/execution/cuda/early_start.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/step/maximise_lanes.hpp>
#include <shoal/gmm/cuda/step/settle.cuh>

namespace shoal::gmm {
namespace {

using few_columns::lane_parts;
using few_columns::neighbouring_parts;

constexpr unsigned most_blocks = 16;  // the largest cluster of this generation
constexpr unsigned most_order = 8;
constexpr unsigned block_threads = 256;
constexpr unsigned most_sums = 64;  // of a component of most_order columns, with the head of the statistics: 49
constexpr unsigned part_groups = lane_parts / neighbouring_parts;
constexpr unsigned groups_of_thread = part_groups / (block_threads / most_sums);
constexpr unsigned lanes_ahead = 5;  // of each part are asked for at once: all where a multiprocessor has one lane

// What each warp of a block does between the sums and the new model. Two factorise the same matrix, so that roots need
// not wait for logarithms.
enum role : unsigned {
  factor_role,
  constant_role,
  matrix_role,
  second_matrix_role,
  mean_role,
  record_role,
  share_role
};

// A block's shared memory. Order: columns, padded by those of a unit matrix.
template <unsigned Order>
struct lanes_memory {
  double groups[part_groups][most_sums];
  double sums[most_sums];
  double matrix[Order][Order + 1];  // Σ | μ − c
  double roots[Order];
  double weights[most_blocks];    // Wₖ of all components, sent by their blocks
  double constants[most_blocks];  // the same of the log-constants, to the first block
  double notes[most_blocks];      // and of what else it must know, a sum of the two below
  unsigned long long weights_here;
  unsigned long long ends_here;
  double logarithm;  // of the component's share
  bool empty;
  bool refused;
};

constexpr double moved_far = 1, has_refused = 2;

// The sums of a component in the lanes, and those of the head for the first.
struct own_sums {
  unsigned head;
  unsigned count;
  std::size_t begin;

  __device__ own_sums(const kernel_layout& layout, unsigned k)
      : head(k == 0 ? static_cast<unsigned>(layout.header) : 0),
        count(head + static_cast<unsigned>(layout.component_size)),
        begin(layout.header + k * layout.component_size - head) {}
};

// A thread's share of the lanes, as groups of parts.
template <unsigned Order>
__device__ void add_parts(const lane_array& lanes, std::size_t lane_size, const own_sums& own,
                          lanes_memory<Order>& memory) {
  const unsigned element = threadIdx.x % most_sums, first_group = threadIdx.x / most_sums * groups_of_thread;
  if (element >= own.count) return;
  constexpr unsigned parts = groups_of_thread * neighbouring_parts;
  const double* const from = lanes.values + own.begin + element;
  const unsigned first = first_group * neighbouring_parts, count = static_cast<unsigned>(lanes.count);
  double sums[parts] = {};
  for (unsigned start = 0; start < count; start += lanes_ahead * lane_parts) {
    double values[lanes_ahead][parts];
#pragma unroll
    for (unsigned turn = 0; turn < lanes_ahead; ++turn) {
#pragma unroll
      for (unsigned part = 0; part < parts; ++part) {
        const unsigned lane = start + turn * lane_parts + first + part;
        values[turn][part] = lane < count ? __ldcg(from + lane * lane_size) : 0;
      }
    }
#pragma unroll
    for (unsigned turn = 0; turn < lanes_ahead; ++turn) {
#pragma unroll
      for (unsigned part = 0; part < parts; ++part) sums[part] += values[turn][part];
    }
  }
#pragma unroll
  for (unsigned group = 0; group < groups_of_thread; ++group) {
    const double* const four = sums + group * neighbouring_parts;
    memory.groups[first_group + group][element] = (four[0] + four[1]) + (four[2] + four[3]);
  }
}

// Sums over the first eight lanes of a warp, or sixteen, with the bits of warp_sum() where the others hold zeros.
__device__ double sum_of_few(double value, unsigned count) {
  for (unsigned step = count > most_order ? most_order : most_order / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(cuda::every_lane, value, step);
  }
  return value;
}

// As decide(), by a warp whose lane k < K is given Wₖ.
__device__ verdict decide_few(double weight, unsigned K) {
  const bool inside = threadIdx.x % cuda::warp_size < K;
  const double total = sum_of_few(inside ? weight : 0, K);
  return {__shfl_sync(cuda::every_lane, total, 0),
          __any_sync(cuda::every_lane, inside && !(weight > least_weight)) != 0};
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // what has clusters

template <class Scalar, unsigned Order>
__device__ void end_step(const step_arguments<Scalar>& arguments, const lane_array& lanes, double* statistics) {
  __shared__ lanes_memory<Order> memory;
  const kernel_layout& layout = arguments.layout;
  const unsigned K = layout.components, d = layout.columns, k = blockIdx.x;
  const unsigned warp = threadIdx.x / cuda::warp_size, lane = threadIdx.x % cuda::warp_size;
  // The element of the matrix that a thread of its two warps has.
  const unsigned i = (threadIdx.x - matrix_role * cuda::warp_size) / most_order, j = threadIdx.x % most_order;
  const bool has_element = (warp == matrix_role || warp == second_matrix_role) && i < d && j < d;
  const bool has_mean = warp == mean_role && lane < d;
  const bool has_weight = warp == mean_role && lane == cuda::warp_size - 1;
  const bool records = warp == record_role && lane == 0 && k == 0;
  if (threadIdx.x == 0) {
    memory.refused = false;
    cuda::make_barrier(&memory.weights_here, 1);
    cuda::make_barrier(&memory.ends_here, 1);
    cuda::expect(&memory.weights_here, K * sizeof(double));
    cuda::expect(&memory.ends_here, 2 * K * sizeof(double));
    cuda::publish_barriers();
  }
  __syncwarp();
  cuda::come_together();

  // The model and the state are those that the launch before the sums' left, and that one is done when this one begins.
  double* at = nullptr;
  if (has_element) at = arguments.model.covariances + (std::size_t{k} * d + i) * d + j;
  if (has_mean) at = arguments.model.means + std::size_t{k} * d + lane;
  if (has_weight) at = arguments.model.weights + k;
  const double kept = at == nullptr ? 0 : __ldcg(at);
  const double centre = has_mean ? __ldcg(arguments.prepared.in_double.centres + std::size_t{k} * d + lane) : 0;
  step_start start;
  if (records) start = read_start(*arguments.state);

  cuda::wait_for_predecessor();
  const int stopped = *arguments.prepared.stopped;
  const own_sums own(layout, k);
  add_parts(lanes, layout.header + K * layout.component_size, own, memory);
  __syncwarp();
  cuda::wait_together();
  if (stopped != 0) return;
  __syncthreads();
  if (threadIdx.x < own.count) {
    double sum = memory.groups[0][threadIdx.x];
#pragma unroll
    for (unsigned group = 1; group < part_groups; ++group) sum += memory.groups[group][threadIdx.x];
    memory.sums[threadIdx.x] = sum;
    statistics[own.begin + threadIdx.x] = sum;
    if (threadIdx.x == own.head + layout.weight) {
      for (unsigned block = 0; block < K; ++block) {
        cuda::send(memory.weights + k, fmax(sum, 0.0), &memory.weights_here, block);
      }
    }
  }
  __syncthreads();

  // The new matrix and means, in shared memory.
  const double* const sums = memory.sums + own.head;
  const double weight = fmax(sums[layout.weight], 0.0);
  const double share = 1 / weight;
  const auto delta_of = [&](unsigned column) { return __dmul_rn(sums[triangle_row(d + 1, column) + d], share); };
  bool far = false;
  double value = 0;
  if (warp == matrix_role || warp == second_matrix_role) {
    if (has_element && i <= j) {
      const double delta = delta_of(i);
      value = __fma_rn(sums[triangle_row(d + 1, i) + j], share, -__dmul_rn(delta, delta_of(j)));
      if (i == j) {
        far = squared(delta) > value;
        value = fmax(value, 0.0) + arguments.regularization;
      }
    }
    if (i < Order && j < Order) memory.matrix[i][j] = has_element || i != j ? value : 1;
  } else if (warp == mean_role && lane < Order) {
    double rest = 0;
    if (has_mean) {
      value = __dadd_rn(centre, delta_of(lane));
      rest = value - static_cast<double>(static_cast<Scalar>(value));
    }
    memory.matrix[lane][Order] = rest;
  }
  far = __syncthreads_or(far) != 0;

  // Its factor, while the other warps learn whether there is to be a new model, and write it.
  double column[Order];
  double own_pivot = 1, logarithms = 0;
  bool good = true;
  if (warp == factor_role || warp == constant_role) {
    const panel_pivots<Order> pivots(&memory.matrix[0][0], Order + 1);
#pragma unroll
    for (unsigned s = 0; s < Order; ++s) own_pivot = lane == s ? pivots.pivot[s] : own_pivot;
    const bool has_pivot = lane < d;
    good = __all_sync(cuda::every_lane, !has_pivot || (own_pivot > 0 && !isinf(own_pivot))) != 0;
    if (warp == factor_role) {
      if (lane < Order) memory.roots[lane] = 1 / sqrt(own_pivot);
      pivots.column_of(&memory.matrix[0][0], Order + 1, 0, min(lane, Order), column);
    } else {
      logarithms = sum_of_few(has_pivot ? __fma_rn(log(own_pivot), -0.5, 0.0) : 0, most_order);
    }
  } else {
    cuda::wait(&memory.weights_here, 0);
    const verdict found = decide_few(memory.weights[lane % most_blocks], K);
    if (warp == share_role && lane == 0) {
      memory.empty = found.empty;
      memory.logarithm = log(weight / found.total);
    }
    if (!found.empty && at != nullptr) {
      at[arguments.before.weights - arguments.model.weights] = kept;  // both are one buffer of the same layout
      if (has_weight) *at = weight / found.total;
      if (has_mean) {
        *at = value;
        write_centre(arguments, k, lane, value);
        if (!isfinite(static_cast<Scalar>(value))) {
          __threadfence();
          memory.refused = true;
        }
      }
      if (has_element && i <= j) {
        *at = value;
        arguments.model.covariances[(std::size_t{k} * d + j) * d + i] = value;
      }
    }
  }
  __syncthreads();

  if (warp == factor_role) {
    bool finite = true;
    if (!memory.empty && good && lane <= Order && (lane < d || lane == Order)) {
      const std::size_t row = (std::size_t{k} * d + lane) * d;
#pragma unroll
      for (unsigned s = 0; s < Order; ++s) {
        if (s >= d) break;
        const double root = memory.roots[s];
        if (lane == Order) {
          write_offset(arguments.prepared, std::size_t{k} * d + s, -column[s] * root);
        } else {
          const double written = lane < s ? column[s] * root : (lane == s ? root : 0);
          finite = finite && isfinite(written);
          write_factor(arguments.prepared, row + s, written);
        }
      }
    }
    finite = __all_sync(cuda::every_lane, finite) != 0;
    if (lane == 0) {
      bool refused = memory.refused;
      if (!memory.empty && !(good && finite)) {
        refuse(arguments, good ? refusal::singular : refusal::indefinite, k, 0);
        __threadfence();
        refused = true;
      }
      cuda::send(memory.notes + k, (far ? moved_far : 0) + (refused ? has_refused : 0), &memory.ends_here, 0);
    }
  } else if (warp == constant_role && lane == 0) {
    cuda::send(memory.constants + k, memory.logarithm + logarithms, &memory.ends_here, 0);
  }
  if (k != 0) {
    __syncwarp();
    cuda::come_with_writes();
    return;
  }

  cuda::wait(&memory.ends_here, 0);
  bool some_far = false, some_refused = false;
  for (unsigned other = 0; other < K; ++other) {
    const double note = memory.notes[other];
    some_refused = some_refused || note >= has_refused;
    some_far = some_far || note == moved_far || note == moved_far + has_refused;
  }
  const cuda::block_group block;
  const refusal::code failure = some_refused ? __ldcg(&arguments.state->failure) : refusal::none;
  if (!memory.empty) shift_constants(block, arguments, memory.constants);
  bool jumped = false;
  if (!memory.empty && some_far) {
    cuda::come_together();
    cuda::wait_together();  // the other blocks' model is to be seen
    jumped = find_jump(block, arguments, failure != refusal::none);
  }
  if (!records) return;
  start.objective = memory.sums[log_likelihood_at] / memory.sums[total_weight_at];
  record_step(arguments, start, memory.empty, jumped, failure);
}

#endif

// A cluster of a block for each component.
template <class Scalar, unsigned Order>
__global__ void __launch_bounds__(block_threads, 2)
    maximise_lanes_kernel(const __grid_constant__ step_arguments<Scalar> arguments, lane_array lanes,
                          double* statistics) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  end_step<Scalar, Order>(arguments, lanes, statistics);
#endif
}

template <class Scalar>
using lanes_kernel = void (*)(step_arguments<Scalar>, lane_array, double*);

template <class Scalar>
lanes_kernel<Scalar> kernel_for(const kernel_layout& layout) {
  return layout.columns <= most_order / 2 ? maximise_lanes_kernel<Scalar, most_order / 2>
                                          : maximise_lanes_kernel<Scalar, most_order>;
}

// A launch by a cluster; it keeps pointers to itself.
struct cluster_launch {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t configuration{};

  cluster_launch(unsigned blocks, cudaStream_t stream) {
    configuration.gridDim = dim3(blocks);
    configuration.blockDim = dim3(block_threads);
    configuration.stream = stream;
    cuda::start_early(configuration, attributes[0]);
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {blocks, 1, 1};
    configuration.attrs = attributes;
    configuration.numAttrs = 2;
  }
  cluster_launch(const cluster_launch&) = delete;
};

}  // namespace

template <class Scalar>
bool can_maximise_lanes(const kernel_layout& layout) {
  if (layout.type != covariance_type::full || layout.columns > most_order || layout.components > most_blocks) {
    return false;
  }
  int device = 0, clusters = 0, running = 0;
  cuda::check(cudaGetDevice(&device), "name the current device");
  cuda::check(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device), "say whether it has clusters");
  if (clusters == 0) return false;
  const lanes_kernel<Scalar> kernel = kernel_for<Scalar>(layout);
  // Clusters of more than eight blocks have to be asked for, and not every GPU has room for one.
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "allow large clusters");
  // Multiprocessors that must divide their memory in another way between two kernels first run dry.
  cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "divide the memory of a multiprocessor");
  const cluster_launch launch(layout.components, nullptr);
  if (cudaOccupancyMaxActiveClusters(&running, kernel, &launch.configuration) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return running > 0;
}
template bool can_maximise_lanes<float>(const kernel_layout&);
template bool can_maximise_lanes<double>(const kernel_layout&);

template <class Scalar>
void maximise_lanes(const step_arguments<Scalar>& arguments, const lane_array& lanes, double* statistics,
                    cudaStream_t stream) {
  const cluster_launch launch(arguments.layout.components, stream);
  cuda::check(
      cudaLaunchKernelEx(&launch.configuration, kernel_for<Scalar>(arguments.layout), arguments, lanes, statistics),
      "launch the end of a step");
}
template void maximise_lanes(const step_arguments<float>&, const lane_array&, double*, cudaStream_t);
template void maximise_lanes(const step_arguments<double>&, const lane_array&, double*, cudaStream_t);

}  // namespace shoal::gmm
