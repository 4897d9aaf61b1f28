#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/estimation/step_for.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/chunked/kept_kernels.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned warp = 32;
constexpr unsigned most_threads = 256;
constexpr unsigned most_sum_threads = 512;

// Where sums lie in the part of one component, and of tied components in the part of all. A block does a row of a
// triangle: row i of (x − c, 1)(x − c, 1)ᵀ of a component of full, and row i of the triangle that tied ones share.
__host__ __device__ inline unsigned triangle_row(unsigned order, unsigned row) {
  return row * order - row * (row + 1) / 2;
}

enum class part : int { header, full_row, tied_component, shared_row, diagonal };

struct block_part {
  part what = part::header;
  unsigned component = 0;
  unsigned row = 0;
};

__host__ __device__ inline unsigned block_count(const kernel_layout& layout) {
  switch (layout.type) {
    case covariance_type::full:
      return 1 + layout.components * (layout.columns + 1);
    case covariance_type::tied:
      return 1 + layout.components + layout.columns;
    default:
      return 1 + layout.components;
  }
}

__device__ inline block_part part_of(const kernel_layout& layout, unsigned block) {
  if (block == 0) return {};
  --block;
  switch (layout.type) {
    case covariance_type::full:
      return {part::full_row, block / (layout.columns + 1), block % (layout.columns + 1)};
    case covariance_type::tied:
      if (block < layout.components) return {part::tied_component, block, 0};
      return {part::shared_row, 0, block - layout.components};
    default:
      return {part::diagonal, block, 0};
  }
}

// Threads for the elements of a row, and for superchunks.
dim3 sum_threads(const kept_arguments& a) {
  unsigned elements = 4;
  while (elements < most_threads && elements <= a.layout.columns) elements *= 2;
  return {elements, std::clamp(a.superchunks, warp / elements, most_sum_threads / elements)};
}

unsigned threads_for(const kernel_layout& layout) {
  return std::min(most_threads, (layout.columns + warp) / warp * warp);
}

// One superchunk's sums, and how far its centres are from the present ones.
struct kept_view {
  const double* sums;
  const double* centres;

  __device__ kept_view(const kept_arguments& a, unsigned superchunk, bool fresh) {
    sums = fresh ? a.fresh : a.kept + superchunk * a.size;
    centres =
        fresh ? a.fresh_centres : a.kept_centres + std::size_t{superchunk} * a.layout.components * a.layout.columns;
  }
  __device__ double shift(const kept_arguments& a, unsigned k, unsigned j) const {
    const std::size_t at = std::size_t{k} * a.layout.columns + j;
    return centres[at] - a.centres[at];
  }
};

// How a block sums superchunks: a column of threads for each element, a row of them for every so many superchunks, so
// that all are read at once. They are added in an order that the launch alone decides.
struct summation {
  bool moved;
  double* partial;  // [blockDim.y][blockDim.x]

  __device__ summation(const kept_arguments& a, double* shared)
      : moved(a.moved == nullptr || *a.moved != 0), partial(shared) {}

  __device__ bool writes() const { return threadIdx.y == 0; }

  // Σ term(superchunk as it is now), in the threads that write; called by all threads of the block.
  template <class Term>
  __device__ double sum(const kept_arguments& a, bool wanted, const Term& term) const {
    double own = 0;
    if (wanted) {
      for (unsigned s = threadIdx.y; s < a.superchunks; s += blockDim.y) {
        own += term(kept_view(a, s, moved && s == a.superchunk));
      }
    }
    partial[threadIdx.y * blockDim.x + threadIdx.x] = own;
    __syncthreads();
    double all = 0;
    if (writes()) {
      for (unsigned y = 0; y < blockDim.y; ++y) all += partial[y * blockDim.x + threadIdx.x];
    }
    __syncthreads();
    return all;
  }

  __device__ void write(const kept_arguments& a, std::size_t element, double sum) const {
    a.total[element] = sum;
    if (moved) a.kept[a.superchunk * a.size + element] = a.fresh[element];
  }

