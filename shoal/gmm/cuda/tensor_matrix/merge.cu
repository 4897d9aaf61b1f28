// The last sums of the kernels for many columns: likelihoods into their lanes, and the lanes into statistics.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor_matrix/frame_layout.hpp>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

constexpr int threads = 128;

__global__ void __launch_bounds__(threads) likelihood_kernel(const problem mixture, const chunk rows) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int lane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int words = (rows.count + word_rows - 1) / word_rows;
  int word = lane - static_cast<int>(rows.share_first / word_rows % likelihood_lanes);
  if (word < 0) word += likelihood_lanes;
  double* const sums = mixture.likelihood + lane * likelihood_sums;
  double likelihood = sums[0];
  double weight = sums[1];
  double far = sums[2];
  for (; word < words; word += likelihood_lanes) {
    const double2 sum = mixture.word_sums[word];
    likelihood += sum.x;
    weight += sum.y;
    far += __popc(mixture.far_masks[word]);
  }
  sums[0] = likelihood;
  sums[1] = weight;
  sums[2] = far;
}

__device__ std::size_t triangle_place(int order, int row, int column) {
  return static_cast<std::size_t>(row) * order - static_cast<std::size_t>(row) * (row + 1) / 2 + column;
}

// Whether near rows were summed about the centre that all components share.
__device__ bool has_frame(const problem& mixture) { return mixture.frame_lanes > 0 && *mixture.moments_apart == 0; }

// The lanes' sum of one element of one component, times its scale.
__device__ double lane_sum(const problem& mixture, int k, int place, double scale) {
  const auto size = static_cast<std::size_t>(sums_size(mixture.groups));
  const double* const from = mixture.sums + k * size + place;
  const std::size_t step = mixture.components * size;
  const int lanes = *mixture.any_far != 0 ? 2 * mixture.lanes : mixture.lanes;
  double sum = 0;
#pragma unroll 8
  for (int lane = has_frame(mixture) ? mixture.lanes : 0; lane < lanes; ++lane) sum += from[lane * step];
  return sum * scale;
}

__device__ int place_of(const problem& mixture, int column) {
  return moment_place(mixture.groups, mixture.width, column);
}

// What takes the scale of a column out. An empty component has none, and its sums are zero.
__device__ double unit_of(const problem& mixture, int k, int place) {
  const float scale = mixture.moment_scales[k * group_columns * mixture.groups + place].x;
  return scale > 0 ? 1 / static_cast<double>(scale) : 0.0;
}

// What sums about the centre that all components share say about the component's own centre, in the columns' units.
struct frame_element {
  const problem& mixture;
  const double* total;  // of the component
  int k;

  __device__ frame_element(const problem& mixture_, int k_)
      : mixture(mixture_), total(mixture_.frame_total + static_cast<std::size_t>(k_) * tile_features), k(k_) {}

  __device__ double at(feature_place place) const {
    const auto tile = static_cast<std::size_t>(place.tile * padded_components(mixture.components));
    return total[tile * tile_features + static_cast<std::size_t>(place.feature)];
  }
  __device__ double weight() const { return at(single_place(mixture.columns, mixture.columns)); }
  // The component's centre in the frame.
  __device__ double distance(int column) const {
    const float2 frame = mixture.frame[column];
    return fma(
        static_cast<double>(mixture.parameters.packed.centres[static_cast<std::size_t>(k) * mixture.columns + column]),
        static_cast<double>(frame.x), static_cast<double>(frame.y));
  }
  __device__ double unit(int column) const { return 1 / static_cast<double>(mixture.frame[column].x); }
  __device__ double first(int column) const {
    return (at(single_place(mixture.columns, column)) - weight() * distance(column)) * unit(column);
  }
  __device__ double second(int row, int column) const {
    const double x = distance(row);
    const double y = distance(column);
    const double sum = at(pair_place(row, column)) - x * at(single_place(mixture.columns, column)) -
                       y * at(single_place(mixture.columns, row)) + x * y * weight();
    return sum * unit(row) * unit(column);
  }
};

__device__ double second_moment(const problem& mixture, int k, int row, int column) {
  const int i = place_of(mixture, row);
  const int j = place_of(mixture, column);
  const double scale = unit_of(mixture, k, i) * unit_of(mixture, k, j);
  const double sum = lane_sum(mixture, k, sums_second(mixture.groups, min(i, j), max(i, j)), scale);
  return has_frame(mixture) ? sum + frame_element(mixture, k).second(row, column) : sum;
}

