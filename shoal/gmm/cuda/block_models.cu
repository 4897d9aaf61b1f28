#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/block_models.hpp>
#include <shoal/gmm/cuda/prepare_component.cuh>

namespace shoal::gmm {
namespace {

constexpr unsigned block_threads = 128;
constexpr unsigned block_warps = block_threads / warp_size;
constexpr unsigned most_tile_rows = 4 * block_threads;
constexpr int most_columns = most_block_model_columns;

// As in maximise.cpp.
constexpr double least_weight = 10 * std::numeric_limits<double>::epsilon();

__host__ __device__ inline std::size_t factor_size(const device_layout& layout) {
  return layout.type == covariance_type::full ? std::size_t{layout.columns} * layout.columns : layout.columns;
}

// A block's own model and statistics.
struct block_memory {
  double* offsets;        // [K][d]
  double* factors;        // [K] factors
  double* log_constants;  // [K] with everything that is the same for all rows
  double* total;          // [size] about the present centres

  template <class Scalar>
  __device__ explicit block_memory(const block_models_arguments<Scalar>& a) {
    const std::size_t K = a.layout.components, d = a.layout.columns;
    double* next = a.scratch + blockIdx.x * (K * (d + factor_size(a.layout) + 1) + a.size);
    offsets = next;
    factors = offsets + K * d;
    log_constants = factors + K * factor_size(a.layout);
    total = log_constants + K;
  }
};

template <class Scalar>
__device__ void begin_block(const block_models_arguments<Scalar>& a, const block_memory& own, double* delta) {
  const unsigned K = a.layout.components, d = a.layout.columns;
  for (unsigned e = threadIdx.x; e < K * d; e += block_threads) own.offsets[e] = a.components.offsets[e];
  for (unsigned e = threadIdx.x; e < K * factor_size(a.layout); e += block_threads)
    own.factors[e] = a.components.factors[e];
  for (unsigned k = threadIdx.x; k < K; k += block_threads) {
    own.log_constants[k] = a.components.log_constants[k] + *a.components.log_shift;
  }
  for (std::size_t e = threadIdx.x; e < a.size; e += block_threads) {
    own.total[e] = a.total[e];
    delta[e] = 0;
  }
}

// ln πₖ N(x; μₖ, Σₖ) of a row under the block's model.
template <class Scalar>
__device__ double log_density(const block_models_arguments<Scalar>& a, const block_memory& own, unsigned k,
                              const double (&x)[most_columns]) {
  const unsigned d = a.layout.columns;
  const double* const centre = a.components.centres + k * d;
  const double* const offset = own.offsets + k * d;
  const double* const factor = own.factors + k * factor_size(a.layout);
  double z[most_columns];
#pragma unroll
  for (int i = 0; i < most_columns; ++i) {
    if (i < d) z[i] = x[i] - centre[i];
  }
  double norm = 0;
#pragma unroll
  for (int j = 0; j < most_columns; ++j) {
    if (j >= d) break;
    double y = offset[j];
    if (a.layout.type == covariance_type::full) {
#pragma unroll
      for (int i = 0; i <= j; ++i) y = fma(factor[i * d + j], z[i], y);
    } else {
      y = fma(factor[j], z[j], y);
    }
    norm = fma(y, y, norm);
  }
  return own.log_constants[k] - 0.5 * norm;
}

// What a block has in shared memory: for every row of a tile what its responsibilities changed by, and which rows did.
template <class Scalar>
struct tile_memory {
  Scalar* changes;  // [K][tile_rows]
  unsigned* moved;  // [tile_rows]