  __device__ void keep_centre(const kept_arguments& a, unsigned k, unsigned j) const {
    const std::size_t columns = a.layout.columns, at = std::size_t{k} * columns + j;
    if (moved) a.kept_centres[a.superchunk * a.layout.components * columns + at] = a.fresh_centres[at];
  }
};

__device__ void sum_header(const kept_arguments& a, const summation& over) {
  const unsigned e = threadIdx.x;
  const bool wanted = e < a.layout.header;
  double sum = over.sum(a, wanted, [&](const kept_view& from) { return from.sums[e]; });
  if (!wanted || !over.writes()) return;
  if (!over.moved && e == log_likelihood_at) {
    double& kept = a.kept[a.superchunk * a.size + e];
    sum += a.fresh[e] - kept;
    kept = a.fresh[e];
  }
  over.write(a, e, sum);
}

__device__ void sum_full_row(const kept_arguments& a, const summation& over, unsigned k, unsigned i) {
  const unsigned d = a.layout.columns;
  const std::size_t start = a.layout.header + k * a.layout.component_size;
  const std::size_t row = start + triangle_row(d + 1, i);
  for (unsigned first = i; first <= d; first += blockDim.x) {
    const unsigned j = first + threadIdx.x;
    const double sum = over.sum(a, j <= d, [&](const kept_view& from) {
      const double value = from.sums[row + j];
      if (i == d) return value;
      const double weight = from.sums[start + a.layout.weight];
      const double shift_i = from.shift(a, k, i);
      if (j == d) return value + weight * shift_i;
      const double shift_j = from.shift(a, k, j);
      const double first_i = from.sums[row + d];
      const double first_j = from.sums[start + triangle_row(d + 1, j) + d];
      return value + (first_i * shift_j + shift_i * first_j + weight * shift_i * shift_j);
    });
    if (j > d || !over.writes()) continue;
    over.write(a, row + j, sum);
    if (i == 0 && j < d) over.keep_centre(a, k, j);
  }
}

__device__ void sum_tied_component(const kept_arguments& a, const summation& over, unsigned k) {
  const unsigned d = a.layout.columns;
  const std::size_t start = a.layout.header + k * a.layout.component_size;
  for (unsigned first = 0; first <= d; first += blockDim.x) {
    const unsigned j = first + threadIdx.x;
    const double sum = over.sum(a, j <= d, [&](const kept_view& from) {
      const double value = from.sums[start + j];
      return j < d ? value + from.sums[start + a.layout.weight] * from.shift(a, k, j) : value;
    });
    if (j > d || !over.writes()) continue;
    over.write(a, start + j, sum);
    if (j < d) over.keep_centre(a, k, j);
  }
}

__device__ void sum_shared_row(const kept_arguments& a, const summation& over, unsigned i) {
  const unsigned d = a.layout.columns;
  const std::size_t row = a.layout.shared + triangle_row(d, i);
  for (unsigned first = i; first < d; first += blockDim.x) {
    const unsigned j = first + threadIdx.x;
    const double sum = over.sum(a, j < d, [&](const kept_view& from) {
      double value = from.sums[row + j];
      for (unsigned k = 0; k < a.layout.components; ++k) {
        const double* const own = from.sums + a.layout.header + k * a.layout.component_size;
        const double shift_i = from.shift(a, k, i), shift_j = from.shift(a, k, j);
        value += own[i] * shift_j + shift_i * own[j] + own[a.layout.weight] * shift_i * shift_j;
      }
      return value;
    });
    if (j < d && over.writes()) over.write(a, row + j, sum);
  }
}

