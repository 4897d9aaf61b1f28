// Log-densities of wide rows: y = Uᵀ(x − c) + b, tiles of 128 rows by up to 128 columns, as float16 terms on tensor
// cores. Half of a block's warps fetch rows, centre and split them; the other half multiplies.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor_wide/kernels.hpp>
#include <shoal/gmm/cuda/tensor_wide/pipeline.cuh>

namespace shoal::gmm::tensor_wide {
namespace {

constexpr int parts = tile * 8 / splitting_threads;  // of a stage's rows, of a thread
constexpr int operand_stages = 3;

// Stage after stage of the tiles of rows and components that a block takes. What divides is done once for each of them.
template <int Width>
struct density_work {
  unsigned columns, components, items;
  unsigned item;          // a tile of rows and a component
  unsigned k, first_row;  // of it
  unsigned t = 0, s = 0;  // tile of columns, stage of it
  unsigned rows = 0;      // of the factor that reach the tile
  unsigned before = 0;    // stages of a component before this one

  __device__ density_work(const problem& mixture, const row_chunk& chunk)
      : columns(mixture.layout.columns),
        components(mixture.layout.components),
        items(static_cast<unsigned>((chunk.count + tile - 1) / tile) * mixture.layout.components),
        item(blockIdx.x) {
    find_item();
  }
  __device__ bool valid() const { return item < items; }
  __device__ unsigned stages() const { return ceiling<unsigned>(rows, stage_depth); }
  __device__ unsigned steps() const { return min(ceiling(rows - s * stage_depth, 16U), unsigned{stage_steps}); }
  __device__ void next() {
    ++before;
    if (++s < stages()) return;
    s = 0;
    if (rows < columns) return find_tile(t + 1);
    next_item();
  }
  __device__ void next_item() {
    item += gridDim.x;
    find_item();
  }
  __device__ void find_tile(unsigned number) {
    t = number;
    rows = min((t + 1) * Width, columns);
  }

 private:
  __device__ void find_item() {
    k = item % components;
    first_row = item / components * tile;
    before = 0;
    find_tile(0);
  }
};

// What a thread has loaded of a stage: parts of four rows, and what centres them. While one part is split, the same
// part of the next stage is on its way.
template <int Width>
struct loaded_rows {
  using work_type = density_work<Width>;
  float value[parts][8];
  float2 scale[8];

  __device__ static bool has(const work_type& work, int q) { return q / 2 < static_cast<int>(work.steps()); }

  __device__ void load(const problem& mixture, const row_chunk& chunk, const work_type& work, int row, int q) {
    const unsigned d = work.columns;
    const unsigned begin = work.s * stage_depth;
    const auto* const scales = reinterpret_cast<const float4*>(
        mixture.scales + (std::size_t{work.k} * stages_of(d) + work.s) * stage_depth + 8 * q);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float4 two = __ldg(scales + j);
      scale[2 * j] = make_float2(two.x, two.y);
      scale[2 * j + 1] = make_float2(two.z, two.w);
    }
    // What is beyond the last row or column is read from it: its scale is zero, or nobody asks for it.
    const auto last = static_cast<unsigned>(chunk.count) - 1;
#pragma unroll
    for (int c = 0; c < parts; ++c) {
      const unsigned at = min(work.first_row + static_cast<unsigned>(row + c * (tile / parts)), last);
      const float* const from = chunk.rows + static_cast<std::size_t>(at) * d;
      if (reads_vectors(d)) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const unsigned column = min(begin + static_cast<unsigned>(stage_column(true, q, 4 * half)), d - 4);
          const float4 four = __ldg(reinterpret_cast<const float4*>(from + column));
          value[c][4 * half] = four.x;
          value[c][4 * half + 1] = four.y;
          value[c][4 * half + 2] = four.z;
          value[c][4 * half + 3] = four.w;
        }
      } else {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          value[c][j] = __ldg(from + min(begin + static_cast<unsigned>(stage_column(false, q, j)), d - 1));
        }
      }
    }
  }

  template <int Products>
  __device__ void keep(unsigned char* to, int row, int q) const {
#pragma unroll
    for (int c = 0; c < parts; ++c) {
      float z[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) z[j] = fmaf(value[c][j], scale[j].x, scale[j].y);
      keep_part<Products>(z, to + 2 * part_place(row + c * (tile / parts), q));
    }
  }
};

