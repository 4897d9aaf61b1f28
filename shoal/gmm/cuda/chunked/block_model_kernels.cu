#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/chunked/block_model_kernels.hpp>
#include <shoal/gmm/cuda/step/prepare_component.cuh>
#include <shoal/gmm/jump_rule.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned block_threads = 128;
constexpr unsigned block_warps = block_threads / cuda::warp_size;
constexpr unsigned most_tile_rows = 4 * block_threads;
constexpr unsigned sum_threads = 64;

// Up to so many columns a row is kept in registers; wider ones are read again for each component.
constexpr unsigned most_register_columns = 16;

// As in maximise.cpp.
constexpr double least_weight = 10 * std::numeric_limits<double>::epsilon();

__host__ __device__ inline std::size_t factor_size(const kernel_layout& layout) {
  return layout.type == covariance_type::full ? std::size_t{layout.columns} * layout.columns : layout.columns;
}

__host__ __device__ inline std::size_t block_work(const kernel_layout& layout) {
  return block_warps * component_work(layout.type, layout.columns);
}

// A block's own model and statistics.
struct block_memory {
  double* offsets;        // [K][d]
  double* factors;        // [K] factors
  double* log_constants;  // [K] with everything that is the same for all rows
  double* total;          // [size] about the present centres
  double* work;           // [block_work()], where it is not in shared memory

