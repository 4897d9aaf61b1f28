// The last sums of the kernels for many columns: likelihoods into their lanes, and the lanes into statistics.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_matrix/centre.cuh>
#include <shoal/gmm/cuda/tensor_matrix/frame_layout.hpp>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/one_pass_layout.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

constexpr int threads = 128;

__global__ void __launch_bounds__(threads) likelihood_kernel(const problem mixture, const chunk rows) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int lane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int words = (rows.count + word_rows - 1) / word_rows;
  int word = lane - static_cast<int>(rows.share_first / word_rows % likelihood_lanes);
  if (word < 0) word += likelihood_lanes;
  double* const sums = mixture.likelihood + lane * likelihood_sums;
  double likelihood = sums[0];
  double weight = sums[1];
  double far = sums[2];
  // Several are read at once.
  constexpr int ahead = 8;
  for (; word < words; word += ahead * likelihood_lanes) {
    double2 sum[ahead];
    unsigned mask[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      const int own = word + i * likelihood_lanes;
      sum[i] = own < words ? mixture.word_sums[own] : make_double2(0, 0);
      mask[i] = own < words ? mixture.far_masks[own] : 0;
    }
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      likelihood += sum[i].x;
      weight += sum[i].y;
      far += __popc(mask[i]);
    }
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

// Whether near rows were summed by one_pass().
__device__ bool was_one_pass(const problem& mixture) { return mixture.one_pass.warps > 0 && *mixture.apart == 0; }