// Of a spherical component only the sum of second moments means anything, and it lies in one of their places; the sum
// of what is added is right wherever it is added.
__device__ void sum_diagonal(const kept_arguments& a, const summation& over, unsigned k) {
  const unsigned d = a.layout.columns;
  const std::size_t start = a.layout.header + k * a.layout.component_size;
  const std::size_t first_moments = start + 1, second_moments = first_moments + d;
  // The last element is the weight.
  for (unsigned first = 0; first <= d; first += blockDim.x) {
    const unsigned j = first + threadIdx.x;
    const double first_sum = over.sum(a, j <= d, [&](const kept_view& from) {
      const double weight = from.sums[start];
      return j < d ? from.sums[first_moments + j] + weight * from.shift(a, k, j) : weight;
    });
    const double second_sum = over.sum(a, j < d, [&](const kept_view& from) {
      const double shift = from.shift(a, k, j);
      return from.sums[second_moments + j] + shift * (2 * from.sums[first_moments + j] + from.sums[start] * shift);
    });
    if (j > d || !over.writes()) continue;
    over.write(a, j < d ? first_moments + j : start, first_sum);
    if (j == d) continue;
    over.write(a, second_moments + j, second_sum);
    over.keep_centre(a, k, j);
  }
}

__global__ void replace_kept_kernel(const __grid_constant__ kept_arguments a) {
  __shared__ double partial[most_sum_threads];
  cuda::wait_for_predecessor();
  if (*a.stopped != 0) return;
  const block_part at = part_of(a.layout, blockIdx.x);
  const summation over(a, partial);
  switch (at.what) {
    case part::header:
      sum_header(a, over);
      break;
    case part::full_row:
      sum_full_row(a, over, at.component, at.row);
      break;
    case part::tied_component:
      sum_tied_component(a, over, at.component);
      break;
    case part::shared_row:
      sum_shared_row(a, over, at.row);
      break;
    case part::diagonal:
      sum_diagonal(a, over, at.component);
      break;
  }
}

// By one block.
__global__ void look_for_movement_kernel(const __grid_constant__ kept_arguments a, double threshold, int* moved,
                                         int* folded) {
  cuda::wait_for_predecessor();
  if (*a.stopped != 0) return;
  const double* const before = a.kept + a.superchunk * a.size + a.layout.header + a.layout.weight;
  const double* const after = a.fresh + a.layout.header + a.layout.weight;
  double sum = 0;
  for (unsigned k = threadIdx.x; k < a.layout.components; k += warp) {
    sum += fabs(after[k * a.layout.component_size] - before[k * a.layout.component_size]);
  }
  sum = cuda::warp_sum(sum);
  if (threadIdx.x != 0) return;
  const double weight = a.fresh[total_weight_at];
  const bool is_moved = weight > 0 && sum / weight > threshold;
  *moved = is_moved ? 1 : 0;
  *folded += *moved;
}

// What one step takes of its rows and leaves of the model.
struct shares {
  double rows;
  double model;

  __device__ explicit shares(const mix_arguments& a) {
    const double weight = a.fresh[total_weight_at];
    const double step = step_for(a.step_size, weight, a.usual_weight);
    rows = weight > 0 ? step / weight : 0;
    model = weight > 0 ? 1 - step : 1;
  }
};

__device__ double delta(const mix_arguments& a, unsigned k, unsigned j) {
  const std::size_t at = std::size_t{k} * a.layout.columns + j;
  return a.model.means[at] - a.centres[at];
}

// An element of a covariance without what was added to its diagonal.
__device__ double own_covariance(const mix_arguments& a, double element, bool diagonal) {
  return diagonal ? fmax(element - a.regularization, 0.0) : element;
}

__device__ void mix_header(const mix_arguments& a) {
  if (threadIdx.x != 0) return;
  for (unsigned e = 0; e < a.layout.header; ++e) a.total[e] = 0;
  const double log_likelihood = (a.begins_pass ? 0 : a.course[0]) + a.fresh[log_likelihood_at];
  const double weight = (a.begins_pass ? 0 : a.course[1]) + a.fresh[total_weight_at];
  a.course[0] = a.total[log_likelihood_at] = log_likelihood;
  a.course[1] = a.total[total_weight_at] = weight;
}