template <int Products, int Width>
__device__ void split_rows(const problem& mixture, const row_chunk& chunk, unsigned char* memory,
                           stage_barriers<operand_stages>& barriers) {
  using shape = stage_shape;
  constexpr int step_size = shape::terms * Width * 16;
  const int mine = static_cast<int>(threadIdx.x) - multiplying_threads;
  const int row = mine / 64 * 8 + mine % 8;
  const int q = mine / 32 % 2 * 4 + mine % 32 / 8;
  density_work<Width> work(mixture, chunk);
  if (!work.valid()) return;
  loaded_rows<Width> loaded;
  loaded.load(mixture, chunk, work, row, q);
  for (stage_turn<operand_stages> turn; work.valid(); turn.next()) {
    wait_for_room(barriers, turn);
    unsigned char* const to = memory + turn.stage * shape::bytes;
    if (mine == 0) {
      const std::size_t k = mixture.tied() ? 0 : work.k;
      fetch(to + shape::side_bytes,
            mixture.factors + k * mixture.factor_size + std::size_t{work.before} * stage_steps * step_size,
            work.steps() * step_size * 2, barriers.full + turn.stage);
    }
    if (loaded.has(work, q)) loaded.template keep<Products>(to, row, q);
    publish_to_products();
    arrive_together(barriers.full + turn.stage);
    work.next();
    // All at once: loads between the parts that are split would each be waited for.
    if (work.valid() && loaded.has(work, q)) loaded.load(mixture, chunk, work, row, q);
  }
}

template <int Products, int Width>
__device__ void multiply_rows(const problem& mixture, const row_chunk& chunk, const row_terms& terms,
                              unsigned char* memory, stage_barriers<operand_stages>& barriers) {
  using shape = stage_shape;
  const int part = static_cast<int>(threadIdx.x) / 128;
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int g = thread / 4, t = thread % 4;
  const unsigned d = mixture.layout.columns;
  const unsigned long long described = describe(shared_address(memory), tensor::row_stride);
  const unsigned own_bytes = static_cast<unsigned>(2 * part_place(64 * part, 0));
  constexpr int size = Width / 2;
  float sum[size];
  float total[Products == 3 ? size : 1];
  stage_turn<operand_stages> turn;
  for (density_work<Width> work(mixture, chunk); work.valid(); work.next_item()) {
    const unsigned k = work.k;
    const float* const offsets = mixture.parameters.packed.offsets + std::size_t{k} * d;
    double norm[2] = {};
    for (unsigned column_tile = 0; column_tile * Width < d; ++column_tile) {
      work.find_tile(column_tile);
      const auto offset = [&](int i) {
        const unsigned column = column_tile * Width + 8 * static_cast<unsigned>(i / 4) + 2 * t + i % 2;
        return column < d ? __ldg(offsets + column) : 0.0F;
      };
      if constexpr (Products == 3) {
#pragma unroll
        for (int i = 0; i < size; i += 4) {
          total[i] = total[i + 2] = offset(i);
          total[i + 1] = total[i + 3] = offset(i + 1);
        }
      }
      for (work.s = 0; work.s < work.stages(); ++work.s) {
        wait(barriers.full + turn.stage, turn.round & 1);
        const unsigned long long operands = advance(described, static_cast<unsigned>(turn.stage * shape::bytes));
        multiply_steps<Products, factor_operand<Width>>(sum, advance(operands, own_bytes),
                                                        advance(operands, shape::side_bytes), work.steps(),
                                                        Products < 3 && work.s > 0 ? 1 : 0);
        arrive_together(barriers.empty + turn.stage);
        if constexpr (Products == 3) {
#pragma unroll
          for (int i = 0; i < size; ++i) total[i] += sum[i];
        }
        turn.next();
      }
      float part_norm[2] = {};
#pragma unroll
      for (int i = 0; i < size; ++i) {
        float y;
        if constexpr (Products == 3) {
          y = total[i];
        } else {
          y = sum[i] + offset(i);
        }
        part_norm[i % 4 / 2] = fmaf(y, y, part_norm[i % 4 / 2]);
      }
      norm[0] += static_cast<double>(part_norm[0]);
      norm[1] += static_cast<double>(part_norm[1]);
    }
    const double constant = mixture.parameters.in_double.log_constants[k];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      norm[half] += __shfl_xor_sync(~0U, norm[half], 1);
      norm[half] += __shfl_xor_sync(~0U, norm[half], 2);
      const std::size_t row =
          work.first_row + static_cast<unsigned>(static_cast<int>(threadIdx.x) / 32 * 16 + 8 * half + g);
      // An empty component gives nothing, whatever its other parameters are.
      if (t == 0 && row < chunk.count) {
        terms.values[k * terms.stride + row] = constant == -INFINITY ? constant : constant - norm[half] / 2;
      }
    }
  }
}