  template <class Scalar>
  __device__ explicit block_memory(const block_models_arguments<Scalar>& a) {
    const std::size_t K = a.layout.components, d = a.layout.columns;
    double* next = a.scratch + blockIdx.x * (K * (d + factor_size(a.layout) + 1) + a.size + block_work(a.layout));
    offsets = next;
    factors = offsets + K * d;
    log_constants = factors + K * factor_size(a.layout);
    total = log_constants + K;
    work = total + a.size;
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

// A row in registers.
template <class Scalar>
struct narrow_row {
  double values[most_register_columns];

  __device__ narrow_row(const Scalar* row, unsigned columns) {
#pragma unroll
    for (unsigned i = 0; i < most_register_columns; ++i) {
      if (i < columns) values[i] = static_cast<double>(row[i]);
    }
  }

  // ‖offset + factorᵀ (x − centre)‖²
  __device__ double norm(const kernel_layout& layout, const double* centre, const double* offset,
                         const double* factor) const {
    const unsigned d = layout.columns;
    double z[most_register_columns];
#pragma unroll
    for (unsigned i = 0; i < most_register_columns; ++i) {
      if (i < d) z[i] = values[i] - centre[i];
    }
    double norm = 0;
#pragma unroll
    for (unsigned j = 0; j < most_register_columns; ++j) {
      if (j >= d) break;
      double y = offset[j];
      if (layout.type == covariance_type::full) {
#pragma unroll
        for (unsigned i = 0; i <= j; ++i) y = fma(factor[i * d + j], z[i], y);
      } else {
        y = fma(factor[j], z[j], y);
      }
      norm = fma(y, y, norm);
    }
    return norm;
  }
};

// A row in memory.
template <class Scalar>
struct wide_row {
  const Scalar* values;

  __device__ wide_row(const Scalar* row, unsigned) : values(row) {}

  __device__ double norm(const kernel_layout& layout, const double* centre, const double* offset,
                         const double* factor) const {
    const unsigned d = layout.columns;
    double norm = 0;
    for (unsigned j = 0; j < d; ++j) {
      double y = offset[j];
      if (layout.type == covariance_type::full) {
        for (unsigned i = 0; i <= j; ++i) {
          y = fma(factor[std::size_t{i} * d + j], static_cast<double>(values[i]) - centre[i], y);
        }
      } else {
        y = fma(factor[j], static_cast<double>(values[j]) - centre[j], y);
      }
      norm = fma(y, y, norm);
    }
    return norm;
  }
};

// ln πₖ N(x; μₖ, Σₖ) of a row under the block's model.
template <class Scalar, class Row>
__device__ double log_density(const block_models_arguments<Scalar>& a, const block_memory& own, unsigned k,
                              const Row& row) {
  const std::size_t d = a.layout.columns;
  return own.log_constants[k] - 0.5 * row.norm(a.layout, a.components.centres + k * d, own.offsets + k * d,
                                               own.factors + k * factor_size(a.layout));
}

// What a block has in shared memory: for every row of a tile what its responsibilities changed by, and which rows did.
template <class Scalar>
struct tile_memory {
  Scalar* changes;  // [part of the components][tile_rows]
  unsigned* moved;  // [tile_rows]

  __device__ tile_memory(unsigned char* memory, unsigned part, unsigned tile_rows) {
    changes = reinterpret_cast<Scalar*>(memory);
    moved = reinterpret_cast<unsigned*>(changes + std::size_t{part} * tile_rows);
  }
};

// A thread's row, its place in the tile, and the logarithm of its density.
template <class Row>
struct visited_row {
  Row row;
  std::size_t index;
  unsigned place;
  double log_p;

  template <class Scalar>
  __device__ visited_row(const block_models_arguments<Scalar>& a, std::size_t tile_begin, unsigned place, double log_p)
      : row(a.rows + (tile_begin + place) * a.layout.columns, a.layout.columns),
        index(tile_begin + place),
        place(place),
        log_p(log_p) {}
};

// The logarithm of a row's density.
template <class Row, class Scalar>
__device__ double log_density_of(const block_models_arguments<Scalar>& a, const block_memory& own, const Row& row) {
  const unsigned K = a.layout.components;
  // Sums of exponentials that are rescaled when a greater one comes: densities themselves are computed twice, which
  // takes less memory than to keep them in float64.
  double greatest = -INFINITY, sum = 0;
  for (unsigned k = 0; k < K; ++k) {
    const double term = log_density(a, own, k, row);
    if (term > greatest) {
      sum = sum * exp(greatest - term) + 1;
      greatest = term;
    } else if (term > -INFINITY) {
      sum += exp(term - greatest);
    }
  }
  return greatest + log(sum);
}

template <class Row, class Scalar>
__device__ Scalar responsibility(const block_models_arguments<Scalar>& a, const block_memory& own, unsigned k,
                                 const visited_row<Row>& visited) {
  return static_cast<Scalar>(exp(log_density(a, own, k, visited.row) - visited.log_p));
}

// Whether a row's responsibilities moved. When all components are in the tile, they stay there for take_changes().
template <class Row, class Scalar>
__device__ bool has_moved(const block_models_arguments<Scalar>& a, const block_memory& own,
                          const tile_memory<Scalar>& tile, const visited_row<Row>& visited) {
  const unsigned K = a.layout.components;
  const Scalar* const memberships = a.memberships + visited.index * K;
  double movement = 0;
  for (unsigned k = 0; k < K; ++k) {
    const Scalar now = responsibility(a, own, k, visited);
    if (a.part == K) tile.changes[std::size_t{k} * a.tile_rows + visited.place] = now;
    movement += fabs(static_cast<double>(now) - static_cast<double>(memberships[k]));
  }
  return movement > a.threshold;
}

// The memberships of a row that moved take its responsibilities, for the components from `first` on that are in the
// tile.
template <class Row, class Scalar>
__device__ void take_changes(const block_models_arguments<Scalar>& a, const block_memory& own,
                             const tile_memory<Scalar>& tile, const visited_row<Row>& visited, unsigned first) {
  const unsigned K = a.layout.components;
  Scalar* const memberships = a.memberships + visited.index * K;
  for (unsigned k = first; k < min(first + a.part, K); ++k) {
    Scalar& change = tile.changes[std::size_t{k - first} * a.tile_rows + visited.place];
    const Scalar now = a.part == K ? change : responsibility(a, own, k, visited);
    change = now - memberships[k];
    memberships[k] = now;
  }
}

// Element `e` of a component's sums as a product of two columns of (x − c, 1).
struct moment {
  unsigned first;   // d: one
  unsigned second;  // d: one

  __device__ moment(const kernel_layout& layout, unsigned e) : first(layout.columns), second(layout.columns) {
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

// Adds what the moved rows changed to the block's sums of the components in the tile, a thread for each of these.
template <class Scalar>
__device__ void add_changes(const block_models_arguments<Scalar>& a, const block_memory& own,
                            const tile_memory<Scalar>& tile, std::size_t first_row, unsigned moved,
                            unsigned first_component, double* delta) {
  const std::size_t d = a.layout.columns;
  const auto each = static_cast<unsigned>(a.layout.component_size);
  const unsigned components = min(a.part, a.layout.components - first_component);
  const std::size_t before = a.layout.header + std::size_t{first_component} * each;
  for (unsigned e = threadIdx.x; e < components * each; e += block_threads) {
    const unsigned k = e / each;
    const moment of(a.layout, e % each);
    const double* const centre = a.components.centres + (first_component + k) * d;
    const double first_centre = of.first < d ? centre[of.first] : 0;
    const double second_centre = of.second < d ? centre[of.second] : 0;
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
    own.total[before + e] += sum;
    delta[before + e] += sum;
  }
}

// A component of full from its sums, by a warp; `work` [component_work()].
template <class Scalar>
__device__ void maximise_full(const cuda::warp_group& warp, const block_models_arguments<Scalar>& a,
                              const block_memory& own, unsigned k, double share, double log_weight, double* work) {
  const unsigned d = a.layout.columns;
  const unsigned stride = matrix_stride(d);
  const double* const sums = own.total + a.layout.header + k * a.layout.component_size;
  const auto row_of = [d](unsigned i) { return i * (d + 1) - i * (i + 1) / 2; };
  double* const roots = work + std::size_t{d} * stride;
  for (unsigned e = warp.rank; e < d * (d + 1); e += cuda::warp_size) {
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
  bool jumped = false;
  for (unsigned j = warp.rank; j < d; j += cuda::warp_size) {
    const double whitened = work[j * stride + d] * roots[j];
    jumped = jumped || outweighs(__dmul_rn(whitened, whitened), 1, jump_limit_of(sizeof(Scalar)));
  }
  if (warp.any(jumped)) return;
  double* const factor = own.factors + std::size_t{k} * d * d;
  for (unsigned e = warp.rank; e < d * d; e += cuda::warp_size) {
    const unsigned i = e / d, j = e % d;
    factor[e] = i < j ? work[j * stride + i] * roots[j] : (i == j ? roots[j] : 0);
  }
  for (unsigned j = warp.rank; j < d; j += cuda::warp_size) own.offsets[k * d + j] = -work[j * stride + d] * roots[j];
  if (warp.rank == 0) own.log_constants[k] = log_weight + logarithms;
}

template <class Scalar>
__device__ void maximise_diagonal(const cuda::warp_group& warp, const block_models_arguments<Scalar>& a,
                                  const block_memory& own, unsigned k, double share, double log_weight) {
  const unsigned d = a.layout.columns;
  const double* const sums = own.total + a.layout.header + k * a.layout.component_size;
  const auto moments_of = [&](unsigned j, double& delta) {
    delta = sums[1 + j] * share;
    return fmax(sums[1 + d + j] * share - delta * delta, 0.0) + a.regularization;
  };
  double logarithms = 0, delta = 0;
  bool good = true;
  for (unsigned j = warp.rank; j < d; j += cuda::warp_size) {
    const double variance = moments_of(j, delta);
    good = good && variance > 0 && !isinf(variance) &&
           !outweighs(__dmul_rn(delta, delta), variance, jump_limit_of(sizeof(Scalar)));
    logarithms -= 0.5 * log(variance);
  }
  logarithms = warp.sum(logarithms);
  if (warp.any(!good)) return;
  for (unsigned j = warp.rank; j < d; j += cuda::warp_size) {
    const double inverse = 1 / sqrt(moments_of(j, delta));
    own.factors[std::size_t{k} * d + j] = inverse;
    own.offsets[std::size_t{k} * d + j] = -inverse * delta;
  }
  if (warp.rank == 0) own.log_constants[k] = log_weight + logarithms;
}

// The block's model from its statistics, a warp for each component.
template <class Scalar>
__device__ void maximise_block(const block_models_arguments<Scalar>& a, const block_memory& own, double* work) {
  const cuda::warp_group warp;
  const unsigned K = a.layout.components;
  const auto weight_of = [&](unsigned k) {
    return fmax(own.total[a.layout.header + k * a.layout.component_size + a.layout.weight], 0.0);
  };
  double total = 0;
  for (unsigned k = 0; k < K; ++k) total += weight_of(k);
  const double constant = -static_cast<double>(a.layout.columns) * half_log_two_pi;
  for (unsigned k = threadIdx.x / cuda::warp_size; k < K; k += block_warps) {
    const double weight = weight_of(k);
    if (!(weight > least_weight)) {
      if (warp.rank == 0) own.log_constants[k] = -INFINITY;
      continue;
    }
    const double log_weight = log(weight / total) + constant;
    if (a.layout.type == covariance_type::full) {
      maximise_full(warp, a, own, k, 1 / weight, log_weight,
                    work + threadIdx.x / cuda::warp_size * component_work(a.layout.type, a.layout.columns));
    } else {
      maximise_diagonal(warp, a, own, k, 1 / weight, log_weight);
    }
    warp.sync();
  }
}

template <class Row, class Scalar>
__global__ void __launch_bounds__(block_threads)
    block_models_kernel(const __grid_constant__ block_models_arguments<Scalar> a) {
  extern __shared__ double shared[];
  __shared__ unsigned moved_count;
  cuda::wait_for_predecessor();
  if (*a.stopped != 0) return;
  const unsigned K = a.layout.components;
  const cuda::block_group block;
  const block_memory own(a);
  double* const delta = a.deltas + blockIdx.x * a.size;
  double* const work = a.shared_work ? shared : own.work;
  const tile_memory<Scalar> tile(
      reinterpret_cast<unsigned char*>(shared + (a.shared_work ? block_work(a.layout) : std::size_t{0})), a.part,
      a.tile_rows);
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
      bool moved = false;  // the last row that the thread looked at, and its density
      double log_p = 0;
      for (unsigned base = 0; base < count; base += block_threads) {
        const unsigned r = base + threadIdx.x;
        moved = false;
        if (r < count) {
          visited_row<Row> visited(a, tile_begin, r, 0);
          visited.log_p = log_p = log_density_of(a, own, visited.row);
          const double weight = a.weights == nullptr ? 1.0 : static_cast<double>(a.weights[visited.index]);
          if (weight > 0) log_likelihood += weight * log_p;  // a row that weighs nothing may have a density of zero
          moved = has_moved(a, own, tile, visited);
          if (moved && a.part == K) take_changes(a, own, tile, visited, 0);
        }
        // Moved rows in the order of their places, so that sums have the same bits run after run.
        const unsigned votes = __ballot_sync(cuda::every_lane, moved);
        for (unsigned warp = 0; warp < block_warps; ++warp) {
          if (threadIdx.x / cuda::warp_size == warp) {
            const unsigned before = moved_count + __popc(votes & ((1U << (threadIdx.x % cuda::warp_size)) - 1));
            if (moved) tile.moved[before] = r;
            __syncwarp();
            if (threadIdx.x % cuda::warp_size == 0) moved_count += __popc(votes);
          }
          block.sync();
        }
      }
      const unsigned moved_rows = moved_count;
      any = any || moved_rows != 0;
      for (unsigned part = 0; part < K && moved_rows != 0; part += a.part) {
        if (a.part < K) {  // a tile has one row for each thread then
          if (part != 0) block.sync();
          if (moved) take_changes(a, own, tile, visited_row<Row>(a, tile_begin, threadIdx.x, log_p), part);
          block.sync();
        }
        add_changes(a, own, tile, tile_begin, moved_rows, part, delta);
      }
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

__global__ void sum_blocks_kernel(double* sum, const double* deltas, unsigned blocks, std::size_t size,
                                  const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const std::size_t e = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (e >= size) return;
  double all = 0;
#pragma unroll 8
  for (unsigned block = 0; block < blocks; ++block) all += deltas[block * size + e];
  sum[e] = all;
}

__global__ void add_sums_kernel(double* total, const double* sum, std::size_t size, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const std::size_t e = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (e >= size) return;
  const bool replaced = e == log_likelihood_at || e == far_rows_at;
  total[e] = replaced ? sum[e] : total[e] + sum[e];
}

std::size_t tile_bytes(const kernel_layout& layout, const block_models_tile& tile, std::size_t scalar_bytes) {
  return (tile.shared_work ? block_work(layout) * sizeof(double) : 0) +
         tile.rows * (tile.part * scalar_bytes + sizeof(unsigned));
}

}  // namespace

std::size_t block_models_scratch(const kernel_layout& layout) {
  const std::size_t size = layout.header + layout.components * layout.component_size;
  return layout.components * (layout.columns + factor_size(layout) + 1) + size + block_work(layout);
}

block_models_tile choose_block_models_tile(const kernel_layout& layout, std::size_t scalar_bytes,
                                           std::size_t shared_bytes) {
  const std::size_t usable = shared_bytes - static_shared_bytes;
  const auto fits = [&](const block_models_tile& tile) { return tile_bytes(layout, tile, scalar_bytes) <= usable; };
  block_models_tile tile{most_tile_rows, layout.components, true};
  tile.shared_work = block_work(layout) * sizeof(double) <= usable / 2;
  while (tile.rows > block_threads && !fits(tile)) tile.rows /= 2;
  while (tile.part > 1 && !fits(tile)) tile.part = (tile.part + 1) / 2;
  return tile;
}

template <class Scalar>
void visit_by_block_models(const block_models_arguments<Scalar>& arguments, cudaStream_t stream) {
  const unsigned blocks = (arguments.chunks + arguments.superchunk - 1) / arguments.superchunk;
  const std::size_t bytes =
      tile_bytes(arguments.layout, {arguments.tile_rows, arguments.part, arguments.shared_work}, sizeof(Scalar));
  if (arguments.layout.columns <= most_register_columns) {
    cuda::launch_in_turn(block_models_kernel<narrow_row<Scalar>, Scalar>, blocks, block_threads, bytes, stream,
                         arguments);
  } else {
    cuda::launch_in_turn(block_models_kernel<wide_row<Scalar>, Scalar>, blocks, block_threads, bytes, stream,
                         arguments);
  }
}
template void visit_by_block_models(const block_models_arguments<float>&, cudaStream_t);
template void visit_by_block_models(const block_models_arguments<double>&, cudaStream_t);

void sum_blocks(double* sum, const double* deltas, unsigned blocks, std::size_t size, const int* stopped,
                cudaStream_t stream) {
  cuda::launch_in_turn(sum_blocks_kernel, static_cast<unsigned>((size + sum_threads - 1) / sum_threads), sum_threads, 0,
                       stream, sum, deltas, blocks, size, stopped);
}

void add_block_sums(double* total, const double* sum, std::size_t size, const int* stopped, cudaStream_t stream) {
  cuda::launch_in_turn(add_sums_kernel, static_cast<unsigned>((size + sum_threads - 1) / sum_threads), sum_threads, 0,
                       stream, total, sum, size, stopped);
}

}  // namespace shoal::gmm
