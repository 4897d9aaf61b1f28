#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/step/factorise_in_tiles.hpp>
#include <shoal/gmm/cuda/step/kept_component.cuh>
#include <shoal/gmm/cuda/step/maximise.hpp>
#include <shoal/gmm/cuda/step/maximise_together.hpp>
#include <shoal/gmm/cuda/step/settle.cuh>
#include <shoal/gmm/cuda/step/step_launch.cuh>
#include <shoal/gmm/cuda/step/tied.cuh>

namespace shoal::gmm {
namespace {

// A component of full; `sums` are its own. Returns whether the calling thread saw its mean move far.
template <class Group, class Scalar>
__device__ bool maximise_full(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double total,
                              const double* sums, const double* centres, double* work, double* constants) {
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  const cuda::group_grid grid(group, d);
  const double weight = fmax(sums[arguments.layout.weight], 0.0);
  const double share = 1 / weight;
  double* const deltas = work + std::size_t{d} * stride;
  const std::size_t covariance = std::size_t{k} * d * d;
  for (unsigned j = group.rank; j < d; j += group.size) {
    const double delta = sums[triangle_row(d + 1, j) + d] * share;
    deltas[j] = delta;
    work[std::size_t{j} * stride + d] = maximise_mean(arguments, k, j, centres[j], delta);
  }
  group.sync();
  bool far = false;
  for (unsigned i = grid.row; i < d; i += grid.rows) {
    const double* const row = sums + triangle_row(d + 1, i);
    const double delta = deltas[i];
    for (unsigned j = grid.column; j < d; j += grid.columns) {
      if (i > j) continue;
      double value = row[j] * share - delta * deltas[j];
      if (i == j) {
        far = far || squared(delta) > value;
        value = fmax(value, 0.0) + arguments.regularization;
      }
      work[std::size_t{i} * stride + j] = value;
      arguments.model.covariances[covariance + std::size_t{i} * d + j] = value;
      if (i != j) arguments.model.covariances[covariance + std::size_t{j} * d + i] = value;
    }
  }
  if (group.rank == 0) arguments.model.weights[k] = weight / total;
  group.sync();
  prepare_matrix(group, arguments, k, weight / total, work, constants);
  return far;
}

// A component of diag or spherical; returns whether the calling thread saw its mean jump (find_jump.cuh), for which all
// is at hand: one block that looked at 1000 components of 300 columns took 0.6 ms.
template <class Group, class Scalar>
__device__ bool maximise_diagonal(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double total,
                                  const double* sums, const double* centres, double* rests, double* constants) {
  const unsigned d = arguments.layout.columns;
  const double* const first = sums + 1;
  const double* const second = first + d;
  const double weight = fmax(sums[arguments.layout.weight], 0.0);
  const double share = 1 / weight;
  const auto variance = [&](unsigned j) {
    const double delta = first[j] * share;
    return second[j] * share - delta * delta;
  };
  for (unsigned j = group.rank; j < d; j += group.size) {
    rests[j] = maximise_mean(arguments, k, j, centres[j], first[j] * share);
  }
  if (group.rank == 0) arguments.model.weights[k] = weight / total;
  // A mean jumps by many deviations of the new variance, which the regularization holds up: the sums' own is below the
  // mean's move in most steps of a component that has one row, by what rounding leaves of either.
  bool jumped = false;
  const jump_limit limit = jump_limit_of(sizeof(Scalar));
  const auto jumps = [&](double between, double inside, double place, double kept) {
    return nearer_helps(between, inside + between, place, limit) && outweighs(between, kept, limit);
  };
  // Of columns that the thread has maximised.
  const auto place_of = [&](unsigned j) { return squared(arguments.model.means[std::size_t{k} * d + j]); };
  if (arguments.layout.type == covariance_type::diag) {
    prepare_diagonal(
        group, arguments, k, weight / total, rests,
        [&](unsigned j) {
          const double rest = variance(j), value = fmax(rest, 0.0) + arguments.regularization;
          const double between = squared(first[j] * share);
          if (between > value) jumped = jumped || jumps(between, rest, place_of(j), value);
          arguments.model.covariances[std::size_t{k} * d + j] = value;
          return value;
        },
        constants);
  } else {
    double sum = 0, between = 0;
    for (unsigned j = group.rank; j < d; j += group.size) {
      sum += variance(j);
      between = __dadd_rn(between, squared(first[j] * share));
    }
    sum = group.sum(sum);
    between = group.sum(between);
    const double mean = fmax(sum, 0.0) / d + arguments.regularization;
    if (between > mean * d) {  // in all threads or in none
      double place = 0;
      for (unsigned j = group.rank; j < d; j += group.size) place = __dadd_rn(place, place_of(j));
      jumped = jumps(between, sum, group.sum(place), mean * d);
    }
    if (group.rank == 0) arguments.model.covariances[k] = mean;
    prepare_diagonal(
        group, arguments, k, weight / total, rests, [=](unsigned) { return mean; }, constants);
  }
  return jumped;
}

template <class Group, class Scalar>
__device__ bool maximise_component(const Group& group, const step_arguments<Scalar>& arguments, unsigned k,
                                   double total, const double* sums, const double* centres, double* work,
                                   double* constants) {
  if (arguments.layout.type == covariance_type::full) {
    return maximise_full(group, arguments, k, total, sums, centres, work, constants);
  } else {
    return maximise_diagonal(group, arguments, k, total, sums, centres, work, constants);
  }
}

// A warp for each component. What it reads is asked for at once and kept in shared memory, because waiting for memory
// is most of what a small step does; what the sums do not change, before they are there.
template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    maximise_by_warps(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  __shared__ double own_constants[most_warps];
  constexpr unsigned ahead = 2;  // a warp's share of the sums of a full component of 8 columns
  const cuda::warp_group warp;
  const kernel_layout& layout = arguments.layout;
  const unsigned index = threadIdx.x / cuda::warp_size;
  const unsigned k = blockIdx.x * (blockDim.x / cuda::warp_size) + index;
  const std::size_t work_size = component_work(layout.type, layout.columns);
  double* const work = shared + index * warp_work(layout);
  double* const sums = work + work_size;
  const bool own = k < layout.components;
  step_start start = read_start(*arguments.state);
  const kept_component kept(warp, arguments, own ? k : 0);
  const double* centres = arguments.prepared.in_double.centres + std::size_t{k} * layout.columns;
  if (own && kept_centres(layout) != 0) {
    double* const near = sums + layout.component_size;
    if (warp.rank < layout.columns) near[warp.rank] = __ldcg(centres + warp.rank);
    centres = near;
  }
  cuda::wait_for_predecessor();
  const int stopped = *arguments.prepared.stopped;
  const double log_likelihood = arguments.statistics[log_likelihood_at];
  const double total_weight = arguments.statistics[total_weight_at];
  const double* const from = sums_of(arguments, own ? k : 0);
  double first_sums[ahead];
#pragma unroll
  for (unsigned i = 0; i < ahead; ++i) {
    const unsigned e = warp.rank + i * warp.size;
    first_sums[i] = e < layout.component_size ? from[e] : 0;
  }
  const double weight = first_weight(warp, arguments);
  if (own) {
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      const unsigned e = warp.rank + i * warp.size;
      if (e < layout.component_size) sums[e] = first_sums[i];
    }
    for (unsigned e = warp.rank + ahead * warp.size; e < layout.component_size; e += warp.size) sums[e] = from[e];
  }
  const verdict found = decide(warp, arguments, weight);
  start.objective = log_likelihood / total_weight;
  warp.sync();
  if (stopped != 0) return;
  double* const constants = gridDim.x == 1 ? own_constants : arguments.prepared.in_double.log_constants;
  bool far = false;
  if (!found.empty && own) {
    kept.store();
    far = maximise_component(warp, arguments, k, found.total, sums, centres, work, constants);
  }
  note_move(arguments, far);
  const cuda::block_group block;
  if (!last_block(block, &arguments.state->finished_blocks)) return;
  settle(block, arguments, start, found.empty, any_far(block, arguments, far), constants);
}

// A block for each component. The sums go through shared memory where there is room.
template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    maximise_by_blocks(const __grid_constant__ step_arguments<Scalar> arguments, step_memory memory) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  if (*arguments.prepared.stopped != 0) return;
  const step_start start = read_start(arguments);
  const cuda::block_group block;
  const kernel_layout& layout = arguments.layout;
  const std::size_t work_size = component_work(layout.type, layout.columns);
  const verdict found = decide(block, arguments);
  double* const constants = arguments.prepared.in_double.log_constants;
  bool far = false;
  for (unsigned k = blockIdx.x; k < layout.components && !found.empty; k += gridDim.x) {
    const double* sums = sums_of(arguments, k);
    const kept_component kept(block, arguments, k);
    if (memory == step_memory::shared_with_sums) {
      for (std::size_t e = block.rank; e < layout.component_size; e += block.size)
        shared[work_size + e] = __ldg(sums + e);
      sums = shared + work_size;
    }
    block.sync();
    kept.store();
    const double* const centres = arguments.prepared.in_double.centres + std::size_t{k} * layout.columns;
    far = maximise_component(block, arguments, k, found.total, sums, centres, shared, constants) || far;
    block.sync();
  }
  note_move(arguments, far);
  if (!last_block(block, &arguments.state->finished_blocks)) return;
  settle(block, arguments, start, found.empty, any_far(block, arguments, far), constants);
}