template <int Products, int Width>
__global__ void __launch_bounds__(threads, 1)
    densities_kernel(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                     const __grid_constant__ row_terms terms) {
  if constexpr (has_warpgroup_products) {
    if (*mixture.parameters.stopped != 0) return;
    extern __shared__ __align__(128) unsigned char memory[];
    using shape = stage_shape;
    auto& barriers = *reinterpret_cast<stage_barriers<operand_stages>*>(memory + operand_stages * shape::bytes);
    // Those who split, and the one of them that fetches the factor.
    make_barriers(barriers, splitting_threads / 32 + 1);
    if (threadIdx.x >= multiplying_threads) {
      give_registers<88>();
      split_rows<Products, Width>(mixture, chunk, memory, barriers);
    } else {
      take_registers<168>();
      multiply_rows<Products, Width>(mixture, chunk, terms, memory, barriers);
    }
  }
}

// Tiles of rows some of which float32 is too coarse for: those far from all components, and those beyond float16's
// range under one, which highly correlated columns may hide from its distance. A tile for each block.
__global__ void __launch_bounds__(tile)
    find_far_tiles(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                   const __grid_constant__ row_terms terms, double limit) {
  if (*mixture.parameters.stopped != 0) return;
  const std::size_t row = std::size_t{blockIdx.x} * tile + threadIdx.x;
  bool far = false;
  if (row < chunk.count) {
    double greatest = -INFINITY, constant = 0;
    for (unsigned k = 0; k < mixture.layout.components; ++k) {
      const double term = terms.values[k * terms.stride + row];
      far = far || isnan(term);
      if (term > greatest) {
        greatest = term;
        constant = mixture.parameters.in_double.log_constants[k];
      }
    }
    far = far || !(2 * (constant - greatest) <= limit);
  }
  const int any = __syncthreads_or(far ? 1 : 0);
  if (threadIdx.x == 0) {
    mixture.far_tiles[blockIdx.x] = any;
    if (any != 0) *mixture.any_far = 1;
  }
}

template <int Products, int Width>
void launch(const problem& mixture, const row_chunk& chunk, const row_terms& terms, cudaStream_t stream) {
  using shape = stage_shape;
  constexpr int bytes = operand_stages * shape::bytes + static_cast<int>(sizeof(stage_barriers<operand_stages>));
  const auto kernel = densities_kernel<Products, Width>;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "reserve shared memory");
  const std::size_t items = (chunk.count + tile - 1) / tile * mixture.layout.components;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(items, mixture.processors));
  kernel<<<blocks, threads, bytes, stream>>>(mixture, chunk, terms);
  cuda::check_launch("densities");
}

}  // namespace

void densities(const problem& mixture, const row_chunk& chunk, const row_terms& terms, cudaStream_t stream) {
  const unsigned width = width_of(mixture.layout.columns);
  const auto near = mixture.products == 3
                        ? (width == 72 ? launch<3, 72> : (width == 104 ? launch<3, 104> : launch<3, 128>))
                        : (width == 72 ? launch<2, 72> : (width == 104 ? launch<2, 104> : launch<2, 128>));
  near(mixture, chunk, terms, stream);
  const auto tiles = static_cast<unsigned>((chunk.count + tile - 1) / tile);
  find_far_tiles<<<tiles, tile, 0, stream>>>(mixture, chunk, terms, far_limit(mixture.layout.columns));
  cuda::check_launch("find far rows");
  static_assert(tile == tensor_float64::density_rows);
  tensor_float64::launch_wanted_densities(mixture.layout, chunk, mixture.parameters, terms, mixture.far_tiles,
                                          mixture.any_far, mixture.processors, stream);
}

}  // namespace shoal::gmm::tensor_wide
