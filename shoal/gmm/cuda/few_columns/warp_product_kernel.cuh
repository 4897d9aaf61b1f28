// Full covariances of few columns and components that lie near each other: log-densities are a product of the rows'
// features, z and z zᵀ in a common frame, with coefficients, and moments are a product of the same features with
// responsibilities, on tensor cores. A warp does both for its rows and waits for no other one before a group ends:
// features are made in the registers that are the first factor, and lie in shared memory only to be turned around.
// Numbers are sums of two float16 terms, and of their products the least is left out.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/warp_flush.cuh>
#include <shoal/gmm/cuda/few_columns/warp_frame.cuh>
#include <shoal/gmm/cuda/few_columns/warp_operands.cuh>
#include <shoal/gmm/cuda/few_columns/warp_responsibilities.cuh>

namespace shoal::gmm::few_columns {

inline constexpr unsigned warp_steps = warp_circle_of(narrow_warp_columns).steps();
template <class Shape>
inline constexpr unsigned sixteen_features = Shape::sizes.feature_numbers();

/// Coefficients as a thread has them, for all rows. Where one term will do, low ones are not used.
template <class Shape>
struct warp_coefficients {
  static constexpr int tiles = Shape::tiles;
  std::uint32_t high[tiles][warp_steps][2], low[tiles][warp_steps][2];
  const float4* constants;

  __device__ explicit warp_coefficients(const warp_mixture& m) : constants(m.constants + threadIdx.x % 4) {
    const auto* const from = reinterpret_cast<const uint2*>(m.operands) + threadIdx.x % 32;
#pragma unroll
    for (unsigned tile = 0; tile < tiles; ++tile) {
#pragma unroll
      for (unsigned step = 0; step < warp_steps; ++step) {
        const uint2 first = from[(tile * warp_steps + step) * 64], second = from[(tile * warp_steps + step) * 64 + 32];
        high[tile][step][0] = first.x;
        high[tile][step][1] = first.y;
        low[tile][step][0] = second.x;
        low[tile][step][1] = second.y;
      }
    }
  }
};

/// scores += features · coefficients of one step, the first of which begins with the constants.
template <unsigned Step, class Shape>
__device__ void add_scores(float (&scores)[Shape::tiles][4], const warp_coefficients<Shape>& c,
                           const std::uint32_t (&high)[4], const std::uint32_t (&low)[4]) {
  constexpr int Tiles = Shape::tiles;
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
    if constexpr (Step == 0) {
      const float4 start = c.constants[tile * (warp_product_tile / 2)];
      scores[tile][0] = start.x;
      scores[tile][1] = start.y;
      scores[tile][2] = start.z;
      scores[tile][3] = start.w;
    }
    if constexpr (Shape::terms == 2) {
      tensor::multiply_add(scores[tile], low, c.high[tile][Step][0], c.high[tile][Step][1]);
    }
  }
  if constexpr (Shape::terms == 2) {
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      tensor::multiply_add(scores[tile], high, c.low[tile][Step][0], c.low[tile][Step][1]);
    }
  }
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
    tensor::multiply_add(scores[tile], high, c.high[tile][Step][0], c.high[tile][Step][1]);
  }
}

/// What a warp has in shared memory, as offsets for its threads: features of two times sixteen rows, to be written and
/// to be read turned around, and responsibilities.
template <class Shape>
struct warp_exchange {
  static constexpr unsigned step_numbers = Shape::terms * 4 * matrix_numbers;
  std::uint16_t* features;      ///< with the thread's place in matrices that are written
  const std::uint16_t* turned;  ///< with that in matrices that are read
  std::uint16_t* shares;        ///< written and read at the same place
  unsigned buffer = 0;          ///< where the newest features are

  __device__ explicit warp_exchange(std::uint16_t* memory)
      : features(memory + threadIdx.x % 32 * 8),
        turned(memory + turned_place()),
        shares(memory + 2 * sixteen_features<Shape> + threadIdx.x % 32 * 8) {}
};

/// Log₂ densities of sixteen rows: [tile][2 half + e] of row 8 half + g and component 8 tile + 2 t + e. Leaves the
/// rows' features in the newest buffer.
template <class Shape, unsigned... Steps>
__device__ void find_scores(float (&scores)[Shape::tiles][4], const circle_of_columns<Shape::columns> (&rows)[2],
                            const warp_coefficients<Shape>& c, const warp_exchange<Shape>& exchange,
                            std::integer_sequence<unsigned, Steps...>) {
  const bool counts_twice = threadIdx.x % 4 >= 2;
  const split_columns first(rows[0]), second(rows[1]);
  std::uint16_t* const to = exchange.features + exchange.buffer;
  const auto add = [&]<unsigned Step>() {
    std::uint32_t high[4], low[4];
    make_operands<Step>(first, second, counts_twice, high, low);
    store_matrices(to + Step * exchange.step_numbers, high);
    if constexpr (Shape::terms == 2) store_matrices(to + Step * exchange.step_numbers + 4 * matrix_numbers, low);
    add_scores<Step>(scores, c, high, low);
  };
  (add.template operator()<Steps>(), ...);
}

