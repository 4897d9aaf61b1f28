// Rows that several warps share, as operands of products in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/few_columns/circle_products.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/product_rows.cuh>
#include <shoal/gmm/cuda/few_columns/warp_operands.cuh>
#include <shoal/gmm/cuda/few_columns/wider_operands.cuh>

namespace shoal::gmm::few_columns {

/// What is known when a kernel is compiled.
template <int Columns, int Terms, bool Large>
struct circle_shape {
  static constexpr int columns = Columns, terms = Terms;
  static constexpr warp_circle circle{static_cast<unsigned>(Columns)};
  static constexpr circle_sizes sizes{circle, Terms, Large};
  static constexpr int tiles = static_cast<int>(sizes.tiles());
  static constexpr unsigned steps = circle.steps(), eights = 2 * sizes.row_blocks(), stage_rows = sizes.stage_rows();
};

/// Where things lie in the dynamic shared memory of a block, in bytes.
struct circle_places {
  unsigned columns = 0;  ///< product_column [most_columns]
  unsigned constants, far, heads, barriers, elements, sums, coefficients, stages, bytes;
  unsigned flushed_parts;  ///< whose sums lie there at a time when a group ends
  static constexpr unsigned far_words = static_cast<unsigned>(cuda::piece_unit) / 32;

  __host__ __device__ circle_places(const circle_sizes& sizes, unsigned parts, unsigned teams) {
    constants = columns + static_cast<unsigned>(most_columns) * sizeof(product_column);
    far = constants + parts * sizes.components() * 4;
    heads = far + far_words * 4;
    barriers = heads + most_circle_warps * 16;
    elements = barriers + most_circle_warps * 8;
    sums = elements + (sizes.circle.columns + 1) * (sizes.circle.columns + 2) / 2 * 4;
    coefficients = (sums + teams * 2 * parts * sizes.stage_rows() * 4 + 15) / 16 * 16;
    stages = (coefficients + parts * sizes.tiles() * sizes.sixteen_bytes() + 15) / 16 * 16;
    const unsigned rows = teams * 2 * sizes.stage_bytes();
    const unsigned flushed = (teams + 2) * sizes.sum_bytes();  // of each part, and its totals in float64
    const unsigned least = parts * sizes.components() * 8;     // far rows have a number for each component there
    unsigned room = rows > flushed ? rows : flushed;
    room = room > least ? room : least;
    flushed_parts = room / flushed;
    bytes = stages + room;
  }
};

/// Of a lane's triangle, how an element comes of a component's sums: z(i) z(j), with z(columns) = 1, and where that of
/// two columns is among the features.
struct triangle_source {
  unsigned char i, j, own, spare;  // four bytes, one load
};

/// In shared memory: all threads of a team tell it that they have come to a place, and others wait until all have. Its
/// phases take turns.
class phase_barrier {
 public:
  __device__ void make(unsigned threads) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(threads) : "memory");
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address()) : "memory"); }
  /// Until the phase of that parity is over.
  __device__ void wait(unsigned parity) {
    unsigned done = 0;
    while (done == 0) {
#if __CUDA_ARCH__ >= 900
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
#else
      asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
#endif
                   : "=r"(done)
                   : "r"(address()), "r"(parity)
                   : "memory");
    }
  }

 private:
  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&state_)); }
  unsigned long long state_;
};

/// A warp's place in its team, and what the team has in shared memory.
template <class Shape>
struct circle_team {
  unsigned team, part, parts;
  float* sums;           ///< [2][parts][stage_rows] of each row what a warp has over its components
  unsigned char* stage;  ///< [2][stage_bytes()]
  phase_barrier* read;   ///< of warps that have read a stage for the last time
  /// Of a stage's rows those that the warp makes features of, eight and eight, and of which steps, a bit each.
  static constexpr unsigned most_eights = Shape::eights / least_circle_parts;
  unsigned eight[most_eights], own_steps[most_eights];