// Copies an array by a group. Loads of several elements are under way at once, which they are not where a store lies
// between them.
template <class Group>
__device__ void copy_ahead(const Group& group, const double* from, double* to, unsigned count) {
  constexpr unsigned ahead = 8;
  for (unsigned e = group.rank; e < count; e += ahead * group.size) {
    double values[ahead];
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      if (e + i * group.size < count) values[i] = __ldcg(from + e + i * group.size);
    }
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      if (e + i * group.size < count) to[e + i * group.size] = values[i];
    }
  }
}

// Tied components that one block can do: means, then the one covariance in which all have a part, then its factor. The
// memory holds δ and μ − c of each component [K][d], and what the factorisation needs.
template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    maximise_tied_in_one_block(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  if (*arguments.prepared.stopped != 0) return;
  const step_start start = read_start(arguments);
  const cuda::block_group block;
  const unsigned K = arguments.layout.components, d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  double* const constants = shared;
  double* const deltas = constants + K;
  double* const rests = deltas + K * d;
  double* const matrix = rests + K * d;
  double* const roots = matrix + d * stride;
  const verdict found = decide(block, arguments);
  if (found.empty) {
    settle(block, arguments, start, true, false, constants);
    return;
  }
  copy_ahead(block, arguments.model.covariances, arguments.before.covariances, d * d);
  for (unsigned element = block.rank; element < K * d; element += block.size) {
    const unsigned k = element / d, j = element % d;
    const double weight = weight_of(arguments, k);
    const double delta = sums_of(arguments, k)[j] / weight;
    deltas[element] = delta;
    rests[element] = replace_mean(arguments, k, j, arguments.prepared.in_double.centres[element], delta);
    if (j == 0) {
      constants[k] = weight;
      replace_weight(arguments, k, weight / found.total);
    }
  }
  block.sync();
  const cuda::group_grid grid(block, d);
  bool far = false;
  for (unsigned i = grid.row; i < d; i += grid.rows) {
    const double* const row = arguments.statistics + arguments.layout.shared + triangle_row(d, i);
#pragma unroll 4
    for (unsigned j = grid.column; j < d; j += grid.columns) {
      if (i > j) continue;
      const double sum = __ldg(row + j);
      double between = 0;
      for (unsigned k = 0; k < K; ++k) between += constants[k] * deltas[k * d + i] * deltas[k * d + j];
      double value = (sum - between) / found.total;
      if (i == j) {
        far = far || between / found.total > value;
        value = fmax(value, 0.0) + arguments.regularization;
      }
      matrix[i * stride + j] = value;
      arguments.model.covariances[i * d + j] = value;
      if (i != j) arguments.model.covariances[j * d + i] = value;
    }
  }
  for (unsigned i = block.rank; i < d; i += block.size) matrix[i * stride + d] = 0;
  block.sync();
  if (!eliminate_matrix(block, matrix, d, roots + d)) {
    if (block.rank == 0) refuse(arguments, refusal::indefinite, 0, 0);
  } else {
    const double logarithms = take_roots(block, matrix, d, roots);
    if (!write_matrix(block, arguments, 0, matrix, roots) && block.rank == 0)
      refuse(arguments, refusal::singular, 0, 0);
    for (unsigned element = block.rank; element < K * d; element += block.size) {
      const unsigned k = element / d, j = element % d;
      double offset = -rests[element];
#pragma unroll 8
      for (unsigned i = 0; i < j; ++i) offset -= matrix[j * stride + i] * rests[k * d + i];
      write_offset(arguments.prepared, element, offset * roots[j]);
    }
    for (unsigned k = block.rank; k < K; k += block.size) constants[k] = log(constants[k] / found.total) + logarithms;
  }
  block.sync();
  settle(block, arguments, start, false, any_far(block, arguments, far), constants);
}

