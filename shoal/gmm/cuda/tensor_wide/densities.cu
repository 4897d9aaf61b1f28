// Log-densities of wide rows: y = Uᵀ(x − c) + b, tiles of 128 rows by tiles of columns, as products of float16 terms on
// tensor cores. Four warps bring rows and factors into shared memory; eight centre rows, split them in registers and
// multiply: while four of these split, the other four multiply.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_wide/density_rows.cuh>
#include <shoal/gmm/cuda/tensor_wide/density_sums.cuh>
#include <shoal/gmm/cuda/tensor_wide/kernels.hpp>
#include <shoal/gmm/cuda/tensor_wide/products.cuh>
#include <shoal/gmm/cuda/tensor_wide/tuning.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

constexpr int density_threads = multiplying_threads + 128;

// Of 16 rows and a stage's columns, as products want them of a warp.
template <int Products>
struct row_operands {
  unsigned high[stage_steps][4];
  unsigned low[Products == 3 ? stage_steps : 1][4];

  __device__ __forceinline__ void hold() {
#pragma unroll
    for (unsigned i = 0; i < stage_steps; ++i) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        asm volatile("" : "+r"(high[i][part])::"memory");
        if constexpr (Products == 3) asm volatile("" : "+r"(low[i][part])::"memory");
      }
    }
  }
  // `rows` and `below`: this thread's columns of its two rows, where the first step is. Odd steps lie `exchange` bytes
  // before, even ones behind where they would. Steps that are beyond the last column are multiplied with nothing.
  __device__ __forceinline__ void split(unsigned rows, unsigned below, unsigned exchange, unsigned scales) {
#pragma unroll
    for (unsigned i = 0; i < stage_steps; ++i) {
      const unsigned at = i * 64 + (i % 2 == 0 ? exchange : 0 - exchange);
      float x[2][4], scale[8];
      read_four(rows + at, x[0]);
      read_four(below + at, x[1]);
      read_four(scales + i * 128, scale);
      read_four(scales + i * 128 + 16, scale + 4);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        x[0][c] = fmaf(x[0][c], scale[2 * c], scale[2 * c + 1]);
        x[1][c] = fmaf(x[1][c], scale[2 * c], scale[2 * c + 1]);
      }
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const float a = x[part % 2][part / 2 * 2], b = x[part % 2][part / 2 * 2 + 1];
        if constexpr (Products == 3) {
          tensor::split(a, b, high[i][part], low[i][part]);
        } else {
          high[i][part] = tensor::bits_of(__floats2half2_rn(a, b));
        }
      }
    }
  }
};

// The small products come first, since tensor cores truncate sums.
template <int Products, int Width, unsigned Steps, int Size>
__device__ __forceinline__ void issue_products(float (&sums)[Size], const row_operands<Products>& rows,
                                               unsigned long long factor, int keep) {
  using stage = density_stage<Products, Width>;
  if constexpr (Products == 3) {
#pragma unroll
    for (unsigned step = 0; step < Steps; ++step) {
      const unsigned long long own = advance(factor, step * stage::step_bytes);
      multiply(sums, rows.low[step], own, step > 0 ? 1 : keep);
      multiply(sums, rows.high[step], advance(own, stage::term_bytes), 1);
    }
  }
#pragma unroll
  for (unsigned step = 0; step < Steps; ++step) {
    multiply(sums, rows.high[step], advance(factor, step * stage::step_bytes), Products == 3 || step > 0 ? 1 : keep);
  }
}

// sums (64 × as many of four warps) = keep · sums + `steps` steps of rows · factor. Branches between products would
// make them wait.
template <int Products, int Width, int Size>
__device__ __forceinline__ void multiply_steps(float (&sums)[Size], const row_operands<Products>& rows,
                                               unsigned long long factor, unsigned steps, int keep) {
  static_assert(stage_steps == 4);
  if (steps == 4) return issue_products<Products, Width, 4>(sums, rows, factor, keep);
  if (steps == 3) return issue_products<Products, Width, 3>(sums, rows, factor, keep);
  if (steps == 2) return issue_products<Products, Width, 2>(sums, rows, factor, keep);
  issue_products<Products, Width, 1>(sums, rows, factor, keep);
}

