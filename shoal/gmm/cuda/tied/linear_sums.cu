// Tied mixtures of few rows: responsibilities and first moments by products of float64 tiles, 16 rows of a warp at a
// time.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tied/linear.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tied {
namespace {

using tensor_float64::multiply_add;

constexpr unsigned rows_of_tile = linear_tile_rows;

// What a warp of so many tiles of components has in shared memory.
template <unsigned Tiles, unsigned Width>
struct warp_sizes {
  static constexpr unsigned width = Width;
  static constexpr unsigned groups = width / 8;
  static constexpr unsigned component_groups = 2 * Tiles;
  static constexpr unsigned row_stride = linear_row_stride(width);        // of z
  static constexpr unsigned weight_stride = linear_weight_stride(Tiles);  // of responsibilities
  static constexpr unsigned loads = rows_of_tile * width / 32;            // of a thread
  static constexpr unsigned numbers = rows_of_tile * (row_stride + weight_stride);
};

// The warps that share rows wait for each other.
__device__ void sync_row(unsigned row, unsigned warps) {
  if (warps == 1) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(row + 1), "r"(32 * warps) : "memory");
  }
}

// Of threads that have the same columns of a tile.
__device__ double sum_of_groups(double value) {
#pragma unroll
  for (unsigned step = 4; step < 32; step *= 2) value += __shfl_xor_sync(cuda::every_lane, value, step);
  return value;
}

template <class Scalar, unsigned Tiles, unsigned Width>
__global__ void __launch_bounds__(32 * most_linear_warps, linear_blocks(Tiles, Width))
    add_rows(const kernel_layout layout, const linear_plan plan,
             const __grid_constant__ cuda::device_piece<Scalar> piece, const double* origin, const linear_memory memory,
             const int* stopped) {
  using sizes = warp_sizes<Tiles, Width>;
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *memory.stopped != 0) return;
  extern __shared__ __align__(16) double shared[];
  const unsigned d = layout.columns, stride = plan.stride();
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32, group = thread / 4, place = thread % 4;
  const unsigned across = warp % plan.warps_across, down = warp / plan.warps_across;
  // The warp's own components.
  const unsigned first_component = plan.shares_components ? across * 16 * Tiles : 0;
  const unsigned K = min(layout.components - first_component, 16 * Tiles);
  const bool has_weights = plan.shares_components || across == 0;
  double* const slopes = shared;
  const double* const own_slopes = slopes + first_component * stride;
  double* const origins = slopes + plan.components() * stride;
  double* const all_warps = origins + plan.columns();
  double* const z = all_warps + warp * sizes::numbers;
  double* const own_terms = z + rows_of_tile * sizes::row_stride;
  double* const weights = all_warps + blockDim.x / 32 * sizes::numbers + down * plan.components() + first_component;

  const std::size_t first_tile = piece.share_first / rows_of_tile;
  const std::size_t tiles = (piece.count + rows_of_tile - 1) / rows_of_tile;
  const unsigned number = blockIdx.x * plan.warps_down + down;  // of the lane
  std::size_t tile = (number + plan.lanes - first_tile % plan.lanes) % plan.lanes;

  const unsigned first_column = plan.shares_components ? 0 : across * sizes::width;
  const unsigned columns = d - first_column < sizes::width ? d - first_column : sizes::width;
  Scalar loads[sizes::loads];
  const auto load = [&](std::size_t of) {
#pragma unroll
    for (unsigned i = 0; i < sizes::loads; ++i) {
      const unsigned e = thread + 32 * i, row = e / sizes::width, column = e % sizes::width;
      const std::size_t at = of * rows_of_tile + row;
      loads[i] = at < piece.count && column < columns ? piece.rows[at * d + first_column + column] : Scalar{0};
    }
  };
  if (tile < tiles) load(tile);

  for (unsigned e = threadIdx.x; e < plan.components() * stride / 2; e += blockDim.x) {
    reinterpret_cast<double2*>(slopes)[e] = reinterpret_cast<const double2*>(memory.slopes)[e];
  }
  for (unsigned j = threadIdx.x; j < plan.columns(); j += blockDim.x) {
    origins[j] = j < d ? origin[j] : 0;
  }

  double* const lane = memory.lanes + number * linear_lane_size(layout);
  double* const lane_sums = lane + std::size_t{first_component} * d;
  double* const lane_weights = lane + std::size_t{layout.components} * d + first_component;
  double* const lane_score = lane + linear_lane_size(layout) - 1;
  const bool begins = piece.share_first == 0;
  // Sums go on from what a piece before has left, so that where pieces are cut changes no bit.
  double sums[Tiles][sizes::groups][4];
  double score = 0;
  const auto for_each_sum = [&](const auto& call) {
#pragma unroll
    for (unsigned m = 0; m < Tiles; ++m) {
#pragma unroll
      for (unsigned n = 0; n < sizes::groups; ++n) {
#pragma unroll
        for (unsigned e = 0; e < 4; ++e) {
          const unsigned k = 16 * m + group + 8 * (e / 2), column = 8 * n + 2 * place + e % 2;
          if (k < K && column < columns) call(sums[m][n][e], lane_sums[k * d + first_column + column]);
        }
      }
    }
  };