/// The same again, from the features in the buffer.
template <class Shape, unsigned... Steps>
__device__ void find_scores_again(float (&scores)[Shape::tiles][4], const warp_coefficients<Shape>& c,
                                  const warp_exchange<Shape>& exchange, std::integer_sequence<unsigned, Steps...>) {
  const std::uint16_t* const from = exchange.features + exchange.buffer;
  const auto add = [&]<unsigned Step>() {
    std::uint32_t high[4], low[4];
    load_matrices(high, from + Step * exchange.step_numbers);
    if constexpr (Shape::terms == 2) load_matrices(low, from + Step * exchange.step_numbers + 4 * matrix_numbers);
    add_scores<Step>(scores, c, high, low);
  };
  (add.template operator()<Steps>(), ...);
}

/// sums += features · responsibilities of sixteen rows.
template <class Shape>
__device__ void add_moments(warp_sums<Shape>& sums, const warp_exchange<Shape>& exchange, unsigned buffer) {
  constexpr int Tiles = Shape::tiles, Pairs = (Tiles + 1) / 2;
  std::uint32_t high[Pairs][4], low[Pairs][4];
#pragma unroll
  for (int pair = 0; pair < Pairs; ++pair) {
    load_transposed(high[pair], exchange.shares + pair * exchange.step_numbers);
    if constexpr (Shape::terms == 2) {
      load_transposed(low[pair], exchange.shares + pair * exchange.step_numbers + 4 * matrix_numbers);
    }
  }
  const std::uint16_t* const from = exchange.turned + buffer;
#pragma unroll
  for (unsigned step = 0; step < warp_steps; ++step) {
    std::uint32_t high_features[4], low_features[4];
    load_transposed(high_features, from + step * exchange.step_numbers);
    if constexpr (Shape::terms == 2) {
      load_transposed(low_features, from + step * exchange.step_numbers + 4 * matrix_numbers);
    }
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      const std::uint32_t(&own)[4] = high[tile / 2], (&rest)[4] = low[tile / 2];
      const int place = tile % 2 * 2;
      float product[4];
      if constexpr (Shape::terms == 2) {
        multiply(product, low_features, own[place], own[place + 1]);
        tensor::multiply_add(product, high_features, rest[place], rest[place + 1]);
        tensor::multiply_add(product, high_features, own[place], own[place + 1]);
      } else {
        multiply(product, high_features, own[place], own[place + 1]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[step][tile][i] += product[i];
    }
  }
}

/// Leaves the sums of a group's rows in shared memory, of the first of two groups or the second. While the products of
/// sixteen rows' moments are under way, the next sixteen rows' log-densities are found.
template <class Shape>
__device__ void sum_group(const team_arguments& a, unsigned char* memory, const warp_places& places, unsigned turn,
                          const float* rows, unsigned count, const warp_mixture& mixture,
                          const warp_coefficients<Shape>& coefficients) {
  constexpr int Columns = Shape::columns, Tiles = Shape::tiles;
  const unsigned warp = __shfl_sync(~0U, threadIdx.x / 32, 0);  // the same for the compiler, too
  const unsigned thread = threadIdx.x % 32, g = thread / 4, t = thread % 4;
  auto* const own_memory = reinterpret_cast<std::uint16_t*>(memory + places.exchanges + warp * places.exchange);
  unsigned* const far_bits = places.far_bits(memory, turn);

  constexpr unsigned stride = warp_product_rows * Shape::sizes.warps();
  warp_exchange<Shape> exchange(own_memory);
  warp_sums<Shape> sums = {};
  float log_likelihood = 0;                     // of one of the thread's two rows, of threads 0 and 1 of each four
  unsigned row = warp_product_rows * warp + g;  // the first of the thread's two that are to be loaded next
  const float* from[read_columns / 2];
#pragma unroll
  for (unsigned i = 0; i < read_columns / 2; ++i) {
    from[i] = rows + (row * Columns + thread_columns * (t + i) % narrow_warp_columns);
  }
  circle_of_columns<Columns> next[2];
  // Rows beyond the last are left as they were, and count for nothing.
  const auto load = [&] {
    if (row < count) next[0].load(from, 0);
    if (row + 8 < count) next[1].load(from, 8);
    row += stride;
#pragma unroll
    for (unsigned i = 0; i < read_columns / 2; ++i) from[i] += stride * Columns;
  };
  float terms[Tiles][4], scale[2];
  const auto find = [&](float(&scores)[Tiles][4]) {
    const auto* const place = reinterpret_cast<const float4*>(mixture.frame) + t;
    const float4 frame[] = {place[0], place[1], place[2]};
    static_assert(read_columns == 6);
    const circle_of_columns<Columns> moved[2] = {next[0].moved(frame), next[1].moved(frame)};
    load();
    find_scores<Shape>(scores, moved, coefficients, exchange, std::make_integer_sequence<unsigned, warp_steps>());
  };
  // Of rows first + g and first + 8 + g.
  const auto finish = [&](const float(&scores)[Tiles][4], unsigned first) {
    const auto again = [&] {
      find_scores_again(terms, coefficients, exchange, std::make_integer_sequence<unsigned, warp_steps>());
    };
    find_responsibilities<Shape>(scores, again, exchange.features + exchange.buffer - thread * 8,
                                 row_range{first, count, a.components}, far_bits, places.any_far(memory, turn), terms,
                                 scale, log_likelihood);
  };

  unsigned first = warp_product_rows * warp;
  if (first < count) {
    load();
    float scores[Tiles][4];
    find(scores);
    finish(scores, first);
#pragma unroll 1
    for (first += stride; first < count; first += stride) {
      const unsigned before = exchange.buffer;
      exchange.buffer ^= sixteen_features<Shape>;
      store_shares<Shape>(terms, scale, exchange.shares);
      __syncwarp();  // for these, for the features before, and since their buffer has been read
      find(scores);
      add_moments<Shape>(sums, exchange, before);
      finish(scores, first);
    }
    store_shares<Shape>(terms, scale, exchange.shares);
    __syncwarp();
    add_moments<Shape>(sums, exchange, exchange.buffer);
  }
  __syncwarp();

  leave_sums<Shape>(sums, t < 2 ? static_cast<double>(log_likelihood) : 0.0, memory, places, turn, warp);
}

/// Adds the groups of a piece that belong to the block's lane; where components lie apart it leaves them to others.
template <class Shape>
__global__ void __launch_bounds__(32 * Shape::sizes.warps(), 1)
    accumulate_by_warps(const __grid_constant__ warp_product_arguments a) {
  extern __shared__ __align__(128) unsigned char memory[];
  constexpr warp_sizes sizes = Shape::sizes;
  const warp_places places(sizes, a.components, a.statistics);
  const warp_mixture mixture = places.mixture(memory);
  prepare_memory<Shape>(memory, places);
  cuda::wait_for_predecessor();
  const bool stopped = *a.parameters.stopped != 0;
  auto* const lane = reinterpret_cast<double*>(memory + places.lane);
  double* const kept = a.lanes + (blockIdx.y * a.lane_count + blockIdx.x) * a.statistics;
  for (unsigned i = threadIdx.x; i < a.statistics; i += blockDim.x) lane[i] = a.fresh ? 0 : kept[i];
  const bool near = !stopped && make_frame<Shape>(a, mixture);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *a.others_stopped = stopped || near ? 1 : 0;
  if (!near) return;
  const warp_coefficients<Shape> coefficients(mixture);
  // Warps wait for each other after two groups.
  row_group groups[2];
  unsigned turn = 0;
  for_each_group(a, [&](std::size_t begin, std::size_t end) {
    groups[turn] = {a.rows + begin * Shape::columns, static_cast<unsigned>(end - begin)};
    sum_group<Shape>(a, memory, places, turn, groups[turn].rows, groups[turn].count, mixture, coefficients);
    if (++turn < 2) return;
    flush_groups<Shape>(a, memory, places, groups, 2, mixture, lane);
    turn = 0;
  });
  if (turn > 0) flush_groups<Shape>(a, memory, places, groups, turn, mixture, lane);
  for (unsigned i = threadIdx.x; i < a.statistics; i += blockDim.x) kept[i] = lane[i];
  // Lanes that only the others have blocks for.
  for (unsigned other = gridDim.x; a.fresh && blockIdx.x + other < a.lane_count; other += gridDim.x) {
    for (unsigned i = threadIdx.x; i < a.statistics; i += blockDim.x) kept[other * a.statistics + i] = 0;
  }
}

template <int Terms, int Columns = static_cast<int>(least_warp_product_columns)>
const void* find_narrow_kernel_of(std::size_t columns, unsigned tiles) {
  if constexpr (Columns < static_cast<int>(narrow_warp_columns)) {
    if (columns > Columns) return find_narrow_kernel_of<Terms, Columns + 1>(columns, tiles);
  }
  switch (tiles) {
    case 1:
      return reinterpret_cast<const void*>(&accumulate_by_warps<warp_shape<Columns, 1, Terms>>);
    case 2:
      return reinterpret_cast<const void*>(&accumulate_by_warps<warp_shape<Columns, 2, Terms>>);
    case 3:
      return reinterpret_cast<const void*>(&accumulate_by_warps<warp_shape<Columns, 3, Terms>>);
    default:
      return reinterpret_cast<const void*>(&accumulate_by_warps<warp_shape<Columns, 4, Terms>>);
  }
}

}  // namespace shoal::gmm::few_columns