  __device__ tile_memory(unsigned char* memory, unsigned components, unsigned tile_rows) {
    changes = reinterpret_cast<Scalar*>(memory);
    moved = reinterpret_cast<unsigned*>(changes + std::size_t{components} * tile_rows);
  }
};

// Responsibilities of a row: its memberships take them when they moved. Returns whether they did.
template <class Scalar>
__device__ bool visit_row(const block_models_arguments<Scalar>& a, const block_memory& own,
                          const tile_memory<Scalar>& tile, std::size_t row, unsigned place, double& log_likelihood) {
  const unsigned K = a.layout.components, d = a.layout.columns;
  double x[most_columns];
#pragma unroll
  for (int i = 0; i < most_columns; ++i) {
    if (i < d) x[i] = static_cast<double>(a.rows[row * d + i]);
  }
  // Sums of exponentials that are rescaled when a greater one comes: densities themselves are computed twice, which
  // takes less memory than to keep them in float64.
  double greatest = -INFINITY, sum = 0;
  for (unsigned k = 0; k < K; ++k) {
    const double term = log_density(a, own, k, x);
    if (term > greatest) {
      sum = sum * exp(greatest - term) + 1;
      greatest = term;
    } else if (term > -INFINITY) {
      sum += exp(term - greatest);
    }
  }
  const double log_p = greatest + log(sum);
  log_likelihood += (a.weights == nullptr ? 1.0 : static_cast<double>(a.weights[row])) * log_p;
  Scalar* const memberships = a.memberships + row * K;
  double movement = 0;
  for (unsigned k = 0; k < K; ++k) {
    const auto now = static_cast<Scalar>(exp(log_density(a, own, k, x) - log_p));
    tile.changes[std::size_t{k} * a.tile_rows + place] = now;
    movement += fabs(static_cast<double>(now) - static_cast<double>(memberships[k]));
  }
  if (!(movement > a.threshold)) return false;
  for (unsigned k = 0; k < K; ++k) {
    Scalar& change = tile.changes[std::size_t{k} * a.tile_rows + place];
    const Scalar now = change;
    change = now - memberships[k];
    memberships[k] = now;
  }
  return true;
}

// Element `e` of a component's sums as a product of two columns of (x − c, 1).
struct moment {
  unsigned first;   // d: one
  unsigned second;  // d: one