#pragma unroll
  for (unsigned m = 0; m < Tiles; ++m) {
#pragma unroll
    for (unsigned n = 0; n < sizes::groups; ++n) {
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) sums[m][n][e] = 0;
    }
  }
  if (!begins) {
    for_each_sum([](double& sum, const double& kept) { sum = kept; });
    score = *lane_score;
  }
  if (has_weights) {
    for (unsigned k = thread; k < 16 * Tiles; k += 32) weights[k] = begins || k >= K ? 0 : lane_weights[k];
  }
  double constants[sizes::component_groups][2];
#pragma unroll
  for (unsigned j = 0; j < sizes::component_groups; ++j) {
#pragma unroll
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned k = 8 * j + 2 * place + e;
      constants[j][e] = k < K ? memory.constants[first_component + k] : -INFINITY;
    }
  }
  // What the warps of a row know of it, in the order of their components. It lies behind their responsibilities, the
  // greatest log-density and the sum in columns of their own: who writes into one has seen that all have read it.
  enum note : unsigned { greatest_note, total_note };
  const auto exchange = [&](note which, const auto(&own)[2], auto(&found)[2], const auto& join) {
    double* const notes = own_terms + group * sizes::weight_stride + 16 * Tiles + which;
    if (place == 0) {
      notes[0] = own[0];
      notes[8 * sizes::weight_stride] = own[1];
    }
    sync_row(down, plan.warps_across);
    for (unsigned other = 0; other < plan.warps_across; ++other) {
      const double* const from =
          notes + (static_cast<int>(other) - static_cast<int>(across)) * static_cast<int>(sizes::numbers);
      found[0] = join(found[0], from[0]);
      found[1] = join(found[1], from[8 * sizes::weight_stride]);
    }
  };
  __syncthreads();

  for (; tile < tiles; tile += plan.lanes) {
#pragma unroll
    for (unsigned i = 0; i < sizes::loads; ++i) {
      const unsigned e = thread + 32 * i, row = e / sizes::width, column = e % sizes::width;
      const bool inside = tile * rows_of_tile + row < piece.count && column < columns;
      z[row * sizes::row_stride + column] = inside ? static_cast<double>(loads[i]) - origins[first_column + column] : 0;
    }
    __syncwarp();
    if (tile + plan.lanes < tiles) load(tile + plan.lanes);

    double terms[sizes::component_groups][4] = {};
#pragma unroll
    for (unsigned n = 0; n < sizes::groups; ++n) {
      if (8 * n >= columns) continue;
      const double* const from = z + group * sizes::row_stride + 8 * n + place;
      const double a[4] = {from[0], from[8 * sizes::row_stride], from[4], from[8 * sizes::row_stride + 4]};
#pragma unroll
      for (unsigned j = 0; j < sizes::component_groups; ++j) {
        if (8 * j >= K) continue;
        const double* const slope = own_slopes + (8 * j + group) * stride + first_column + 8 * n + place;
        const double b[2] = {slope[0], slope[4]};
        multiply_add(terms[j], a, b);
      }
    }
    if (plan.warps_across > 1 && !plan.shares_components) {
#pragma unroll
      for (unsigned j = 0; j < sizes::component_groups; ++j) {
#pragma unroll
        for (unsigned e = 0; e < 4; ++e) {
          own_terms[(group + 8 * (e / 2)) * sizes::weight_stride + 8 * j + 2 * place + e % 2] = terms[j][e];
          terms[j][e] = 0;
        }
      }
      sync_row(down, plan.warps_across);
      for (unsigned other = 0; other < plan.warps_across; ++other) {
        const double* const part = all_warps + (down * plan.warps_across + other) * sizes::numbers +
                                   rows_of_tile * sizes::row_stride + group * sizes::weight_stride + 2 * place;
#pragma unroll
        for (unsigned j = 0; j < sizes::component_groups; ++j) {
          if (8 * j >= K) continue;
#pragma unroll
          for (unsigned e = 0; e < 4; ++e) terms[j][e] += part[8 * (e / 2) * sizes::weight_stride + 8 * j + e % 2];
        }
      }
      sync_row(down, plan.warps_across);  // all have read
    }

    // Log-densities to responsibilities, of two rows that three other threads share.
    double greatest[2] = {-INFINITY, -INFINITY};
    Scalar total[2] = {};
#pragma unroll
    for (unsigned j = 0; j < sizes::component_groups; ++j) {
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) {
        terms[j][e] += constants[j][e % 2];
        // A comparison, not a maximum: it leaves out a NaN.
        if (terms[j][e] > greatest[e / 2]) greatest[e / 2] = terms[j][e];
      }
    }
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
      for (unsigned step = 1; step < 4; step *= 2) {
        const double other = __shfl_xor_sync(cuda::every_lane, greatest[half], step);
        if (other > greatest[half]) greatest[half] = other;
      }
    }
    if (plan.shares_components) {
      const double own[2] = {greatest[0], greatest[1]};
      exchange(greatest_note, own, greatest, [](double most, double other) { return other > most ? other : most; });
    }