__device__ double first_moment(const problem& mixture, int k, int column) {
  const int i = place_of(mixture, column);
  const double sum = lane_sum(mixture, k, sums_first(mixture.groups) + i, unit_of(mixture, k, i));
  return has_frame(mixture) ? sum + frame_element(mixture, k).first(column) : sum;
}

__device__ double weight_of(const problem& mixture, int k) {
  const double sum = lane_sum(mixture, k, sums_weight(mixture.groups), 1.0);
  return has_frame(mixture) ? sum + frame_element(mixture, k).weight() : sum;
}

// Σ w ln p, Σ w and the number of far rows, by one block in a fixed tree; the header's last element is not used.
__device__ void merge_likelihood(const problem& mixture, double* statistics) {
  __shared__ double parts[threads];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) statistics[likelihood_sums] = 0;
  for (int which = 0; which < likelihood_sums; ++which) {
    double sum = 0;
    for (int lane = thread; lane < likelihood_lanes; lane += threads) {
      sum += mixture.likelihood[lane * likelihood_sums + which];
    }
    parts[thread] = sum;
    for (int distance = threads / 2; distance > 0; distance /= 2) {
      __syncthreads();
      if (thread < distance) parts[thread] += parts[thread + distance];
    }
    if (thread == 0) statistics[which] = parts[0];
    __syncthreads();
  }
}

// Element (row, column) of (x − c, 1)(x − c, 1)ᵀ for a thread, row ≤ column; the last row of blocks has the header.
__global__ void __launch_bounds__(threads)
    merge_kernel(const problem mixture, const merged_layout layout, double* statistics) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int order = mixture.columns + 1;
  const int k = static_cast<int>(blockIdx.y);
  if (k == mixture.components) {
    if (blockIdx.x == 0) merge_likelihood(mixture, statistics);
    return;
  }
  const int element = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (element >= order * order) return;
  const int row = element / order;
  const int column = element % order;
  if (row > column) return;
  double* const own = statistics + layout.header + k * layout.component_size;
  const bool weight = row == mixture.columns;
  const bool first = !weight && column == mixture.columns;
  if (weight || first) {
    const double sum = weight ? weight_of(mixture, k) : first_moment(mixture, k, row);
    own[mixture.tied ? static_cast<std::size_t>(row) : triangle_place(order, row, column)] = sum;
  } else if (!mixture.tied) {
    own[triangle_place(order, row, column)] = second_moment(mixture, k, row, column);
  }
}

// The second moments that tied components share: a thread has an element of one of them, and those of a turn are added
// in order.
constexpr int shared_elements = 8, at_once = threads / shared_elements;

__global__ void __launch_bounds__(threads)
    merge_shared_kernel(const problem mixture, const merged_layout layout, double* statistics) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  __shared__ double moments[at_once][shared_elements];
  const int own = static_cast<int>(threadIdx.x) % shared_elements,
            turn = static_cast<int>(threadIdx.x) / shared_elements;
  const int element = static_cast<int>(blockIdx.x) * shared_elements + own;
  const int row = element / mixture.columns, column = element % mixture.columns;
  const bool wanted = row < mixture.columns && row <= column;
  double sum = 0;
  for (int first = 0; first < mixture.components; first += at_once) {
    const int k = first + turn;
    if (wanted && k < mixture.components) moments[turn][own] = second_moment(mixture, k, row, column);
    __syncthreads();
    for (int each = 0; wanted && turn == 0 && each < min(at_once, mixture.components - first); ++each) {
      sum += moments[each][own];
    }
    __syncthreads();
  }
  if (wanted && turn == 0) statistics[layout.shared + triangle_place(mixture.columns, row, column)] = sum;
}

}  // namespace

void add_likelihood(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  likelihood_kernel<<<likelihood_lanes / threads, threads, 0, stream>>>(mixture, rows);
  cuda::check_launch("add_likelihood");
}

void merge_lanes(const problem& mixture, const merged_layout& layout, double* statistics, cudaStream_t stream) {
  const int elements = (mixture.columns + 1) * (mixture.columns + 1);
  const dim3 grid(static_cast<unsigned>((elements + threads - 1) / threads),
                  static_cast<unsigned>(mixture.components + 1));
  merge_kernel<<<grid, threads, 0, stream>>>(mixture, layout, statistics);
  if (mixture.tied) {
    const int blocks = (mixture.columns * mixture.columns + shared_elements - 1) / shared_elements;
    merge_shared_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(mixture, layout, statistics);
  }
  cuda::check_launch("merge_lanes");
}

}  // namespace shoal::gmm::tensor_matrix