template <int Products, int Width>
__device__ void multiply_rows(const problem& mixture, const row_chunk& chunk, const row_terms& terms,
                              const density_plan& plan, unsigned char* memory, density_barriers& barriers) {
  using stage = density_stage<Products, Width>;
  // While a stage is multiplied the next one is split. Three products take longer than to split, and leave no registers
  // for more.
  constexpr bool overlaps = Products == 1;
  const unsigned thread = threadIdx.x % 32, t = thread % 4;
  const unsigned in_tile = threadIdx.x / 32 * 16 + thread / 4;
  const unsigned padded = padded_columns(mixture.layout.columns);
  const unsigned exchange = step_exchange(in_tile, plan.row_stride) * 64;
  const unsigned row_offset = in_tile * plan.row_stride + 16 * t;
  const unsigned own_rows = shared_address(memory) + row_offset;
  const unsigned first_stage = shared_address(memory) + plan.rows_bytes;
  constexpr int size = Width / 2;
  float sum[stage::tiles][size];
  float total[Products == 3 ? size : 1];
  row_operands<Products> rows;
  density_turn turn{plan.stages};
  const auto take = [&](row_operands<Products>& to, unsigned s) {
    wait(barriers.full + turn.stage, turn.round & 1);
    const unsigned operands = first_stage + turn.stage * plan.stage_bytes;
    const unsigned from = plan.held ? own_rows + s * (stage_depth * 4) : operands + stage::rows_at + row_offset;
    to.split(from, from + 8 * plan.row_stride, exchange, operands + stage::scales_at + 32 * t);
  };
  unsigned held_row = ~0U, held_round = 0;
  for (density_work<Products, Width> work(mixture, chunk); work.valid(); work.next_item()) {
    if (plan.held && work.first_row != held_row) {
      if (held_round > 0) arrive(&barriers.rows_empty);
      wait(&barriers.rows_full, held_round++ & 1);
      held_row = work.first_row;
    }
    const unsigned k = work.k;
    double constant = mixture.parameters.in_double.log_constants[k];
    if constexpr (Products == 1) constant += mixture.corrections[mixture.tied() ? 0 : k];
    double norm[2] = {};
    do {
      if constexpr (Products == 3) {
#pragma unroll
        for (int i = 0; i < size; ++i) total[i] = 0;
      }
      unsigned left[stage::tiles];
#pragma unroll
      for (unsigned i = 0; i < stage::tiles; ++i) left[i] = ceiling(work.reach(i), 16U);
      if constexpr (overlaps) take(rows, 0);
      for (unsigned s = 0; s < work.stages; ++s) {
        if constexpr (!overlaps) take(rows, s);
        const unsigned long long factor = describe(first_stage + turn.stage * plan.stage_bytes, tensor::row_stride);
        begin_products();
#pragma unroll
        for (unsigned i = 0; i < stage::tiles; ++i) {
          if (left[i] == 0) continue;
          multiply_steps<Products, Width>(sum[i], rows, advance(factor, i * stage::tile_bytes),
                                          min(left[i], unsigned{stage_steps}), Products == 1 && s > 0 ? 1 : 0);
          left[i] -= min(left[i], unsigned{stage_steps});
        }
        end_products();
        unsigned long long* const empty = barriers.empty + turn.stage;
        turn.next();
        [[maybe_unused]] row_operands<Products> next;
        if constexpr (overlaps) {
          if (s + 1 < work.stages) take(next, s + 1);
        }
        wait_for_products<0>();
        // Until here products read and write registers that the compiler takes for free.
        rows.hold();
#pragma unroll
        for (unsigned i = 0; i < stage::tiles; ++i) hold(sum[i]);
        arrive(empty);
        if constexpr (overlaps) rows = next;
        if constexpr (Products == 3) {
#pragma unroll
          for (int i = 0; i < size; ++i) total[i] += sum[0][i];
        }
      }
#pragma unroll
      for (unsigned i = 0; i < stage::tiles; ++i) {
        if (work.reach(i) == 0) continue;
        const float* const offsets = mixture.offsets + std::size_t{k} * padded + (work.t + i) * Width + 2 * t;
        if constexpr (Products == 3) {
          add_squares(total, offsets, norm);
        } else {
          add_squares(sum[i], offsets, norm);
        }
      }
    } while (work.next_tiles());
    write_densities(norm, constant, k, work.first_row + in_tile, t, chunk, terms);
  }
}