#pragma unroll
    for (unsigned j = 0; j < sizes::component_groups; ++j) {
      if (8 * j >= K) continue;
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) {
        // In the rows' scalar: what waits for itself here takes several times as long in float64.
        const auto ratio = static_cast<Scalar>(terms[j][e] - greatest[e / 2]);
        const Scalar term = ratio >= -static_cast<Scalar>(negligible_log_ratio<Scalar>) ? exp(ratio) : Scalar{0};
        terms[j][e] = static_cast<double>(term);
        total[e / 2] += term;
      }
    }
    double score_of_rows = 0;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
      for (unsigned step = 1; step < 4; step *= 2) {
        total[half] += __shfl_xor_sync(cuda::every_lane, total[half], step);
      }
    }
    if (plan.shares_components) {
      const Scalar own[2] = {total[0], total[1]};
      total[0] = total[1] = 0;
      exchange(total_note, own, total, [](Scalar sum, double other) { return sum + static_cast<Scalar>(other); });
    }
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const bool inside = tile * rows_of_tile + group + 8 * half < piece.count;
      if (inside) score_of_rows += greatest[half] + static_cast<double>(log(total[half]));
      total[half] = inside ? 1 / total[half] : Scalar{0};
    }
    score += sum_of_groups(score_of_rows);
#pragma unroll
    for (unsigned j = 0; j < sizes::component_groups; ++j) {
      if (8 * j >= K) continue;
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) {
        terms[j][e] *= static_cast<double>(total[e / 2]);
        own_terms[(group + 8 * (e / 2)) * sizes::weight_stride + 8 * j + 2 * place + e % 2] = terms[j][e];
      }
      if (!has_weights) continue;
#pragma unroll
      for (unsigned e = 0; e < 2; ++e) {
        const double weight = sum_of_groups(terms[j][e] + terms[j][e + 2]);
        if (group == 0) weights[8 * j + 2 * place + e] += weight;
      }
    }
    __syncwarp();

#pragma unroll
    for (unsigned half = 0; half < rows_of_tile; half += 8) {
      double a[Tiles][4];
#pragma unroll
      for (unsigned m = 0; m < Tiles; ++m) {
        const double* const from = own_terms + (half + place) * sizes::weight_stride + 16 * m + group;
        a[m][0] = from[0];
        a[m][1] = from[8];
        a[m][2] = from[4 * sizes::weight_stride];
        a[m][3] = from[4 * sizes::weight_stride + 8];
      }
#pragma unroll
      for (unsigned n = 0; n < sizes::groups; ++n) {
        if (8 * n >= columns) continue;
        const double* const from = z + (half + place) * sizes::row_stride + 8 * n + group;
        const double b[2] = {from[0], from[4 * sizes::row_stride]};
#pragma unroll
        for (unsigned m = 0; m < Tiles; ++m) multiply_add(sums[m][n], a[m], b);
      }
    }
    __syncwarp();
  }

  for_each_sum([](const double& sum, double& kept) { kept = sum; });
  if (thread == 0 && across == 0) *lane_score = score;
  if (!has_weights) return;
  __syncwarp();
  for (unsigned k = thread; k < K; k += 32) lane_weights[k] = weights[k];
}