// The same by as many threads as there are sums, in four launches, of which the first is that of large full components
// too.
template <class Scalar>
__global__ void maximise_means(const __grid_constant__ step_arguments<Scalar> arguments) {
  cuda::wait_for_predecessor();
  if (*arguments.prepared.stopped != 0) return;
  const verdict found = decide(cuda::block_group(), arguments);
  const unsigned d = arguments.layout.columns;
  const unsigned element = blockIdx.x * blockDim.x + threadIdx.x;
  if (found.empty || element >= arguments.layout.components * d) return;
  const unsigned k = element / d, j = element % d;
  const double weight = weight_of(arguments, k);
  const bool tied = arguments.layout.type == covariance_type::tied;
  const double delta = sums_of(arguments, k)[tied ? j : triangle_row(d + 1, j) + d] / weight;
  arguments.work[element] = delta;
  replace_mean(arguments, k, j, arguments.prepared.in_double.centres[element], delta);
  if (j == 0) replace_weight(arguments, k, weight / found.total);
}

// A block for 32 columns of a row of the covariance; each row of its threads sums over a slice of the components.
constexpr unsigned most_slices = 32, slice_components = 16;

template <class Scalar>
__global__ void __launch_bounds__(cuda::warp_size* most_slices)
    maximise_tied_covariance(const __grid_constant__ step_arguments<Scalar> arguments) {
  __shared__ double sums[most_slices][cuda::warp_size];
  cuda::wait_for_predecessor();
  if (*arguments.prepared.stopped != 0) return;
  const verdict found = decide(cuda::block_group(), arguments);
  const unsigned d = arguments.layout.columns, K = arguments.layout.components;
  const unsigned column = threadIdx.x % cuda::warp_size, slice = threadIdx.x / cuda::warp_size;
  const unsigned slices = blockDim.x / cuda::warp_size;
  const unsigned i = blockIdx.y, first = blockIdx.x * cuda::warp_size, j = first + column;
  if (found.empty || first + cuda::warp_size <= i) return;
  double between = 0;
  if (i <= j && j < d) {
#pragma unroll 8
    for (unsigned k = slice; k < K; k += slices) {
      const double* const deltas = arguments.work + std::size_t{k} * d;
      between += weight_of(arguments, k) * deltas[i] * deltas[j];
    }
  }
  sums[slice][column] = between;
  __syncthreads();
  if (slice != 0 || i > j || j >= d) return;
  for (unsigned other = 1; other < slices; ++other) between += sums[other][column];
  double value = (arguments.statistics[arguments.layout.shared + triangle_row(d, i) + j] - between) / found.total;
  if (i == j) {
    if (between / found.total > value) arguments.state->far = 1;
    value = fmax(value, 0.0) + arguments.regularization;
  }
  replace_covariance(arguments, std::size_t{i} * d + j, value);
  if (i != j) replace_covariance(arguments, std::size_t{j} * d + i, value);
}

