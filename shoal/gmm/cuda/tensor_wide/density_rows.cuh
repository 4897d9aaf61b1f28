// Who brings rows and factors of densities into shared memory: one thread the factors and scales of a stage, by bulk
// copies, and three warps the rows.
#pragma once

#include <shoal/gmm/cuda/tensor_wide/density_stages.cuh>
#include <shoal/gmm/cuda/tensor_wide/pipeline.cuh>

namespace shoal::gmm::tensor_wide {

inline constexpr int row_warps = 3;

struct density_barriers {
  unsigned long long full[most_density_stages];
  unsigned long long empty[most_density_stages];
  unsigned long long rows_full, rows_empty;
};

/// Which stage is next, of as many as the plan has.
struct density_turn {
  unsigned stages, stage = 0, round = 0;
  __device__ void next() {
    if (++stage == stages) stage = 0, ++round;
  }
};

/// Every thread that multiplies arrives: racecheck does not know that one of a warp speaks for the others, and would
/// report the copies that follow.
__device__ inline void make_barriers(density_barriers& barriers, const density_plan& plan) {
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < plan.stages; ++s) {
      make_barrier(barriers.full + s, plan.held ? 1 : 1 + row_warps * 32);
      make_barrier(barriers.empty + s, multiplying_threads);
    }
    make_barrier(&barriers.rows_full, row_warps * 32);
    make_barrier(&barriers.rows_empty, multiplying_threads);
    publish_barriers();
  }
  __syncthreads();
}

__device__ inline void wait_for_room(density_barriers& barriers, const density_turn& turn) {
  if (turn.round > 0) wait(barriers.empty + turn.stage, (turn.round - 1) & 1);
}

/// One thread: the factor's tiles and the scales of every stage.
template <int Products, int Width>
__device__ void fetch_factors(const problem& mixture, const row_chunk& chunk, const density_plan& plan,
                              unsigned char* memory, density_barriers& barriers) {
  using stage = density_stage<Products, Width>;
  const std::size_t padded = std::size_t{stages_of(mixture.layout.columns)} * stage_depth;
  density_turn turn{plan.stages};
  for (density_work<Products, Width> work(mixture, chunk); work.valid(); work.next(), turn.next()) {
    wait_for_room(barriers, turn);
    unsigned char* const to = memory + plan.rows_bytes + turn.stage * plan.stage_bytes;
    unsigned long long* const full = barriers.full + turn.stage;
    unsigned bytes = stage::scale_bytes;
    for (unsigned i = 0; i < stage::tiles; ++i) bytes += work.steps(i) * stage::step_bytes;
    expect(full, bytes);
    fetch_expected(to + stage::scales_at, mixture.scales + work.k * padded + work.s * stage_depth, stage::scale_bytes,
                   full);
    const std::uint16_t* const factor = mixture.factors + (mixture.tied() ? 0 : work.k * mixture.factor_size);
    for (unsigned i = 0; i < stage::tiles; ++i) {
      if (work.steps(i) == 0) continue;
      fetch_expected(to + i * stage::tile_bytes, factor + std::size_t{work.place(i)} * (stage::tile_bytes / 2),
                     work.steps(i) * stage::step_bytes, full);
    }
  }
}

/// Copies the columns of `steps` steps, from `first` on, of a tile of rows; what is beyond the last column is zero, and
/// what is beyond the last row a copy of it.
__device__ inline void copy_rows(const row_chunk& chunk, unsigned columns, unsigned first_row, unsigned first,
                                 unsigned steps, unsigned to, unsigned stride) {
  const unsigned warp = threadIdx.x / 32 - (multiplying_threads / 32 + 1), lane = threadIdx.x % 32;
  const auto last = static_cast<unsigned>(chunk.count) - 1;
  const bool vectors = reads_vectors(columns);
  const unsigned chunks = (vectors ? 4 : 16) * steps, bytes = vectors ? 16 : 4;
  // Chunks of a row that neighbouring threads take. Rows that do not depend on one another hide what it takes to find
  // their places.
  const unsigned across = chunks <= 16 ? 16 : 32;
  for (unsigned at = lane % across; at < chunks; at += across) {
    const unsigned column = first + at * (bytes / 4);
    const bool inside = column < columns;
    const float* const from = chunk.rows + (inside ? column : 0);
#pragma unroll 4
    for (unsigned row = (warp * 32 + lane) / across; row < tile; row += row_warps * 32 / across) {
      const float* const own = from + std::size_t{min(first_row + row, last)} * columns;
      const unsigned place = to + row * stride + ((bytes * at) ^ (step_exchange(row, stride) * 64));
      if (vectors) {
        copy_async<16>(place, own, inside);
      } else {
        copy_async<4>(place, own, inside);
      }
    }
  }
}

/// Three warps: the rows, once for all components of a tile of them or stage by stage.
template <int Products, int Width>
__device__ void fetch_rows(const problem& mixture, const row_chunk& chunk, const density_plan& plan,
                           unsigned char* memory, density_barriers& barriers) {
  using stage = density_stage<Products, Width>;
  const unsigned d = mixture.layout.columns;
  density_work<Products, Width> work(mixture, chunk);
  if (plan.held) {
    for (unsigned round = 0; work.valid(); ++round) {
      if (round > 0) wait(&barriers.rows_empty, (round - 1) & 1);
      copy_rows(chunk, d, work.first_row, 0, ceiling(d, 16U), shared_address(memory), plan.row_stride);
      arrive_after_copies(&barriers.rows_full);
      const unsigned first_row = work.first_row;
      while (work.valid() && work.first_row == first_row) work.next_item();
    }
    return;
  }
  density_turn turn{plan.stages};
  for (; work.valid(); work.next(), turn.next()) {
    wait_for_room(barriers, turn);
    copy_rows(chunk, d, work.first_row, work.s * stage_depth, stage_steps,
              shared_address(memory) + turn.stage * plan.stage_bytes + stage::rows_at, plan.row_stride);
    arrive_after_copies(barriers.full + turn.stage);
  }
}

}  // namespace shoal::gmm::tensor_wide
