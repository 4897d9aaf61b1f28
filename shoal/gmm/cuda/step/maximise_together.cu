// The end of a step of tied components by a cluster: the first block eliminates their matrix, which the others make,
// and while it does they write the model down; then they write the factor. One block by itself waits for memory as long
// as for the elimination.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/cluster.cuh>
#include <shoal/execution/cuda/early_start.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/step/maximise_together.hpp>
#include <shoal/gmm/cuda/step/settle.cuh>
#include <shoal/gmm/cuda/step/step_launch.cuh>

namespace shoal::gmm {
namespace {

constexpr unsigned cluster_blocks = 8, workers = cluster_blocks - 1;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // what has clusters

// The shared memory of each block.
struct tied_memory {
  double* constants;  // [K] Wₖ, then the log-constants
  double* deltas;     // [K][d]
  double* rests;      // [K][d] μ − c
  double* matrix;     // [d][matrix_stride()] of the first block; of the others, what they made of it or read from it
  double* roots;      // [d], and what eliminate() needs

  __device__ tied_memory(double* shared, unsigned K, unsigned d)
      : constants(shared),
        deltas(constants + K),
        rests(deltas + K * d),
        matrix(rests + K * d),
        roots(matrix + d * matrix_stride(d)) {}
};

template <class Scalar>
__device__ double mean_of(const step_arguments<Scalar>& arguments, const tied_memory& memory, unsigned element) {
  return arguments.prepared.in_double.centres[element] + memory.deltas[element];
}

// Worker w makes rows w, w + workers, … of the upper triangle.
template <class Use>
__device__ void for_each_element(const cuda::block_group& block, unsigned worker, unsigned d, const Use& use) {
  const cuda::group_grid grid(block, d);
  for (unsigned i = worker + grid.row * workers; i < d; i += grid.rows * workers) {
    for (unsigned j = grid.column; j < d; j += grid.columns) {
      if (i <= j) use(i, j);
    }
  }
}

template <class Scalar>
__device__ void make_matrix(const cuda::block_group& block, const step_arguments<Scalar>& arguments, unsigned worker,
                            double total, const tied_memory& memory) {
  const unsigned K = arguments.layout.components, d = arguments.layout.columns, stride = matrix_stride(d);
  const double* const centres = arguments.prepared.in_double.centres;
  for (unsigned element = block.rank; element < K * d; element += block.size) {
    const unsigned k = element / d, j = element % d;
    const double delta = sums_of(arguments, k)[j] / weight_of(arguments, k), mean = centres[element] + delta;
    memory.deltas[element] = delta;
    memory.rests[element] = mean - static_cast<double>(static_cast<Scalar>(mean));
  }
  block.sync();
  bool far = false;
  for_each_element(block, worker, d, [&](unsigned i, unsigned j) {
    const double sum = __ldg(arguments.statistics + arguments.layout.shared + triangle_row(d, i) + j);
    double between = 0;
    for (unsigned k = 0; k < K; ++k) {
      between += memory.constants[k] * memory.deltas[k * d + i] * memory.deltas[k * d + j];
    }
    double value = (sum - between) / total;
    if (i == j) {
      far = far || between / total > value;
      value = fmax(value, 0.0) + arguments.regularization;
    }
    memory.matrix[i * stride + j] = value;
    cuda::store_in_block(memory.matrix + i * stride + j, value, 0);
  });
  note_move(arguments, far);
}

template <class Scalar>
__device__ void write_model(const cuda::block_group& block, const step_arguments<Scalar>& arguments, unsigned worker,
                            double total, const tied_memory& memory) {
  const unsigned K = arguments.layout.components, d = arguments.layout.columns, stride = matrix_stride(d);
  for_each_element(block, worker, d, [&](unsigned i, unsigned j) {
    const double value = memory.matrix[i * stride + j];
    replace_covariance(arguments, std::size_t{i} * d + j, value);
    if (i != j) replace_covariance(arguments, std::size_t{j} * d + i, value);
  });
  for (unsigned element = worker * block.size + block.rank; element < K * d; element += workers * block.size) {
    const unsigned k = element / d, j = element % d;
    const double centre = arguments.prepared.in_double.centres[element];
    replace_mean(arguments, k, j, centre, memory.deltas[element]);
    if (j == 0) replace_weight(arguments, k, memory.constants[k] / total);
  }
}

// Eight columns of U at a time, whose bytes lie next to each other, and the offsets in these columns.
template <class Scalar>
__device__ void write_factor_and_offsets(const cuda::block_group& block, const step_arguments<Scalar>& arguments,
                                         unsigned worker, const tied_memory& memory) {
  constexpr unsigned width = 8;
  const unsigned K = arguments.layout.components, d = arguments.layout.columns, stride = matrix_stride(d);
  const unsigned group = block.rank / width, own = block.rank % width, groups = block.size / width;
  bool finite = true;
  for (unsigned first = worker * width; first < d; first += workers * width) {
    const unsigned j = first + own;
    const double root = j < d ? cuda::load_from_block(memory.roots + j, 0) : 0;
#pragma unroll 4
    for (unsigned i = group; i < d; i += groups) {
      if (j >= d) continue;
      double value = 0;
      if (i < j) {
        const double element = cuda::load_from_block(memory.matrix + j * stride + i, 0);
        memory.matrix[j * stride + i] = element;
        value = element * root;
      }
      if (i == j) value = root;
      finite = finite && isfinite(value);
      write_factor(arguments.prepared, std::size_t{i} * d + j, value);
    }
    block.sync();
    for (unsigned k = group; k < K; k += groups) {
      if (j >= d) continue;
      double offset = -memory.rests[k * d + j];
#pragma unroll 8
      for (unsigned i = 0; i < j; ++i) offset -= memory.matrix[j * stride + i] * memory.rests[k * d + i];
      write_offset(arguments.prepared, k * d + j, offset * root);
    }
  }
  if (!finite) refuse(arguments, refusal::singular, 0, 0);
}

template <class Scalar>
__device__ void end_step(const step_arguments<Scalar>& arguments) {
  extern __shared__ double shared[];
  __shared__ double good;  // of the first block; 0: no factor
  const unsigned K = arguments.layout.components, d = arguments.layout.columns, rank = cuda::rank_in_cluster();
  const bool first = rank == 0;
  const tied_memory memory(shared, K, d);
  cuda::come_together();
  cuda::wait_for_predecessor();
  const bool stopped = *arguments.prepared.stopped != 0;
  cuda::wait_together();
  if (stopped) return;
  const step_start start = read_start(arguments);
  const cuda::block_group block;
  const verdict found = decide(block, arguments);
  if (found.empty) {
    if (first) settle(block, arguments, start, true, false, memory.constants);
    return;
  }
  for (unsigned k = block.rank; k < K; k += block.size) memory.constants[k] = weight_of(arguments, k);
  block.sync();
  if (first) {
    for (unsigned i = block.rank; i < d; i += block.size) memory.matrix[i * matrix_stride(d) + d] = 0;
  } else {
    make_matrix(block, arguments, rank - 1, found.total, memory);
  }
  cuda::come_with_writes();
  cuda::wait_together();
  if (first) {
    const bool eliminated = eliminate_matrix(block, memory.matrix, d, memory.roots + d);
    double logarithms = 0;
    if (eliminated) {
      logarithms = take_roots(block, memory.matrix, d, memory.roots);
    } else if (block.rank == 0) {
      refuse(arguments, refusal::indefinite, 0, 0);
    }
    if (block.rank == 0) good = eliminated ? 1 : 0;
    for (unsigned k = block.rank; k < K && eliminated; k += block.size) {
      memory.constants[k] = log(memory.constants[k] / found.total) + logarithms;
    }
  } else {
    write_model(block, arguments, rank - 1, found.total, memory);
  }
  __syncwarp();
  cuda::come_with_writes();
  cuda::wait_together();
  if (first) {
    cuda::come_together();
    cuda::wait_together();  // the others have read, and what they wrote is to be seen
    settle(block, arguments, start, false, any_far(block, arguments, false), memory.constants);
    return;
  }
  if (cuda::load_from_block(&good, 0) != 0) write_factor_and_offsets(block, arguments, rank - 1, memory);
  __syncwarp();
  cuda::come_with_writes();
}

#endif

template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    maximise_tied_together(const __grid_constant__ step_arguments<Scalar> arguments) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  end_step(arguments);
#endif
}

}  // namespace