template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    factorise_tied_kernel(const __grid_constant__ step_arguments<Scalar> arguments) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  if (*arguments.prepared.stopped != 0) return;
  if (decide(cuda::block_group(), arguments).empty) return;
  factorise_tied(arguments, shared);
}

template <class Scalar>
__global__ void finish_tied(const __grid_constant__ step_arguments<Scalar> arguments) {
  cuda::wait_for_predecessor();
  if (*arguments.prepared.stopped != 0) return;
  const step_start start = read_start(arguments);
  const cuda::block_group block;
  const verdict found = decide(block, arguments);
  if (!found.empty) prepare_all_tied(arguments);
  if (!last_block(block, &arguments.state->finished_blocks)) return;
  // maximise_tied_covariance() has seen it.
  const bool far = __ldcg(&arguments.state->far) != 0;
  settle(block, arguments, start, found.empty, far, arguments.prepared.in_double.log_constants);
}

// The covariances of full components after their means, in square parts that are written on both sides of the diagonal.
// A block for each part on and above it, and each component.
constexpr unsigned part_side = 32, part_rows = 8;

template <class Scalar>
__global__ void __launch_bounds__(part_side* part_rows)
    maximise_full_covariances(const __grid_constant__ step_arguments<Scalar> arguments) {
  __shared__ double values[part_side][part_side + 1];
  cuda::wait_for_predecessor();
  if (*arguments.prepared.stopped != 0) return;
  if (decide(cuda::block_group(), arguments).empty) return;
  const unsigned d = arguments.layout.columns, parts = (d + part_side - 1) / part_side, k = blockIdx.x;
  unsigned down = 0, across = blockIdx.y;
  while (across >= parts - down) across -= parts - down++;
  across += down;
  const double* const sums = sums_of(arguments, k);
  const double* const deltas = arguments.work + std::size_t{k} * d;
  const double weight = weight_of(arguments, k);
  const std::size_t start = std::size_t{k} * d * d;
  const unsigned x = threadIdx.x % part_side, y = threadIdx.x / part_side;
  for (unsigned r = y; r < part_side; r += part_rows) {
    const unsigned i = down * part_side + r, j = across * part_side + x;
    if (i > j || j >= d) continue;
    const double between = deltas[i] * deltas[j];
    double value = sums[triangle_row(d + 1, i) + j] / weight - between;
    if (i == j) {
      if (between > value) arguments.state->far = 1;
      value = fmax(value, 0.0) + arguments.regularization;
    }
    values[r][x] = value;
    replace_covariance(arguments, start + std::size_t{i} * d + j, value);
  }
  __syncthreads();
  for (unsigned r = y; r < part_side; r += part_rows) {
    const unsigned i = across * part_side + r, j = down * part_side + x;
    if (i > j && i < d && j < d) replace_covariance(arguments, start + std::size_t{i} * d + j, values[x][r]);
  }
}