// Adds up the lanes: each of a few threads every so many of them, and then what these have.
constexpr unsigned sums_of_block = 32, merging_threads = 1024, merging = merging_threads / sums_of_block;

__global__ void __launch_bounds__(merging_threads)
    merge_lanes(const linear_memory memory, unsigned lanes, unsigned size, const others_turn turn, const int* stopped) {
  cuda::wait_for_predecessor();
  const bool leaves = *stopped == 0 && *memory.stopped == 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const bool others = *stopped == 0 && !leaves;
    *memory.leaves = leaves ? 0 : 1;
    *memory.other_stopped_behind = others ? 0 : 1;
    if (turn.has_condition && others) cudaGraphSetConditional(turn.condition, 1);
  }
  if (!leaves) return;
  __shared__ double parts[merging][sums_of_block];
  const unsigned own = threadIdx.x % sums_of_block, part = threadIdx.x / sums_of_block;
  const unsigned e = blockIdx.x * sums_of_block + own;
  double sum = 0;
  if (e < size) {
#pragma unroll 8
    for (unsigned lane = part; lane < lanes; lane += merging) sum += memory.lanes[std::size_t{lane} * size + e];
  }
  parts[part][own] = sum;
  __syncthreads();
  if (part != 0 || e >= size) return;
#pragma unroll
  for (unsigned other = 1; other < merging; ++other) sum += parts[other][own];
  memory.sums[e] = sum;
}

// Weights and first moments about the components' own centres, and a square of the triangle that they share. Block
// (across, down) of squares.
constexpr unsigned side = 32, leaving_threads = 256, down_threads = leaving_threads / side,
                   values = side / down_threads;

struct square_stage {
  double distances_down[side][side + 1], sums_down[side][side + 1];
  double distances_across[side][side + 1], sums_across[side][side + 1];
};