  __device__ circle_team(const circle_arguments& a, unsigned char* memory, const circle_places& places) {
    const unsigned warp = __shfl_sync(~0U, threadIdx.x / 32, 0);  // the same for the compiler, too
    parts = a.parts;
    team = warp / parts;
    part = warp % parts;
    sums = reinterpret_cast<float*>(memory + places.sums) + team * 2 * parts * Shape::stage_rows;
    stage = memory + places.stages + team * 2 * Shape::sizes.stage_bytes();
    read = reinterpret_cast<phase_barrier*>(memory + places.barriers) + team;
    // Eights of their own for all warps, and of those that are left each step for another one of the warps that share
    // them.
#pragma unroll
    for (unsigned i = 0; i < most_eights; ++i) {
      const unsigned left = Shape::eights - min(i * parts, Shape::eights);  // for this turn
      const bool shared = left < parts;
      const unsigned shares = shared && left > 0 ? parts / left : 1, share = shared && left > 0 ? part / left : 0;
      eight[i] = min(i * parts + (shared && left > 0 ? part % left : part), Shape::eights - 1);
      own_steps[i] = 0;
      for (unsigned step = share; left > 0 && share < shares && step < Shape::steps; step += shares) {
        own_steps[i] |= 1U << step;
      }
    }
  }

  /// All warps of the team.
  __device__ void sync() const { asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"(32 * parts) : "memory"); }
  __device__ float* sums_of(unsigned buffer) const { return sums + buffer * parts * Shape::stage_rows; }
  __device__ unsigned char* stage_of(unsigned buffer) const { return stage + buffer * Shape::sizes.stage_bytes(); }
};

/// A thread's own columns of the rows that its warp makes features of.
template <class Shape>
using team_columns = own_columns<Shape>[circle_team<Shape>::most_eights];

/// Loads them, of the stage that begins with row `first`; rows beyond the last are left as they were, and count for
/// nothing.
template <class Shape>
__device__ void load_columns(team_columns<Shape>& next, const circle_team<Shape>& team, const float* rows,
                             unsigned columns, unsigned first, unsigned count) {
  constexpr unsigned own = Shape::circle.thread_columns();
  const unsigned column = own * (threadIdx.x % 4);
#pragma unroll
  for (unsigned each = 0; each < team.most_eights; ++each) {
    const unsigned at = first + team.eight[each] * 8 + threadIdx.x % 32 / 4;
    if (at >= count || team.own_steps[each] == 0) continue;
    const float* const from = rows + static_cast<std::size_t>(at) * columns + column;
#pragma unroll
    for (unsigned i = 0; i < own; ++i) {
      if (column + i < columns) next[each].x[i] = __ldg(from + i);
    }
  }
}

/// Leaves what the warp makes of a stage's features in shared memory: for sixteen rows and each step and term four
/// matrices, of rows 0 … 7 and 8 … 15 and of features 0 … 7, then 8 … 15.
template <class Shape, unsigned... Steps>
__device__ void make_features_of_eight(const own_columns<Shape>& row, unsigned eight, unsigned own_steps,
                                       unsigned char* stage, const product_column* columns,
                                       std::integer_sequence<unsigned, Steps...>) {
  if (own_steps == 0) return;
  constexpr unsigned own = Shape::circle.thread_columns();
  float2 frame[own];
#pragma unroll
  for (unsigned i = 0; i < own; ++i) {
    const product_column& column = columns[own * (threadIdx.x % 4) + i];
    frame[i] = make_float2(column.scale, column.shift);
  }
  const row_circle<Shape> circle(row, frame);
  const bool counts_twice = threadIdx.x % 4 >= 2;
  auto* const to = reinterpret_cast<std::uint32_t*>(stage + eight / 2 * Shape::sizes.sixteen_bytes()) + eight % 2 * 32 +
                   threadIdx.x % 32;
  const auto make = [&]<unsigned Step>() {
    if ((own_steps >> Step & 1U) == 0) return;
    std::uint32_t high[2], low[2];
    circle.template features<4 * Step>(counts_twice, high[0], low[0]);
    circle.template features<4 * Step + 2>(counts_twice, high[1], low[1]);
    std::uint32_t* const own_to = to + Step * Shape::terms * 128;
    own_to[0] = high[0];
    own_to[64] = high[1];
    if constexpr (Shape::terms == 2) {
      own_to[128] = low[0];
      own_to[192] = low[1];
    }
  };
  (make.template operator()<Steps>(), ...);
}
template <class Shape>
__device__ void make_features(const team_columns<Shape>& next, const circle_team<Shape>& team, unsigned char* stage,
                              const product_column* columns) {
#pragma unroll
  for (unsigned each = 0; each < team.most_eights; ++each) {
    make_features_of_eight<Shape>(next[each], team.eight[each], team.own_steps[each], stage, columns,
                                  std::make_integer_sequence<unsigned, Shape::steps>());
  }
}

}  // namespace shoal::gmm::few_columns