  __device__ moment(const device_layout& layout, unsigned e) : first(layout.columns), second(layout.columns) {
    const unsigned d = layout.columns;
    if (layout.type == covariance_type::full) {
      first = 0;
      while (e >= d + 1 - first) e -= d + 1 - first++;
      second = first + e;
    } else if (e > d) {
      first = second = e - d - 1;
    } else if (e > 0) {
      first = e - 1;
    }
  }
};

// Adds what the moved rows changed to the block's sums, a thread for each of these.
template <class Scalar>
__device__ void add_changes(const block_models_arguments<Scalar>& a, const block_memory& own,
                            const tile_memory<Scalar>& tile, std::size_t first_row, unsigned moved, double* delta) {
  const unsigned d = a.layout.columns;
  const auto each = static_cast<unsigned>(a.layout.component_size);
  for (unsigned e = threadIdx.x; e < a.layout.components * each; e += block_threads) {
    const unsigned k = e / each;
    const moment of(a.layout, e % each);
    const double first_centre = of.first < d ? a.components.centres[k * d + of.first] : 0;
    const double second_centre = of.second < d ? a.components.centres[k * d + of.second] : 0;
    const Scalar* const changes = tile.changes + std::size_t{k} * a.tile_rows;
    double sum = 0;
#pragma unroll 4
    for (unsigned m = 0; m < moved; ++m) {
      const unsigned place = tile.moved[m];
      const std::size_t row = first_row + place;
      double term = changes[place];
      if (a.weights != nullptr) term *= static_cast<double>(a.weights[row]);
      if (of.first < d) term *= static_cast<double>(a.rows[row * d + of.first]) - first_centre;
      if (of.second < d) term *= static_cast<double>(a.rows[row * d + of.second]) - second_centre;
      sum += term;
    }
    own.total[a.layout.header + e] += sum;
    delta[a.layout.header + e] += sum;
  }
}

// A component of full from its sums, by a warp; `work` [component_work()].
template <class Scalar>
__device__ void maximise_full(const warp_group& warp, const block_models_arguments<Scalar>& a, const block_memory& own,
                              unsigned k, double share, double log_weight, double* work) {
  const unsigned d = a.layout.columns;
  const unsigned stride = matrix_stride(d);
  const double* const sums = own.total + a.layout.header + k * a.layout.component_size;
  const auto row_of = [d](unsigned i) { return i * (d + 1) - i * (i + 1) / 2; };
  double* const roots = work + std::size_t{d} * stride;
  for (unsigned e = warp.rank; e < d * (d + 1); e += warp_size) {
    const unsigned i = e / (d + 1), j = e % (d + 1);
    if (i > j) continue;
    const double delta_i = sums[row_of(i) + d] * share;
    if (j == d) {
      work[i * stride + d] = delta_i;
    } else {
      double value = sums[row_of(i) + j] * share - delta_i * (sums[row_of(j) + d] * share);
      if (i == j) value = fmax(value, 0.0) + a.regularization;
      work[i * stride + j] = value;
    }
  }
  warp.sync();
  if (!eliminate(warp, work, d, roots + d)) return;
  const double logarithms = take_roots(warp, work, d, roots);
  double* const factor = own.factors + std::size_t{k} * d * d;
  for (unsigned e = warp.rank; e < d * d; e += warp_size) {
    const unsigned i = e / d, j = e % d;
    factor[e] = i < j ? work[j * stride + i] * roots[j] : (i == j ? roots[j] : 0);
  }
  for (unsigned j = warp.rank; j < d; j += warp_size) own.offsets[k * d + j] = -work[j * stride + d] * roots[j];
  if (warp.rank == 0) own.log_constants[k] = log_weight + logarithms;
}

template <class Scalar>
__device__ void maximise_diagonal(const warp_group& warp, const block_models_arguments<Scalar>& a,
                                  const block_memory& own, unsigned k, double share, double log_weight) {
  const unsigned d = a.layout.columns;
  const double* const sums = own.total + a.layout.header + k * a.layout.component_size;
  double logarithms = 0;
  bool good = true;
  double delta = 0, inverse = 0;
  const unsigned j = warp.rank;
  if (j < d) {
    delta = sums[1 + j] * share;
    const double variance = fmax(sums[1 + d + j] * share - delta * delta, 0.0) + a.regularization;
    good = variance > 0 && !isinf(variance);
    inverse = 1 / sqrt(variance);
    logarithms = log(inverse);
  }
  logarithms = warp.sum(logarithms);
  if (warp.any(!good)) return;
  if (j < d) {
    own.factors[k * d + j] = inverse;
    own.offsets[k * d + j] = -inverse * delta;
  }
  if (warp.rank == 0) own.log_constants[k] = log_weight + logarithms;
}

// The block's model from its statistics, a warp for each component.
template <class Scalar>
__device__ void maximise_block(const block_models_arguments<Scalar>& a, const block_memory& own, double* work) {
  const warp_group warp;
  const unsigned K = a.layout.components;
  const auto weight_of = [&](unsigned k) {
    return fmax(own.total[a.layout.header + k * a.layout.component_size + a.layout.weight], 0.0);
  };
  double total = 0;
  for (unsigned k = 0; k < K; ++k) total += weight_of(k);
  const double constant = -static_cast<double>(a.layout.columns) * half_log_two_pi;
  for (unsigned k = threadIdx.x / warp_size; k < K; k += block_warps) {
    const double weight = weight_of(k);
    if (!(weight > least_weight)) {
      if (warp.rank == 0) own.log_constants[k] = -INFINITY;
      continue;
    }
    const double log_weight = log(weight / total) + constant;
    if (a.layout.type == covariance_type::full) {
      maximise_full(warp, a, own, k, 1 / weight, log_weight,
                    work + threadIdx.x / warp_size * component_work(a.layout.type, a.layout.columns));
    } else {
      maximise_diagonal(warp, a, own, k, 1 / weight, log_weight);
    }
    warp.sync();
  }
}

template <class Scalar>
__global__ void __launch_bounds__(block_threads)
    block_models_kernel(const __grid_constant__ block_models_arguments<Scalar> a) {
  extern __shared__ double shared[];
  __shared__ unsigned moved_count;
  cuda::wait_for_predecessor();
  if (*a.stopped != 0) return;
  const block_group block;
  const block_memory own(a);
  double* const delta = a.deltas + blockIdx.x * a.size;
  double* const work = shared;
  const tile_memory<Scalar> tile(
      reinterpret_cast<unsigned char*>(work + block_warps * component_work(a.layout.type, a.layout.columns)),
      a.layout.components, a.tile_rows);
  begin_block(a, own, delta);
  double log_likelihood = 0;
  unsigned folded = 0;
  const unsigned first = blockIdx.x * a.superchunk, last = min(first + a.superchunk, a.chunks);
  for (unsigned place = first; place < last; ++place) {
    const std::size_t begin = a.order[place] * a.chunk_rows;
    const std::size_t end = min(begin + a.chunk_rows, a.row_count);
    bool any = false;
    for (std::size_t tile_begin = begin; tile_begin < end; tile_begin += a.tile_rows) {
      if (threadIdx.x == 0) moved_count = 0;
      block.sync();  // also: the model is there
      const auto count = static_cast<unsigned>(min(static_cast<std::size_t>(a.tile_rows), end - tile_begin));
      for (unsigned base = 0; base < count; base += block_threads) {
        const unsigned r = base + threadIdx.x;
        const bool moved = r < count && visit_row(a, own, tile, tile_begin + r, r, log_likelihood);
        // Moved rows in the order of their places, so that sums have the same bits run after run.
        const unsigned votes = __ballot_sync(every_lane, moved);
        for (unsigned warp = 0; warp < block_warps; ++warp) {
          if (threadIdx.x / warp_size == warp) {
            const unsigned before = moved_count + __popc(votes & ((1U << (threadIdx.x % warp_size)) - 1));
            if (moved) tile.moved[before] = r;
            __syncwarp();
            if (threadIdx.x % warp_size == 0) moved_count += __popc(votes);
          }
          block.sync();
        }
      }
      const unsigned moved = moved_count;
      if (moved != 0) add_changes(a, own, tile, tile_begin, moved, delta);
      any = any || moved != 0;
      block.sync();
    }
    if (!any) continue;
    ++folded;
    if (a.local_models && place + 1 < last) maximise_block(a, own, work);
  }
  log_likelihood = block.sum(log_likelihood);
  if (threadIdx.x != 0) return;
  delta[log_likelihood_at] = log_likelihood;
  delta[far_rows_at] = folded;
}

__global__ void consolidate_kernel(double* total, const double* deltas, unsigned blocks, std::size_t size,
                                   const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const std::size_t e = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (e >= size) return;
  const bool replaced = e == log_likelihood_at || e == far_rows_at;
  double sum = replaced ? 0 : total[e];
#pragma unroll 8
  for (unsigned block = 0; block < blocks; ++block) sum += deltas[block * size + e];
  total[e] = sum;
}

template <class Scalar>
std::size_t tile_bytes(const device_layout& layout, unsigned rows) {
  return block_warps * component_work(layout.type, layout.columns) * sizeof(double) +
         rows * (layout.components * sizeof(Scalar) + sizeof(unsigned));
}

}  // namespace

std::size_t block_models_scratch(const device_layout& layout) {
  const std::size_t size = layout.header + layout.components * layout.component_size;
  return layout.components * (layout.columns + factor_size(layout) + 1) + size;
}

template <class Scalar>
unsigned block_models_tile(const device_layout& layout, std::size_t shared_bytes) {
  unsigned rows = most_tile_rows;
  while (rows >= block_threads && tile_bytes<Scalar>(layout, rows) + static_shared_bytes > shared_bytes) rows /= 2;
  return rows >= block_threads ? rows : 0;
}
template unsigned block_models_tile<float>(const device_layout&, std::size_t);
template unsigned block_models_tile<double>(const device_layout&, std::size_t);

template <class Scalar>
void visit_by_block_models(const block_models_arguments<Scalar>& arguments, cudaStream_t stream) {
  const unsigned blocks = (arguments.chunks + arguments.superchunk - 1) / arguments.superchunk;
  cuda::launch_in_turn(block_models_kernel<Scalar>, blocks, block_threads,
                       tile_bytes<Scalar>(arguments.layout, arguments.tile_rows), stream, arguments);
}
template void visit_by_block_models(const block_models_arguments<float>&, cudaStream_t);
template void visit_by_block_models(const block_models_arguments<double>&, cudaStream_t);

void consolidate_blocks(double* total, const double* deltas, unsigned blocks, std::size_t size, const int* stopped,
                        cudaStream_t stream) {
  constexpr unsigned threads = 64;
  cuda::launch_in_turn(consolidate_kernel, static_cast<unsigned>((size + threads - 1) / threads), threads, 0, stream,
                       total, deltas, blocks, size, stopped);
}

}  // namespace shoal::gmm
