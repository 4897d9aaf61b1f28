// Log-densities of wide rows in a frame that all components share: a tile of rows is moved into it and rounded once,
// and stays in registers while all components' factors come by.
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

constexpr int framed_threads = multiplying_threads + 128;

// Of two rows, four columns of each step, as products want them of a warp.
template <unsigned Steps>
__device__ __forceinline__ void move_rows(unsigned (&rows)[Steps][4], const problem& mixture, const row_chunk& chunk,
                                          unsigned first_row, unsigned in_tile, unsigned t) {
  const unsigned d = mixture.layout.columns;
  const auto last = static_cast<unsigned>(chunk.count) - 1;
  const float* const from[2] = {chunk.rows + std::size_t{min(first_row + in_tile, last)} * d,
                                chunk.rows + std::size_t{min(first_row + in_tile + 8, last)} * d};
  const bool vectors = reads_vectors(d);
#pragma unroll
  for (unsigned step = 0; step < Steps; ++step) {
    const unsigned column = 16 * step + 4 * t;
    float x[2][4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (vectors) {
        float4 four = make_float4(0, 0, 0, 0);
        if (column < d) four = __ldg(reinterpret_cast<const float4*>(from[half] + column));
        x[half][0] = four.x, x[half][1] = four.y, x[half][2] = four.z, x[half][3] = four.w;
      } else {
#pragma unroll
        for (unsigned c = 0; c < 4; ++c) x[half][c] = column + c < d ? __ldg(from[half] + column + c) : 0.0F;
      }
    }
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const float4 scale = __ldg(reinterpret_cast<const float4*>(mixture.frame.scales + column + 2 * pair));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        rows[step][2 * pair + half] = tensor::bits_of(__floats2half2_rn(fmaf(x[half][2 * pair], scale.x, scale.y),
                                                                        fmaf(x[half][2 * pair + 1], scale.z, scale.w)));
      }
    }
  }
}

template <int Width, unsigned Steps>
__device__ void multiply_framed(const problem& mixture, const row_chunk& chunk, const row_terms& terms,
                                const density_plan& plan, unsigned char* memory, density_barriers& barriers) {
  using stage = density_stage<1, Width>;
  constexpr unsigned stages = (Steps + stage_steps - 1) / stage_steps;
  constexpr unsigned reach[2] = {(Width + 15) / 16, Steps};  // of both tiles
  const unsigned thread = threadIdx.x % 32, t = thread % 4;
  const unsigned in_tile = threadIdx.x / 32 * 16 + thread / 4;
  constexpr unsigned padded = 2 * Width;
  const unsigned first_stage = shared_address(memory);
  float sum[2][Width / 2];
  unsigned rows[Steps][4];
  density_turn turn{plan.stages};
  unsigned held_row = ~0U;
  for (density_work<1, Width> work(mixture, chunk); work.valid(); work.next_item()) {
    if (work.first_row != held_row) {
      held_row = work.first_row;
      move_rows<Steps>(rows, mixture, chunk, held_row, in_tile, t);
    }
    unsigned long long* used = nullptr;
#pragma unroll
    for (unsigned s = 0; s < stages; ++s) {
      wait(barriers.full + turn.stage, turn.round & 1);
      const unsigned long long factor = describe(first_stage + turn.stage * plan.stage_bytes, tensor::row_stride);
      begin_products();
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
#pragma unroll
        for (unsigned step = 0; step < stage_steps; ++step) {
          const unsigned at = s * stage_steps + step;
          if (at >= reach[i]) continue;
          multiply(sum[i], rows[at < Steps ? at : 0], advance(factor, i * stage::tile_bytes + step * stage::step_bytes),
                   at > 0 ? 1 : 0);
        }
      }
      end_products();
      if (s > 0) {
        wait_for_products<1>();
        arrive(used);
      }
      used = barriers.empty + turn.stage;
      turn.next();
    }
    wait_for_products<0>();
    // Until here products read and write registers that the compiler takes for free.
#pragma unroll
    for (auto& step : rows) {
#pragma unroll
      for (unsigned& part : step) asm volatile("" : "+r"(part)::"memory");
    }
    hold(sum[0]);
    hold(sum[1]);
    arrive(used);
    const unsigned k = work.k;
    const double constant = mixture.parameters.in_double.log_constants[k] + mixture.corrections[k];
    double norm[2] = {};
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      add_squares(sum[i], mixture.frame.offsets + std::size_t{k} * padded + i * Width + 2 * t, norm);
    }
    write_densities(norm, constant, k, work.first_row + in_tile, t, chunk, terms);
  }
}

template <int Width, unsigned Steps>
__global__ void __launch_bounds__(framed_threads, 1)
    framed_kernel(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                  const __grid_constant__ row_terms terms, const __grid_constant__ density_plan plan) {
  cuda::wait_for_predecessor();
  if constexpr (has_warpgroup_products) {
    if (*mixture.parameters.stopped != 0 || *mixture.frame.apart != 0) return;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& barriers = *reinterpret_cast<density_barriers*>(memory + plan.barriers_at());
    make_barriers(barriers, plan);
    if (threadIdx.x >= multiplying_threads) {
      give_registers<56>();
      if (threadIdx.x == multiplying_threads) fetch_factors<1, Width>(mixture, chunk, plan, memory, barriers);
    } else {
      take_registers<224>();
      multiply_framed<Width, Steps>(mixture, chunk, terms, plan, memory, barriers);
    }
  }
}

template <int Width, unsigned Steps>
void launch(const problem& mixture, const row_chunk& chunk, const row_terms& terms, cudaStream_t stream) {
  using stage = density_stage<1, Width>;
  constexpr unsigned most_bytes = (227U << 10) - static_cast<unsigned>(sizeof(density_barriers));
  density_plan plan{};
  plan.held = true;  // rows do not come with the stages
  plan.stage_bytes = stage::rows_at;
  plan.stages = std::min(most_density_stages, most_bytes / plan.stage_bytes);
  const std::size_t bytes = plan.barriers_at() + sizeof(density_barriers);
  const std::size_t items = (chunk.count + tile - 1) / tile * mixture.layout.components;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(items, mixture.processors));
  cuda::launch_in_turn(framed_kernel<Width, Steps>, blocks, framed_threads, bytes, stream, mixture, chunk, terms, plan);
}

}  // namespace

void framed_densities(const problem& mixture, const row_chunk& chunk, const row_terms& terms, cudaStream_t stream) {
  static_assert(most_framed_columns == 13 * 16);
  const unsigned steps = ceiling(mixture.layout.columns, 16U);
  const auto kernel = steps == 9    ? launch<72, 9>
                      : steps == 10 ? launch<104, 10>
                      : steps == 11 ? launch<104, 11>
                      : steps == 12 ? launch<104, 12>
                                    : launch<104, 13>;
  kernel(mixture, chunk, terms, stream);
}

}  // namespace shoal::gmm::tensor_wide
