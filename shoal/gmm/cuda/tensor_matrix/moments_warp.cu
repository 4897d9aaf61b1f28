// The maximisation's sums for 9 to 64 columns: Σ r (z, 1)(z, 1)ᵀ, a component to a warp. Tiles of rows wait in shared
// memory for all components of a block; a warp squares and splits the rows that its component holds in registers, where
// they are both operands of the tensor cores' products.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor/groups.hpp>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/moments.cuh>

namespace shoal::gmm::tensor_matrix {
namespace {

// Rows of a tile, and the distance between them: so that threads that read four rows at once hit different banks.
constexpr int tile_rows(int groups) { return groups <= 4 ? 128 : 64; }
constexpr int tile_stride(int groups) { return group_columns * groups + 4; }
constexpr int tile_bytes(int groups) { return tile_rows(groups) * tile_stride(groups) * 4; }

constexpr int sums_bytes(int groups) { return (sums_size(groups) * 8 + 15) / 16 * 16; }
constexpr int list_bytes(int groups) { return tile_rows(groups) * static_cast<int>(sizeof(listed_row)); }
constexpr int warp_bytes(int groups) { return sums_bytes(groups) + list_bytes(groups); }

constexpr int most_warps(int groups) { return groups <= 4 ? 8 : 4; }

template <int Bytes>
__device__ void copy_async(float* to, const float* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(Bytes) : "memory");
}

// One warp's component.
template <int Groups, int Width, int Products>
struct component_sums {
  static constexpr int tiles = tile_count(Groups);

  int thread;
  double* sums;
  listed_row* list;
  float2 scale[Groups];
  float sum[tiles][4];
  float first[Groups];
  float weight = 0;
  int exponent = 0;  // by which the roots of the rows in the float32 sums were scaled
  int pending = 0;   // their number

  __device__ component_sums(const float2* scales, unsigned char* memory) {
    thread = static_cast<int>(threadIdx.x) % 32;
    sums = reinterpret_cast<double*>(memory);
    list = reinterpret_cast<listed_row*>(memory + sums_bytes(Groups));
#pragma unroll
    for (int c = 0; c < Groups; ++c) scale[c] = scales[8 * c + thread / 4];
    clear();
  }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < tiles; ++i) sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0;
#pragma unroll
    for (int c = 0; c < Groups; ++c) first[c] = 0;
    weight = 0;
    pending = 0;
  }

  // From float32 to float64, in shared memory of this thread alone.
  __device__ void flush() {
    if (pending == 0) return;
    const double back = undo(exponent);
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        double& total = sums[(i * 4 + j) * 32 + thread];
        total = fma(static_cast<double>(sum[i][j]), back, total);
      }
    }
#pragma unroll
    for (int c = 0; c < Groups; ++c) {
      first[c] += __shfl_xor_sync(~0U, first[c], 1);
      first[c] += __shfl_xor_sync(~0U, first[c], 2);
      double& total = sums[sums_first(Groups) + 8 * c + thread / 4];
      if (thread % 4 == c % 4) total = fma(static_cast<double>(first[c]), back, total);
    }
    weight += __shfl_xor_sync(~0U, weight, 1);
    weight += __shfl_xor_sync(~0U, weight, 2);
    if (thread == 0) sums[sums_weight(Groups)] = fma(static_cast<double>(weight), back, sums[sums_weight(Groups)]);
    clear();
  }

  // Lists the rows of a tile that the component holds, padded to whole steps. `roots` are of rows thread, thread + 32,
  // …
  __device__ int list_rows(const float (&roots)[tile_rows(Groups) / 32]) {
    int count = 0;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < tile_rows(Groups) / 32; ++i) {
      const unsigned mask = __ballot_sync(~0U, roots[i] > 0);
      const auto begin = static_cast<unsigned>((32 * i + thread) * tile_stride(Groups));
      if (roots[i] > 0) list[count + __popc(mask & ((1U << thread) - 1))] = {roots[i], begin};
      count += __popc(mask);
    }
    __syncwarp();
    // Weightless copies of a row of its own: any other may be out of range.
    const int missing = (step_rows - count % step_rows) % step_rows;
    if (count > 0 && thread < missing) list[count + thread] = {0.0F, list[0].begin};
    __syncwarp();
    return count;
  }

  __device__ void add_step(const float* tile, const listed_row* rows, float factor, unsigned nothing) {
    listed_row entry[4];
    step_entries(rows, thread % 4, entry);
    column_terms<Products> terms[Groups];
    float root[4];
    const float* from[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      root[i] = entry[i].root * factor;
      weight = fmaf(root[i], root[i], weight);
      from[i] = tile + entry[i].begin;
    }
#pragma unroll
    for (int c = 0; c < Groups; c += read_width(Groups, Width, c)) {
      constexpr int most = 4;
      const int width = read_width(Groups, Width, c);
      const int column = moment_column(Groups, Width, c, thread / 4);
      float x[4][most];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (width == 4) {
          const float4 four = *reinterpret_cast<const float4*>(from[i] + column);
          x[i][0] = four.x;
          x[i][1] = four.y;
          x[i][2] = four.z;
          x[i][3] = four.w;
        } else if (width == 2) {
          const float2 two = *reinterpret_cast<const float2*>(from[i] + column);
          x[i][0] = two.x;
          x[i][1] = two.y;
        } else {
          x[i][0] = from[i][column];
        }
      }
#pragma unroll
      for (int q = 0; q < width; ++q) {
        float v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          v[i] = root[i] * fmaf(x[i][q], scale[c + q].x, scale[c + q].y);
          first[c + q] = fmaf(root[i], v[i], first[c + q]);
        }
        terms[c + q] = split_four<Products>(v);
      }
    }