// The lanes' sum of one element of one component, times its scale.
__device__ double lane_sum(const problem& mixture, int k, int place, double scale) {
  const auto size = static_cast<std::size_t>(sums_size(mixture.groups));
  const double* const from = mixture.sums + k * size + place;
  const std::size_t step = mixture.components * size;
  const int lanes = *mixture.any_far != 0 ? 2 * mixture.lanes : mixture.lanes;
  double sum = 0;
  // Several are read at once, the last ones too.
  constexpr int ahead = 16;
  for (int lane = has_frame(mixture) || was_one_pass(mixture) ? mixture.lanes : 0; lane < lanes; lane += ahead) {
    double values[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) values[i] = lane + i < lanes ? from[(lane + i) * step] : 0;
#pragma unroll
    for (int i = 0; i < ahead; ++i) sum += values[i];
  }
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
  __device__ double distance(int column) const { return centre_in_frame(mixture, k, column); }
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

// What sums of one pass say about it: second moments are about the centre as a float16 number.
struct one_pass_element {
  const problem& mixture;
  const double* total;  // of the component
  int k;

  __device__ one_pass_element(const problem& mixture_, int k_)
      : mixture(mixture_),
        total(mixture_.one_pass_total + static_cast<std::size_t>(k_ * one_pass_sums_size(mixture_.groups))),
        k(k_) {}

  __device__ double weight() const { return total[one_pass_weight(mixture.groups)]; }
  __device__ double about(int column, double centre) const {
    return total[one_pass_firsts(mixture.groups) + column] - weight() * centre;
  }
  __device__ static double rounded(double centre) { return static_cast<double>(__half2float(__double2half(centre))); }
  __device__ double unit(int column) const { return 1 / static_cast<double>(mixture.frame[column].x); }
  __device__ double first(int column) const {
    return about(column, centre_in_frame(mixture, k, column)) * unit(column);
  }
  __device__ double second(int row, int column) const {
    const double x = centre_in_frame(mixture, k, row), y = centre_in_frame(mixture, k, column);
    const double near_x = rounded(x), near_y = rounded(y);
    const double sum = total[sums_second(mixture.groups, row, column)] + (near_x - x) * about(column, near_y) +
                       (near_y - y) * about(row, near_x) + (near_x - x) * (near_y - y) * weight();
    return sum * unit(row) * unit(column);
  }
};

__device__ double second_moment(const problem& mixture, int k, int row, int column) {
  const int i = place_of(mixture, row);
  const int j = place_of(mixture, column);
  const double scale = unit_of(mixture, k, i) * unit_of(mixture, k, j);
  const double sum = lane_sum(mixture, k, sums_second(mixture.groups, min(i, j), max(i, j)), scale);
  if (was_one_pass(mixture)) return sum + one_pass_element(mixture, k).second(row, column);
  return has_frame(mixture) ? sum + frame_element(mixture, k).second(row, column) : sum;
}

__device__ double first_moment(const problem& mixture, int k, int column) {
  const int i = place_of(mixture, column);
  const double sum = lane_sum(mixture, k, sums_first(mixture.groups) + i, unit_of(mixture, k, i));
  if (was_one_pass(mixture)) return sum + one_pass_element(mixture, k).first(column);
  return has_frame(mixture) ? sum + frame_element(mixture, k).first(column) : sum;
}

__device__ double weight_of(const problem& mixture, int k) {
  const double sum = lane_sum(mixture, k, sums_weight(mixture.groups), 1.0);
  if (was_one_pass(mixture)) return sum + one_pass_element(mixture, k).weight();
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

// Which element of Σ r z zᵀ lies at a place of a component's sums: row ≤ column. Threads that go through places read
// what lies together, and there are many lanes to read.
struct second_element {
  int row, column;
  bool exists;

  __device__ second_element(const problem& mixture, int place) {
    const int tile = place / 128, slot = place % 128 / 32, thread = place % 32;
    int m = 0;
    while (tile >= tile_index(mixture.groups, m + 1, 2 * m + 2)) ++m;
    const int i = 16 * m + slot / 2 * 8 + thread / 4;
    const int j = 8 * (tile - tile_index(mixture.groups, m, 2 * m) + 2 * m) + thread % 4 * 2 + slot % 2;
    const int a = moment_column(mixture.groups, mixture.width, i / 8, i % 8);
    const int b = moment_column(mixture.groups, mixture.width, j / 8, j % 8);
    row = min(a, b);
    column = max(a, b);
    exists = i <= j && column < mixture.columns;
  }
};

// A place of a component's sums for a thread; the last row of blocks has the header. `first` is 0, or where the first
// moments begin: tied components have theirs alone here.
__global__ void __launch_bounds__(threads)
    merge_kernel(const problem mixture, const merged_layout layout, int first, double* statistics) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int order = mixture.columns + 1;
  const int k = static_cast<int>(blockIdx.y);
  if (k == mixture.components) {
    if (blockIdx.x == 0) merge_likelihood(mixture, statistics);
    return;
  }
  const int place = first + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  double* const own = statistics + layout.header + k * layout.component_size;
  const int firsts = sums_first(mixture.groups), weight = sums_weight(mixture.groups);
  if (place < firsts) {
    const second_element element(mixture, place);
    if (!element.exists) return;
    own[triangle_place(order, element.row, element.column)] = second_moment(mixture, k, element.row, element.column);
  } else if (place < weight) {
    const int at = place - firsts;
    const int column = moment_column(mixture.groups, mixture.width, at / 8, at % 8);
    if (column >= mixture.columns) return;
    own[mixture.tied ? static_cast<std::size_t>(column) : triangle_place(order, column, mixture.columns)] =
        first_moment(mixture, k, column);
  } else if (place == weight) {
    own[mixture.tied ? static_cast<std::size_t>(mixture.columns)
                     : triangle_place(order, mixture.columns, mixture.columns)] = weight_of(mixture, k);
  }
}

// The second moments that tied components share: a thread has an element of one of them, and those of a turn are added
// in order.
constexpr int shared_elements = 8, at_once = threads / shared_elements;

__global__ void __launch_bounds__(threads)
    merge_shared_kernel(const problem mixture, const merged_layout layout, double* statistics) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  __shared__ double moments[at_once][shared_elements];
  const int own = static_cast<int>(threadIdx.x) % shared_elements,
            turn = static_cast<int>(threadIdx.x) / shared_elements;
  const second_element element(mixture, static_cast<int>(blockIdx.x) * shared_elements + own);
  const bool wanted = element.exists;
  double sum = 0;
  for (int first = 0; first < mixture.components; first += at_once) {
    const int k = first + turn;
    if (wanted && k < mixture.components) {
      moments[turn][own] = second_moment(mixture, k, element.row, element.column);
    }
    __syncthreads();
    for (int each = 0; wanted && turn == 0 && each < min(at_once, mixture.components - first); ++each) {
      sum += moments[each][own];
    }
    __syncthreads();
  }
  if (!wanted || turn != 0) return;
  statistics[layout.shared + triangle_place(mixture.columns, element.row, element.column)] = sum;
}

}  // namespace

void add_likelihood(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  cuda::launch_in_turn(likelihood_kernel, likelihood_lanes / threads, threads, 0, stream, mixture, rows);
}

void merge_lanes(const problem& mixture, const merged_layout& layout, double* statistics, cudaStream_t stream) {
  const int seconds = sums_first(mixture.groups), first = mixture.tied ? seconds : 0;
  const int places = sums_weight(mixture.groups) + 1 - first;
  const dim3 grid(static_cast<unsigned>((places + threads - 1) / threads),
                  static_cast<unsigned>(mixture.components + 1));
  cuda::launch_in_turn(merge_kernel, grid, threads, 0, stream, mixture, layout, first, statistics);
  if (mixture.tied) {
    static_assert(128 % shared_elements == 0);
    cuda::launch_in_turn(merge_shared_kernel, static_cast<unsigned>(seconds / shared_elements), threads, 0, stream,
                         mixture, layout, statistics);
  }
}

}  // namespace shoal::gmm::tensor_matrix