__device__ void mix_full_row(const mix_arguments& a, const shares& of, unsigned k, unsigned i) {
  const unsigned d = a.layout.columns;
  const std::size_t row = a.layout.header + k * a.layout.component_size + triangle_row(d + 1, i);
  const double weight = a.model.weights[k];
  for (unsigned j = i + threadIdx.x; j <= d; j += blockDim.x) {
    double stood_for = weight;
    if (i < d && j == d) stood_for = weight * delta(a, k, i);
    if (j < d) {
      const double element = a.model.covariances[(std::size_t{k} * d + i) * d + j];
      stood_for = weight * (own_covariance(a, element, i == j) + delta(a, k, i) * delta(a, k, j));
    }
    a.total[row + j] = of.model * stood_for + of.rows * a.fresh[row + j];
  }
}

__device__ void mix_tied_component(const mix_arguments& a, const shares& of, unsigned k) {
  const unsigned d = a.layout.columns;
  const std::size_t start = a.layout.header + k * a.layout.component_size;
  const double weight = a.model.weights[k];
  for (unsigned j = threadIdx.x; j <= d; j += blockDim.x) {
    const double stood_for = j < d ? weight * delta(a, k, j) : weight;
    a.total[start + j] = of.model * stood_for + of.rows * a.fresh[start + j];
  }
}

__device__ void mix_shared_row(const mix_arguments& a, const shares& of, unsigned i) {
  const unsigned d = a.layout.columns;
  const std::size_t row = a.layout.shared + triangle_row(d, i);
  for (unsigned j = i + threadIdx.x; j < d; j += blockDim.x) {
    const double common = own_covariance(a, a.model.covariances[std::size_t{i} * d + j], i == j);
    double stood_for = 0;
    for (unsigned k = 0; k < a.layout.components; ++k) {
      stood_for += a.model.weights[k] * (common + delta(a, k, i) * delta(a, k, j));
    }
    a.total[row + j] = of.model * stood_for + of.rows * a.fresh[row + j];
  }
}

__device__ void mix_diagonal(const mix_arguments& a, const shares& of, unsigned k) {
  const unsigned d = a.layout.columns;
  const std::size_t start = a.layout.header + k * a.layout.component_size;
  const std::size_t first = start + 1, second = first + d;
  const double weight = a.model.weights[k];
  for (unsigned j = threadIdx.x; j < d; j += blockDim.x) {
    const double element =
        a.model.covariances[a.layout.type == covariance_type::diag ? std::size_t{k} * d + j : std::size_t{k}];
    const double by = delta(a, k, j);
    a.total[first + j] = of.model * weight * by + of.rows * a.fresh[first + j];
    a.total[second + j] =
        of.model * weight * (own_covariance(a, element, true) + by * by) + of.rows * a.fresh[second + j];
  }
  if (threadIdx.x == 0) a.total[start] = of.model * weight + of.rows * a.fresh[start];
}

__global__ void mix_kernel(const __grid_constant__ mix_arguments a) {
  cuda::wait_for_predecessor();
  if (*a.stopped != 0) return;
  const block_part mine = part_of(a.layout, blockIdx.x);
  const shares of(a);
  switch (mine.what) {
    case part::header:
      mix_header(a);
      break;
    case part::full_row:
      mix_full_row(a, of, mine.component, mine.row);
      break;
    case part::tied_component:
      mix_tied_component(a, of, mine.component);
      break;
    case part::shared_row:
      mix_shared_row(a, of, mine.row);
      break;
    case part::diagonal:
      mix_diagonal(a, of, mine.component);
      break;
  }
}

}  // namespace

void replace_kept(const kept_arguments& arguments, cudaStream_t stream) {
  cuda::launch_in_turn(replace_kept_kernel, block_count(arguments.layout), sum_threads(arguments), 0, stream,
                       arguments);
}

void look_for_movement(const kept_arguments& arguments, double threshold, int* moved, int* folded,
                       cudaStream_t stream) {
  cuda::launch_in_turn(look_for_movement_kernel, 1, warp, 0, stream, arguments, threshold, moved, folded);
}

void mix_with_model(const mix_arguments& arguments, cudaStream_t stream) {
  cuda::launch_in_turn(mix_kernel, block_count(arguments.layout), threads_for(arguments.layout), 0, stream, arguments);
}

}  // namespace shoal::gmm