template <class Scalar>
bool maximise_together(const step_arguments<Scalar>& arguments, unsigned threads, std::size_t shared,
                       cudaStream_t stream) {
  int device = 0, clusters = 0, running = 0;
  cuda::check(cudaGetDevice(&device), "name the current device");
  cuda::check(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device), "say whether it has clusters");
  if (clusters == 0) return false;
  const auto kernel = maximise_tied_together<Scalar>;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
              "give a kernel shared memory");
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(cluster_blocks);
  configuration.blockDim = dim3(threads);
  configuration.dynamicSmemBytes = shared;
  configuration.stream = stream;
  cuda::start_early(configuration, attributes[0]);
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {cluster_blocks, 1, 1};
  configuration.attrs = attributes;
  configuration.numAttrs = 2;
  if (cudaOccupancyMaxActiveClusters(&running, kernel, &configuration) != cudaSuccess || running == 0) {
    cudaGetLastError();
    return false;
  }
  cuda::check(cudaLaunchKernelEx(&configuration, kernel, arguments), "launch the end of a step");
  return true;
}
template bool maximise_together(const step_arguments<float>&, unsigned, std::size_t, cudaStream_t);
template bool maximise_together(const step_arguments<double>&, unsigned, std::size_t, cudaStream_t);

}  // namespace shoal::gmm