#pragma unroll
    for (int m = 0; m < steps_of(Groups); ++m) {
      const first_operand<Products> a(terms[2 * m], 2 * m + 1 < Groups ? terms[2 * m + 1] : column_terms<Products>{},
                                      nothing);
#pragma unroll
      for (int product = 3 - Products; product < 3; ++product) {
#pragma unroll
        for (int n = 2 * m; n < Groups; ++n) a.multiply(product, sum[tile_index(Groups, m, n)], terms[n]);
      }
    }
  }

  __device__ void add_tile(const float* tile, const float (&roots)[tile_rows(Groups) / 32]) {
    float most = 0;
#pragma unroll
    for (int i = 0; i < tile_rows(Groups) / 32; ++i) most = fmaxf(most, roots[i]);
    most = warp_maximum(most);
    if (most == 0) return;
    const int count = list_rows(roots);
    const int wanted = exponent_of(most);
    if (wanted != exponent || pending + count > float_rows) flush();
    exponent = wanted;
    pending += count;
    const float factor = factor_for(exponent);
    const unsigned nothing = __float_as_uint(most) >> 31;
#pragma unroll 1
    for (int at = 0; at < count; at += step_rows) add_step(tile, list + at, factor, nothing);
  }
};

template <int Groups, int Width, int Products>
__global__ void __launch_bounds__(32 * most_warps(Groups), 2) moments_kernel(const problem mixture, const chunk rows) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  if (mixture.frame_lanes > 0 && *mixture.moments_apart == 0) return;
  if (mixture.one_pass.warps > 0 && *mixture.apart == 0) return;
  extern __shared__ uint4 memory[];
  constexpr int tile_elements = tile_rows(Groups) * tile_stride(Groups);
  static_assert(least_section_rows % tile_rows(Groups) == 0);
  const int tiles = mixture.section_rows / tile_rows(Groups), tiles_exponent = __ffs(tiles) - 1;  // of a section
  constexpr int per_thread = tile_rows(Groups) / 32;
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  float* const stages = reinterpret_cast<float*>(memory);
  for (int i = static_cast<int>(threadIdx.x); i < 2 * tile_elements; i += static_cast<int>(blockDim.x)) stages[i] = 0;
  __syncthreads();

  const int k = static_cast<int>(blockIdx.x) * warps + warp;
  const bool works = k < mixture.components;
  const int own_k = works ? k : 0;
  component_sums<Groups, Width, Products> own(
      mixture.moment_scales + own_k * group_columns * Groups,
      reinterpret_cast<unsigned char*>(memory) + 2 * tile_bytes(Groups) + warp * warp_bytes(Groups));
  const int lane = static_cast<int>(blockIdx.y);
  double* const kept = mixture.sums + (static_cast<std::size_t>(lane) * mixture.components + own_k) * sums_size(Groups);
  for (int i = thread; i < sums_size(Groups); i += 32) own.sums[i] = kept[i];
  __syncwarp();

  const auto passed =
      static_cast<int>(rows.share_first / mixture.section_rows % static_cast<std::size_t>(mixture.lanes));
  const int first_section = lane >= passed ? lane - passed : lane - passed + mixture.lanes;
  const auto first_row = [&](int tile) {
    return (first_section + (tile >> tiles_exponent) * mixture.lanes) * mixture.section_rows +
           (tile & (tiles - 1)) * tile_rows(Groups);
  };
  // A tile's elements are consecutive: a thread walks through them, a few rows at a time.
  const int walk = Width * static_cast<int>(blockDim.x);
  const int walk_rows = walk / mixture.columns;
  const int walk_columns = walk % mixture.columns;
  const int start_row = Width * static_cast<int>(threadIdx.x) / mixture.columns;
  const int start_column = Width * static_cast<int>(threadIdx.x) % mixture.columns;
  const auto fetch = [&](int tile) {
    const int begin = first_row(tile);
    const int some = min(tile_rows(Groups), rows.count - begin);
    const float* from = rows.rows + static_cast<std::ptrdiff_t>(begin) * mixture.columns + Width * threadIdx.x;
    float* const to = stages + tile % 2 * tile_elements;
    int row = start_row;
    int column = start_column;
    while (row < some) {
      copy_async<4 * Width>(to + row * tile_stride(Groups) + column, from);
      from += walk;
      row += walk_rows;
      column += walk_columns;
      if (column >= mixture.columns) {
        column -= mixture.columns;
        ++row;
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  // Terms and shifts are read a tile ahead, and used when their tile has come.
  const float* const terms = mixture.terms + own_k * mixture.chunk_rows;
  const auto read_terms = [&](int tile, float(&term)[per_thread], float2(&shift)[per_thread]) {
    const int begin = first_row(tile) + thread;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const int row = begin + 32 * i;
      const bool inside = works && row < rows.count;
      term[i] = inside ? terms[row] : 0.0F;
      shift[i] = inside ? mixture.shifts[row] : make_float2(0.0F, INFINITY);
    }
  };

  float term[per_thread];
  float2 shift[per_thread];
  fetch(0);
  read_terms(0, term, shift);
  for (int tile = 0; first_row(tile) < rows.count; ++tile) {
    float roots[per_thread];
#pragma unroll
    for (int i = 0; i < per_thread; ++i) roots[i] = root_of(term[i], shift[i]);
    fetch(tile + 1);
    read_terms(tile + 1, term, shift);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    own.add_tile(stages + tile % 2 * tile_elements, roots);
    if ((tile & (tiles - 1)) == tiles - 1 || first_row(tile + 1) >= rows.count) own.flush();
    __syncthreads();
  }
  if (!works) return;
  __syncwarp();
  for (int i = thread; i < sums_size(Groups); i += 32) kept[i] = own.sums[i];
}

int block_components(int groups, int components) {
  const int blocks = (components + most_warps(groups) - 1) / most_warps(groups);
  return (components + blocks - 1) / blocks;
}

int block_bytes(int groups, int components) {
  return 2 * tile_bytes(groups) + block_components(groups, components) * warp_bytes(groups);
}

template <int Groups, int Width, int Products>
void launch_width(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const int warps = block_components(Groups, mixture.components);
  const int bytes = block_bytes(Groups, mixture.components);
  const dim3 grid(static_cast<unsigned>((mixture.components + warps - 1) / warps),
                  static_cast<unsigned>(mixture.lanes));
  cuda::launch_in_turn(moments_kernel<Groups, Width, Products>, grid, 32 * warps, bytes, stream, mixture, rows);
}

template <int Groups, int Products>
void launch(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  if constexpr (Groups % 4 == 0) {
    if (mixture.width == 4) return launch_width<Groups, 4, Products>(mixture, rows, stream);
  }
  if (mixture.width == 2) return launch_width<Groups, 2, Products>(mixture, rows, stream);
  launch_width<Groups, 1, Products>(mixture, rows, stream);
}

}  // namespace

moments_plan plan_moments_warp(int groups, int components) {
  moments_plan plan;
  plan.shared_bytes = static_cast<std::size_t>(block_bytes(groups, components));
  plan.block_components = block_components(groups, components);
  plan.blocks = std::max(1, std::min(2, static_cast<int>(multiprocessor_bytes / (plan.shared_bytes + 1024))));
  return plan;
}

void moments_warp(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  with_compiled_products(mixture.products, [&](auto products) {
    with_compiled_groups(warp_groups(), mixture.groups,
                         [&](auto groups) { launch<groups(), products()>(mixture, rows, stream); });
  });
}

}  // namespace shoal::gmm::tensor_matrix
