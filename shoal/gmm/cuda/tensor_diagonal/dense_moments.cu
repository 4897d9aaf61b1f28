// Moments without a common frame where many components hold a row: in float32 about each component's own centre, a
// block of rows at a time, every component and every column by a thread that has four of both. Row by row in float64,
// as where few hold one, rows without clusters took five times the whole pass.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/held_rows.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

constexpr int each = 4;       // components and columns of a thread
constexpr int together = 32;  // rows in shared memory at a time
constexpr int stride = together + 4;
constexpr int summed_rows = 128;  // in float32
/// A component's row costs so many times as much by itself as beside all others.
constexpr int dense_ratio = 8;

// Whether the tile's components hold enough of dense_rows rows. Every thread of the block gets the answer.
__device__ bool is_dense(const problem& mixture, int first_component, int first_row, int count) {
  __shared__ int held;
  __syncthreads();
  if (threadIdx.x == 0) held = 0;
  __syncthreads();
  const int components = min(dense_components(mixture), mixture.components - first_component);
  constexpr int words = dense_rows / 32;
  int own = 0;
  for (int i = static_cast<int>(threadIdx.x); i < components * words; i += static_cast<int>(blockDim.x)) {
    const int row = first_row + i % words * 32;
    if (row >= count) continue;
    own += __popc(mixture.far_masks[row / 32] |
                  mixture.kept[kept_place(mixture.components, first_component + i / words, row)]);
  }
  atomicAdd(&held, own);
  __syncthreads();
  return held * dense_ratio >= components * min(dense_rows, count - first_row);
}

struct thread_sums {
  float centre[each][each];
  float first[each][each];
  float second[each][each];
  float weight[each];

  __device__ void clear() {
#pragma unroll
    for (int c = 0; c < each; ++c) {
      weight[c] = 0;
#pragma unroll
      for (int j = 0; j < each; ++j) first[c][j] = second[c][j] = 0;
    }
  }
  __device__ void add(const float (&r)[each], const float4& row) {
    const float x[each] = {row.x, row.y, row.z, row.w};
#pragma unroll
    for (int c = 0; c < each; ++c) {
      weight[c] += r[c];
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const float difference = x[j] - centre[c][j];
        const float part = r[c] * difference;
        first[c][j] += part;
        second[c][j] = fmaf(part, difference, second[c][j]);
      }
    }
  }
};

// A tile of components and a lane by a block.
template <int Across>
__global__ void __launch_bounds__(256, 2)
    dense_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows, bool begins) {
  cuda::wait_for_predecessor();
  if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) ||
      arrangement_of(mixture) == common_frame)
    return;
  constexpr int width = each * Across;
  __shared__ __align__(16) float x[together][width];
  extern __shared__ __align__(16) float responsibilities[];  // [components of the tile][stride]
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int across = thread % Across, down = thread / Across;
  const int tile = static_cast<int>(blockIdx.x), lane = static_cast<int>(blockIdx.y);
  const int own_components = dense_components(mixture), first_component = tile * own_components;
  const std::size_t size = 1 + 2 * static_cast<std::size_t>(mixture.columns);
  double* const lane_sums = mixture.dense_sums + static_cast<std::size_t>(lane) * mixture.components * size;
  if (begins) {
    const int count = min(own_components, mixture.components - first_component);
    for (std::size_t i = static_cast<std::size_t>(thread); i < count * size; i += static_cast<std::size_t>(threads)) {
      lane_sums[static_cast<std::size_t>(first_component) * size + i] = 0;
    }
    if (tile == 0 && lane == 0 && thread == 0) mixture.arrangement[has_dense_sums_at] = 1;
  }

  thread_sums own;
