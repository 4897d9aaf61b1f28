#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/kept_kernels.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned warp = 32;
constexpr unsigned most_threads = 256;

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

__host__ __device__ inline unsigned block_count(const device_layout& layout) {
  switch (layout.type) {
    case covariance_type::full:
      return 1 + layout.components * (layout.columns + 1);
    case covariance_type::tied:
      return 1 + layout.components + layout.columns;
    default:
      return 1 + layout.components;
  }
}

__device__ inline block_part part_of(const device_layout& layout, unsigned block) {
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

unsigned threads_for(const device_layout& layout) {
  return std::min(most_threads, (layout.columns + warp) / warp * warp);
}

// One superchunk's sums, and how far its centres are from the present ones.
struct kept_view {
  const double* sums;
  const double* centres;  // null: the present ones

  __device__ kept_view(const kept_arguments& a, unsigned superchunk) {
    const bool visited = superchunk == a.superchunk;
    sums = visited ? a.fresh : a.kept + superchunk * a.size;
    centres = visited ? nullptr : a.kept_centres + std::size_t{superchunk} * a.layout.components * a.layout.columns;
  }
  __device__ double shift(const kept_arguments& a, unsigned k, unsigned j) const {
    if (centres == nullptr) return 0;
    const std::size_t at = std::size_t{k} * a.layout.columns + j;
    return centres[at] - a.centres[at];
  }
};

__device__ void sum_header(const kept_arguments& a) {
  for (unsigned e = threadIdx.x; e < a.layout.header; e += blockDim.x) {
    double sum = 0;
    for (unsigned s = 0; s < a.superchunks; ++s) sum += kept_view(a, s).sums[e];
    a.total[e] = sum;
    a.kept[a.superchunk * a.size + e] = a.fresh[e];
  }
}

__device__ void keep_centre(const kept_arguments& a, unsigned k, unsigned j) {
  const std::size_t columns = a.layout.columns, at = std::size_t{k} * columns + j;
  a.kept_centres[a.superchunk * a.layout.components * columns + at] = a.centres[at];
}

__device__ void sum_full_row(const kept_arguments& a, unsigned k, unsigned i) {
  const unsigned d = a.layout.columns;
  const std::size_t start = a.layout.header + k * a.layout.component_size;
  const std::size_t row = start + triangle_row(d + 1, i);
  for (unsigned j = i + threadIdx.x; j <= d; j += blockDim.x) {
    double sum = 0;
#pragma unroll 4
    for (unsigned s = 0; s < a.superchunks; ++s) {
      const kept_view from(a, s);
      double value = from.sums[row + j];
      if (i < d) {
        const double weight = from.sums[start + a.layout.weight];
        const double shift_i = from.shift(a, k, i);
        if (j == d) {
          value += weight * shift_i;
        } else {
          const double shift_j = from.shift(a, k, j);
          const double first_i = from.sums[row + d];
          const double first_j = from.sums[start + triangle_row(d + 1, j) + d];
          value += first_i * shift_j + shift_i * first_j + weight * shift_i * shift_j;
        }
      }
      sum += value;
    }
    a.total[row + j] = sum;
    a.kept[a.superchunk * a.size + row + j] = a.fresh[row + j];
    if (i == 0 && j < d) keep_centre(a, k, j);
  }
}

__device__ void sum_tied_component(const kept_arguments& a, unsigned k) {
  const unsigned d = a.layout.columns;
  const std::size_t start = a.layout.header + k * a.layout.component_size;
  for (unsigned j = threadIdx.x; j <= d; j += blockDim.x) {
    double sum = 0;
    for (unsigned s = 0; s < a.superchunks; ++s) {
      const kept_view from(a, s);
      sum += from.sums[start + j];
      if (j < d) sum += from.sums[start + a.layout.weight] * from.shift(a, k, j);
    }
    a.total[start + j] = sum;
    a.kept[a.superchunk * a.size + start + j] = a.fresh[start + j];
    if (j < d) keep_centre(a, k, j);
  }
}

__device__ void sum_shared_row(const kept_arguments& a, unsigned i) {
  const unsigned d = a.layout.columns;
  const std::size_t row = a.layout.shared + triangle_row(d, i);
  for (unsigned j = i + threadIdx.x; j < d; j += blockDim.x) {
    double sum = 0;
    for (unsigned s = 0; s < a.superchunks; ++s) {
      const kept_view from(a, s);
      sum += from.sums[row + j];
      if (s == a.superchunk) continue;
      for (unsigned k = 0; k < a.layout.components; ++k) {
        const double* const own = from.sums + a.layout.header + k * a.layout.component_size;
        const double shift_i = from.shift(a, k, i), shift_j = from.shift(a, k, j);
        sum += own[i] * shift_j + shift_i * own[j] + own[a.layout.weight] * shift_i * shift_j;
      }
    }
    a.total[row + j] = sum;
    a.kept[a.superchunk * a.size + row + j] = a.fresh[row + j];
  }
}

// Of a spherical component only the sum of second moments means anything, and it lies in one of their places; the sum
// of what is added is right wherever it is added.
__device__ void sum_diagonal(const kept_arguments& a, unsigned k) {
  const unsigned d = a.layout.columns;
  const std::size_t start = a.layout.header + k * a.layout.component_size;
  const std::size_t first = start + 1, second = first + d;
  double* const visited = a.kept + a.superchunk * a.size;
  for (unsigned j = threadIdx.x; j < d; j += blockDim.x) {
    double first_sum = 0, second_sum = 0;
#pragma unroll 4
    for (unsigned s = 0; s < a.superchunks; ++s) {
      const kept_view from(a, s);
      const double shift = from.shift(a, k, j);
      const double weight = from.sums[start], moment = from.sums[first + j];
      first_sum += moment + weight * shift;
      second_sum += from.sums[second + j] + shift * (2 * moment + weight * shift);
    }
    a.total[first + j] = first_sum;
    a.total[second + j] = second_sum;
    visited[first + j] = a.fresh[first + j];
    visited[second + j] = a.fresh[second + j];
    keep_centre(a, k, j);
  }
  if (threadIdx.x == 0) {
    double sum = 0;
    for (unsigned s = 0; s < a.superchunks; ++s) sum += kept_view(a, s).sums[start];
    a.total[start] = sum;
    visited[start] = a.fresh[start];
  }
}

__global__ void replace_kept_kernel(const __grid_constant__ kept_arguments a) {
  cuda::wait_for_predecessor();
  if (*a.stopped != 0) return;
  const block_part mine = part_of(a.layout, blockIdx.x);
  switch (mine.what) {
    case part::header:
      sum_header(a);
      break;
    case part::full_row:
      sum_full_row(a, mine.component, mine.row);
      break;
    case part::tied_component:
      sum_tied_component(a, mine.component);
      break;
    case part::shared_row:
      sum_shared_row(a, mine.row);
      break;
    case part::diagonal:
      sum_diagonal(a, mine.component);
      break;
  }
}

// What one step takes of its rows and leaves of the model.
struct shares {
  double rows;
  double model;

  __device__ explicit shares(const mix_arguments& a) {
    const double weight = a.fresh[total_weight_at];
    rows = weight > 0 ? a.step_size / weight : 0;
    model = weight > 0 ? 1 - a.step_size : 1;
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
  cuda::launch_in_turn(replace_kept_kernel, block_count(arguments.layout), threads_for(arguments.layout), 0, stream,
                       arguments);
}

void mix_with_model(const mix_arguments& arguments, cudaStream_t stream) {
  cuda::launch_in_turn(mix_kernel, block_count(arguments.layout), threads_for(arguments.layout), 0, stream, arguments);
}

}  // namespace shoal::gmm