template <class Scalar>
__global__ void finish_after_tiles(const __grid_constant__ step_arguments<Scalar> arguments) {
  cuda::wait_for_predecessor();
  if (*arguments.prepared.stopped != 0) return;
  const step_start start = read_start(arguments);
  const cuda::block_group block;
  const verdict found = decide(block, arguments);
  if (!found.empty) prepare_columns(block, arguments, blockIdx.x, blockIdx.y);
  if (!last_block(block, &arguments.state->finished_blocks)) return;
  // Those who maximised covariances have seen it.
  const bool far = __ldcg(&arguments.state->far) != 0;
  settle(block, arguments, start, found.empty, far, arguments.prepared.in_double.log_constants);
}

template <class Scalar>
void maximise_in_launches(const step_arguments<Scalar>& arguments, const step_launch& launch, cudaStream_t stream) {
  const kernel_layout& layout = arguments.layout;
  const std::size_t K = layout.components, d = layout.columns;
  const bool tied = layout.type == covariance_type::tied;
  cuda::launch_in_turn(maximise_means<Scalar>, blocks_for(K * d), tied_threads, 0, stream, arguments);
  if (tied) {
    const auto slices = std::min<std::size_t>(most_slices, (K + slice_components - 1) / slice_components);
    const dim3 blocks(static_cast<unsigned>((d + cuda::warp_size - 1) / cuda::warp_size), layout.columns);
    cuda::launch_in_turn(maximise_tied_covariance<Scalar>, blocks, static_cast<unsigned>(slices * cuda::warp_size), 0,
                         stream, arguments);
  } else {
    const auto parts = static_cast<unsigned>((d + part_side - 1) / part_side);
    cuda::launch_in_turn(maximise_full_covariances<Scalar>, dim3(layout.components, parts * (parts + 1) / 2),
                         part_side * part_rows, 0, stream, arguments);
  }
  if (launch.memory == step_memory::tiles) {
    factorise_in_tiles(arguments, work_of_tiles(arguments), factors_of::maximised, stream);
    cuda::launch_in_turn(finish_after_tiles<Scalar>, dim3(layout.components, tiles_of_side(layout.columns)),
                         tied_threads, 0, stream, arguments);
  } else {
    cuda::launch_in_turn(factorise_tied_kernel<Scalar>, 1, launch.threads, launch.shared, stream, arguments);
    cuda::launch_in_turn(finish_tied<Scalar>, blocks_for(K * cuda::warp_size), tied_threads, 0, stream, arguments);
  }
}

}  // namespace