#pragma unroll
  for (int c = 0; c < each; ++c) {
    const int k = first_component + down * each + c;
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const int column = across * each + j;
      own.centre[c][j] = k < mixture.components && column < mixture.columns
                             ? mixture.parameters.packed.centres[static_cast<std::size_t>(k) * mixture.columns + column]
                             : 0.0F;
    }
  }
  const auto take_rows = [&](int begin, int end) {
    own.clear();
    for (int row = begin; row < end; row += together) {
      __syncthreads();
      for (int i = thread; i < together * width; i += threads) {
        const int j = i % width, at = row + i / width;
        x[i / width][j] =
            j < mixture.columns && at < end ? rows.rows[static_cast<std::size_t>(at) * mixture.columns + j] : 0.0F;
      }
      // A row to a thread of each warp, with its facts for all components.
      const int at = row + thread % together;
      const bool present = at < end;
      const row_facts facts(mixture, present ? at : row);
#pragma unroll 8
      for (int i = thread / together; i < own_components; i += threads / together) {
        const int k = first_component + i;
        const bool there = present && k < mixture.components;
        const unsigned kept = there ? mixture.kept[kept_place(mixture.components, k, at)] : 0;
        const float term = there ? mixture.terms[term_place(mixture.tiles, k, at)] : 0;
        const bool held = there && (facts.far || (kept >> at % 32 & 1) != 0);
        responsibilities[i * stride + thread % together] = held ? facts.responsibility(term) : 0;
      }
      __syncthreads();
#pragma unroll 1
      for (int i = 0; i < together; i += 4) {
        float4 r[each];
#pragma unroll
        for (int c = 0; c < each; ++c) {
          r[c] = *reinterpret_cast<const float4*>(responsibilities + (down * each + c) * stride + i);
        }
        const auto row_of = [&](int n) { return *reinterpret_cast<const float4*>(&x[i + n][across * each]); };
        own.add({r[0].x, r[1].x, r[2].x, r[3].x}, row_of(0));
        own.add({r[0].y, r[1].y, r[2].y, r[3].y}, row_of(1));
        own.add({r[0].z, r[1].z, r[2].z, r[3].z}, row_of(2));
        own.add({r[0].w, r[1].w, r[2].w, r[3].w}, row_of(3));
      }
    }
    // On to float64, of a component at once.
#pragma unroll
    for (int c = 0; c < each; ++c) {
      const int k = first_component + down * each + c;
      if (k >= mixture.components) continue;
      double* const to = lane_sums + static_cast<std::size_t>(k) * size;
      double first[each], second[each];
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const int column = across * each + j;
        if (column >= mixture.columns) continue;
        first[j] = to[1 + column];
        second[j] = to[1 + mixture.columns + column];
      }
      if (across == 0) to[0] += static_cast<double>(own.weight[c]);
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const int column = across * each + j;
        if (column >= mixture.columns) continue;
        to[1 + column] = first[j] + static_cast<double>(own.first[c][j]);
        to[1 + mixture.columns + column] = second[j] + static_cast<double>(own.second[c][j]);
      }
    }
  };

  __syncthreads();  // the sums are zero
  const int section_rows = mixture.dense_section_rows;
  const auto passed = static_cast<int>(rows.share_first / static_cast<std::size_t>(section_rows) %
                                       static_cast<std::size_t>(mixture.dense_lanes));
  int section = lane >= passed ? lane - passed : lane - passed + mixture.dense_lanes;
  for (; section * section_rows < rows.count; section += mixture.dense_lanes) {
    const int end = min((section + 1) * section_rows, rows.count);
    for (int begin = section * section_rows; begin < end; begin += dense_rows) {
      const bool dense = is_dense(mixture, first_component, begin, rows.count);
      if (thread == 0) mixture.dense[dense_place(mixture, first_component, begin)] = dense ? 1 : 0;
      if (!dense) continue;
      const int last = min(begin + dense_rows, end);
      for (int row = begin; row < last; row += summed_rows) take_rows(row, min(row + summed_rows, last));
    }
  }
}

template <int Across>
void launch(const problem& mixture, const chunk& rows, bool begins, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(dense_tiles(mixture)), static_cast<unsigned>(mixture.dense_lanes));
  const auto bytes = static_cast<std::size_t>(dense_components(mixture)) * stride * sizeof(float);
  cuda::launch_in_turn(dense_kernel<Across>, grid, static_cast<unsigned>(Across * mixture.dense_threads), bytes, stream,
                       mixture, rows, begins);
}

}  // namespace

void dense_moments(const problem& mixture, const chunk& rows, bool begins, cudaStream_t stream) {
  switch (dense_columns(mixture.columns)) {
    case 1:
      return launch<1>(mixture, rows, begins, stream);
    case 2:
      return launch<2>(mixture, rows, begins, stream);
    case 4:
      return launch<4>(mixture, rows, begins, stream);
    case 8:
      return launch<8>(mixture, rows, begins, stream);
    case 16:
      return launch<16>(mixture, rows, begins, stream);
    default:
      return launch<32>(mixture, rows, begins, stream);
  }
}

}  // namespace shoal::gmm::tensor_diagonal