template <int Products, int Width>
__global__ void __launch_bounds__(density_threads, 1)
    densities_kernel(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                     const __grid_constant__ row_terms terms, const __grid_constant__ density_plan plan) {
  cuda::wait_for_predecessor();
  if constexpr (has_warpgroup_products) {
    if (*mixture.parameters.stopped != 0) return;
    if (mixture.frame.apart != nullptr && *mixture.frame.apart == 0) return;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& barriers = *reinterpret_cast<density_barriers*>(memory + plan.barriers_at());
    make_barriers(barriers, plan);
    if (threadIdx.x >= multiplying_threads) {
      give_registers<56>();
      if (threadIdx.x == multiplying_threads) {
        fetch_factors<Products, Width>(mixture, chunk, plan, memory, barriers);
      } else if (threadIdx.x >= multiplying_threads + 32) {
        fetch_rows<Products, Width>(mixture, chunk, plan, memory, barriers);
      }
    } else {
      take_registers<224>();
      multiply_rows<Products, Width>(mixture, chunk, terms, plan, memory, barriers);
    }
  }
}

// Tiles of rows some of which float32 is too coarse for: those far from all components, and those beyond float16's
// range under one, which highly correlated columns may hide from its distance. A tile for each block.
__global__ void __launch_bounds__(tile)
    find_far_tiles(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                   const __grid_constant__ row_terms terms, double limit) {
  cuda::wait_for_predecessor();
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

// Rows are held where enough components share them; who waits for a tile of rows multiplies nothing.
template <int Products, int Width>
density_plan plan_densities(const problem& mixture) {
  using stage = density_stage<Products, Width>;
  constexpr unsigned most_bytes = (227U << 10) - static_cast<unsigned>(sizeof(density_barriers));
  density_plan plan{};
  plan.row_stride = ceiling(mixture.layout.columns, 16U) * 64;
  // What is read beyond the last column of the last row is used by nobody.
  plan.rows_bytes = tile * plan.row_stride + stage_depth * 4;
  plan.stage_bytes = stage::rows_at;
  plan.held = mixture.layout.components >= least_holding_components &&
              plan.rows_bytes + least_holding_stages * plan.stage_bytes <= most_bytes;
  if (!plan.held) {
    plan.row_stride = stage_depth * 4;
    plan.rows_bytes = 0;
    plan.stage_bytes = stage::rows_at + stage::row_bytes;
  }
  plan.stages = std::min(most_density_stages, (most_bytes - plan.rows_bytes) / plan.stage_bytes);
  return plan;
}

template <int Products, int Width>
void launch(const problem& mixture, const row_chunk& chunk, const row_terms& terms, cudaStream_t stream) {
  const density_plan plan = plan_densities<Products, Width>(mixture);
  const std::size_t bytes = plan.barriers_at() + sizeof(density_barriers);
  const std::size_t items = (chunk.count + tile - 1) / tile * mixture.layout.components;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(items, mixture.processors));
  cuda::launch_in_turn(densities_kernel<Products, Width>, blocks, density_threads, bytes, stream, mixture, chunk, terms,
                       plan);
}

}  // namespace

void densities(const problem& mixture, const row_chunk& chunk, const row_terms& terms, cudaStream_t stream) {
  const unsigned width = width_of(mixture.layout.columns);
  const auto near = mixture.products == 3
                        ? (width == 72 ? launch<3, 72> : (width == 104 ? launch<3, 104> : launch<3, 128>))
                        : (width == 72 ? launch<1, 72> : (width == 104 ? launch<1, 104> : launch<1, 128>));
  near(mixture, chunk, terms, stream);
  if (mixture.frame.apart != nullptr) framed_densities(mixture, chunk, terms, stream);
  const auto tiles = static_cast<unsigned>((chunk.count + tile - 1) / tile);
  cuda::launch_in_turn(find_far_tiles, tiles, tile, 0, stream, mixture, chunk, terms,
                       far_limit(mixture.layout.columns));
  static_assert(tile == tensor_float64::density_rows);
  tensor_float64::launch_wanted_densities(mixture.layout, chunk, mixture.parameters, terms, mixture.far_tiles,
                                          mixture.any_far, mixture.processors, stream);
}

}  // namespace shoal::gmm::tensor_wide