std::size_t work_size(const kernel_layout& layout, unsigned multiprocessors, std::size_t shared_bytes) {
  const bool tiles = choose_launch(layout, multiprocessors, shared_bytes).memory == step_memory::tiles;
  if (!tiles && layout.type != covariance_type::tied) return 0;
  return std::size_t{layout.components} * layout.columns + 1 +
         (tiles ? std::max(tiled_work(layout), matrix_size(layout.columns)) : 0);
}

template <class Scalar>
void maximise(const step_arguments<Scalar>& arguments, cudaStream_t stream) {
  const kernel_layout& layout = arguments.layout;
  const bool tied = layout.type == covariance_type::tied;
  const step_launch launch = choose_launch(layout, arguments.multiprocessors, arguments.shared_bytes);
  const std::size_t tied_bytes = tied ? tied_block_bytes(layout, arguments.shared_bytes) : 0;
  if (tied_bytes != 0) {
    const bool wide = layout.columns > most_narrow_columns;
    if (wide && maximise_together(arguments, launch.threads, tied_bytes, stream)) return;
    cuda::launch_in_turn(maximise_tied_in_one_block<Scalar>, 1, launch.threads, tied_bytes, stream, arguments);
  } else if (tied || launch.memory == step_memory::tiles) {
    maximise_in_launches(arguments, launch, stream);
  } else if (launch.warps) {
    cuda::launch_in_turn(maximise_by_warps<Scalar>, launch.blocks, launch.threads, launch.shared, stream, arguments);
  } else {
    cuda::launch_in_turn(maximise_by_blocks<Scalar>, launch.blocks, launch.threads, launch.shared, stream, arguments,
                         launch.memory);
  }
}

template void maximise(const step_arguments<float>&, cudaStream_t);
template void maximise(const step_arguments<double>&, cudaStream_t);

}  // namespace shoal::gmm