__global__ void __launch_bounds__(leaving_threads)
    leave_square(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                 const learnt_rows rows, const linear_memory memory, unsigned traces, double* statistics) {
  cuda::wait_for_predecessor();
  const bool leaves = *memory.leaves == 0;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
    // For the next pass; nobody reads them any more.
    *memory.stopped = 0;
    *memory.other_stopped = 1;
  }
  if (!leaves || blockIdx.x < blockIdx.y) return;
  const unsigned d = layout.columns, K = layout.components;
  const unsigned x = threadIdx.x % side, y = threadIdx.x / side;
  const unsigned first_i = blockIdx.y * side, first_j = blockIdx.x * side, j = first_j + x;
  // Full: the triangle of (x − c, 1), whose last column holds the first moments.
  const bool full = layout.type == covariance_type::full;
  const unsigned order = full ? d + 1 : d;
  double* const triangle = statistics + (full ? layout.header : layout.shared);
  __shared__ square_stage stage;
  double of_centres[values] = {};
  for (unsigned first = 0; first < K; first += side) {
    for (unsigned r = y; r < side; r += down_threads) {
      const unsigned k = first + r, i = first_i + x;
      const bool counts = k < K && in.log_constants[k] != -INFINITY;
      const double* const centre = in.centres + std::size_t{k} * d;
      const double weight = counts ? memory.sums[K * d + k] : 0;
      const double from_i = counts && i < d ? centre[i] - rows.centre[i] : 0;
      const double from_j = counts && j < d ? centre[j] - rows.centre[j] : 0;
      const double sum_j = counts && j < d ? fma(-weight, from_j, memory.sums[k * d + j]) : 0;
      stage.distances_down[r][x] = from_i;
      stage.sums_down[r][x] = counts && i < d ? memory.sums[k * d + i] : 0;
      stage.distances_across[r][x] = from_j;
      stage.sums_across[r][x] = sum_j;
      if (blockIdx.x != blockIdx.y || k >= K) continue;
      double* const component = statistics + layout.header + k * layout.component_size;
      if (j < d) component[full ? statistics_layout::triangle_row(order, j) + d : j] = sum_j;
      if (j == 0) component[layout.weight] = weight;
    }
    __syncthreads();
    for (unsigned k = 0; k < min(side, K - first); ++k) {
#pragma unroll
      for (unsigned v = 0; v < values; ++v) {
        const unsigned r = y + v * down_threads;
        of_centres[v] += fma(stage.sums_down[k][r], stage.distances_across[k][x],
                             stage.distances_down[k][r] * stage.sums_across[k][x]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (unsigned v = 0; v < values; ++v) {
    const unsigned i = first_i + y + v * down_threads;
    if (i > j || j >= d) continue;
    triangle[statistics_layout::triangle_row(order, i) + j] =
        rows.second[statistics_layout::triangle_row(d, i) + j] - of_centres[v];
  }
  if (blockIdx.x != 0 || threadIdx.x >= 32) return;
  double score = 0;
  for (unsigned i = threadIdx.x; i < traces; i += 32) score += memory.traces[i];
  score = cuda::warp_sum(score);
  const double count = *rows.weight;
  score += memory.sums[K * (d + 1)] + count * *in.log_shift;
  for (unsigned i = threadIdx.x; i < layout.header; i += 32) {
    statistics[i] = i == log_likelihood_at ? score : (i == total_weight_at ? count : 0);
  }
}

template <class Scalar, unsigned Tiles, unsigned Width>
void launch(const kernel_layout& layout, const linear_plan& plan, const cuda::device_piece<Scalar>& piece,
            const double* origin, const linear_memory& memory, const int* stopped, cudaStream_t stream) {
  cuda::launch_in_turn(add_rows<Scalar, Tiles, Width>, plan.blocks(), 32 * plan.warps_across * plan.warps_down,
                       linear_shared_bytes(plan), stream, layout, plan, piece, origin, memory, stopped);
}

template <class Scalar, unsigned Tiles>
constexpr auto launch_of(unsigned width) {
  if constexpr (most_linear_width(Tiles) >= 64) {
    if (width == 64) return launch<Scalar, Tiles, 64>;
  }
  if constexpr (most_linear_width(Tiles) >= 40) {
    if (width == 40) return launch<Scalar, Tiles, 40>;
  }
  return launch<Scalar, Tiles, 24>;
}

}  // namespace

template <class Scalar>
void add_linear(const kernel_layout& layout, const linear_plan& plan, const cuda::device_piece<Scalar>& piece,
                const double* origin, const linear_memory& memory, const int* stopped, cudaStream_t stream) {
  const auto launch = plan.tiles == 1   ? launch_of<Scalar, 1>(plan.width)
                      : plan.tiles == 2 ? launch_of<Scalar, 2>(plan.width)
                      : plan.tiles == 3 ? launch_of<Scalar, 3>(plan.width)
                                        : launch_of<Scalar, 4>(plan.width);
  launch(layout, plan, piece, origin, memory, stopped, stream);
}
template void add_linear(const kernel_layout&, const linear_plan&, const cuda::device_piece<float>&, const double*,
                         const linear_memory&, const int*, cudaStream_t);
template void add_linear(const kernel_layout&, const linear_plan&, const cuda::device_piece<double>&, const double*,
                         const linear_memory&, const int*, cudaStream_t);

void leave_linear(const kernel_layout& layout, const linear_plan& plan, const prepared_components<double>& in,
                  const learnt_rows& rows, const linear_memory& memory, const others_turn& turn, double* statistics,
                  const int* stopped, cudaStream_t stream) {
  const auto size = static_cast<unsigned>(linear_lane_size(layout));
  cuda::launch_in_turn(merge_lanes, (size + sums_of_block - 1) / sums_of_block, merging_threads, 0, stream, memory,
                       plan.lanes, size, turn, stopped);
  const unsigned sides = (layout.columns + side - 1) / side;
  cuda::launch_in_turn(leave_square, dim3(sides, sides), leaving_threads, 0, stream, layout, in, rows, memory,
                       static_cast<unsigned>(linear_traces(layout)), statistics);
}

}  // namespace shoal::gmm::tied
