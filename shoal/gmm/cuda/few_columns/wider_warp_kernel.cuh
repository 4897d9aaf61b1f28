// The same as in warp_product_kernel.cuh for 9 to 16 columns, whose features are so many that a warp has neither all
// coefficients in registers nor room for two times sixteen rows: where a step's features of the rows before have been
// read for their moments, those of the next rows are written.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/product_rows.cuh>
#include <shoal/gmm/cuda/few_columns/warp_flush.cuh>
#include <shoal/gmm/cuda/few_columns/warp_frame.cuh>
#include <shoal/gmm/cuda/few_columns/warp_operands.cuh>
#include <shoal/gmm/cuda/few_columns/warp_responsibilities.cuh>
#include <shoal/gmm/cuda/few_columns/wider_operands.cuh>

namespace shoal::gmm::few_columns {

/// Terms of coefficients that a thread has in registers; the others it reads for each sixteen rows. (10⁷, 16, 10) takes
/// 1.31 ms with the high ones in registers and 1.24 with none, which leaves more of them to what is under way.
template <class Shape>
inline constexpr unsigned kept_terms = Shape::tiles == 1 && Shape::terms == 2 ? 1 : 0;

/// Coefficients as a thread has them.
template <class Shape>
struct wider_coefficients {
  static constexpr unsigned kept = kept_terms<Shape>, steps = Shape::circle.steps();
  std::uint32_t own[kept == 0 ? 1 : kept][Shape::tiles][steps][2];
  const uint2* from;
  const float4* constants;

  __device__ explicit wider_coefficients(const warp_mixture& m)
      : from(reinterpret_cast<const uint2*>(m.operands) + threadIdx.x % 32), constants(m.constants + threadIdx.x % 4) {
#pragma unroll
    for (unsigned term = 0; term < kept; ++term) {
#pragma unroll
      for (unsigned tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
        for (unsigned step = 0; step < steps; ++step) {
          const uint2 two = from[((tile * steps + step) * 2 + term) * 32];
          own[term][tile][step][0] = two.x;
          own[term][tile][step][1] = two.y;
        }
      }
    }
  }

  template <unsigned Term, unsigned Step>
  __device__ uint2 of(unsigned tile) const {
    if constexpr (Term < kept) {
      return make_uint2(own[Term][tile][Step][0], own[Term][tile][Step][1]);
    } else {
      return from[((tile * steps + Step) * 2 + Term) * 32];
    }
  }
};

/// Log₂ densities of sixteen rows while their products are under way. Products of low terms are added up by themselves,
/// so that tensor cores cut nothing off but of the sum of the high ones, once a step.
template <class Shape>
struct wider_scores {
  float high[Shape::tiles][4] = {}, low[Shape::tiles][4] = {};

  template <unsigned Step>
  __device__ void add(const wider_coefficients<Shape>& c, const std::uint32_t (&high_features)[4],
                      const std::uint32_t (&low_features)[4]) {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      const uint2 own = c.template of<0, Step>(tile);
      tensor::multiply_add(high[tile], high_features, own.x, own.y);
      if constexpr (Shape::terms == 2) {
        const uint2 rest = c.template of<1, Step>(tile);
        tensor::multiply_add(low[tile], low_features, own.x, own.y);
        tensor::multiply_add(low[tile], high_features, rest.x, rest.y);
      }
    }
  }

  __device__ void finish(const wider_coefficients<Shape>& c, float (&scores)[Shape::tiles][4]) const {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      const float4 constant = c.constants[tile * (warp_product_tile / 2)];
      const float constants[] = {constant.x, constant.y, constant.z, constant.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[tile][i] = constants[i] + high[tile][i] + low[tile][i];
    }
  }
};

/// Features of sixteen rows of one step, turned around.
template <class Shape>
struct turned_features {
  std::uint32_t high[4], low[4];

  __device__ void load(const std::uint16_t* from) {
    load_transposed(high, from);
    if constexpr (Shape::terms == 2) load_transposed(low, from + 4 * matrix_numbers);
  }
};

/// Responsibilities of sixteen rows as second factors.
template <class Shape>
struct wider_shares {
  static constexpr int pairs = (Shape::tiles + 1) / 2;
  std::uint32_t high[pairs][4], low[pairs][4];

  __device__ explicit wider_shares(const std::uint16_t* from) {
#pragma unroll
    for (int pair = 0; pair < pairs; ++pair) {
      load_transposed(high[pair], from + pair * 4 * Shape::terms * matrix_numbers);
      if constexpr (Shape::terms == 2) load_transposed(low[pair], from + (pair * 8 + 4) * matrix_numbers);
    }
  }

  /// sums += features · responsibilities of one step.
  __device__ void add_moments(float (&sums)[Shape::tiles][4], const turned_features<Shape>& features) const {
    const std::uint32_t(&high_features)[4] = features.high, (&low_features)[4] = features.low;
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
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
      for (int i = 0; i < 4; ++i) sums[tile][i] += product[i];
    }
  }
};

/// What a warp has in shared memory, with its threads' places: features of sixteen rows, and their responsibilities.
template <class Shape>
struct wider_exchange {
  static constexpr unsigned step_numbers = Shape::terms * 4 * matrix_numbers;
  std::uint16_t* features;      ///< to be written
  const std::uint16_t* turned;  ///< to be read turned around
  std::uint16_t* shares;        ///< written and read at the same place

  __device__ explicit wider_exchange(std::uint16_t* memory)
      : features(memory + threadIdx.x % 32 * 8),
        turned(memory + turned_place()),
        shares(memory + Shape::sizes.feature_numbers() + threadIdx.x % 32 * 8) {}
};

/// Log₂ densities of sixteen rows, whose features take the place of those of the rows before; of these the moments, if
/// there are any.
template <class Shape, bool Moments, unsigned... Steps>
__device__ void take_rows(float (&scores)[Shape::tiles][4], warp_sums<Shape>& sums, const row_circle<Shape> (&rows)[2],
                          const wider_coefficients<Shape>& c, const wider_exchange<Shape>& exchange,
                          std::integer_sequence<unsigned, Steps...>) {
  const bool counts_twice = threadIdx.x % 4 >= 2;
  wider_scores<Shape> sum;
  turned_features<Shape> before[2];  // of a step and the next, which are read a step ahead
  if constexpr (Moments) before[0].load(exchange.turned);
  const auto each = [&]<class Shares>(const Shares& shares) {
    const auto add = [&]<unsigned Step>() {
      if constexpr (Moments) {
        if constexpr (Step + 1 < sizeof...(Steps)) {
          before[(Step + 1) % 2].load(exchange.turned + (Step + 1) * exchange.step_numbers);
        }
        shares.add_moments(sums[Step], before[Step % 2]);
        __syncwarp();
      }
      std::uint32_t high[4], low[4];
      rows[0].template features<4 * Step>(counts_twice, high[0], low[0]);
      rows[1].template features<4 * Step>(counts_twice, high[1], low[1]);
      rows[0].template features<4 * Step + 2>(counts_twice, high[2], low[2]);
      rows[1].template features<4 * Step + 2>(counts_twice, high[3], low[3]);
      std::uint16_t* const to = exchange.features + Step * exchange.step_numbers;
      store_matrices(to, high);
      if constexpr (Shape::terms == 2) store_matrices(to + 4 * matrix_numbers, low);
      sum.template add<Step>(c, high, low);
    };
    (add.template operator()<Steps>(), ...);
  };
  if constexpr (Moments) {
    each(wider_shares<Shape>(exchange.shares));
  } else {
    each(0);
  }
  sum.finish(c, scores);
}

/// Log₂ densities again, from the features in shared memory.
template <class Shape, unsigned... Steps>
__device__ void find_scores_again(float (&scores)[Shape::tiles][4], const wider_coefficients<Shape>& c,
                                  const wider_exchange<Shape>& exchange, std::integer_sequence<unsigned, Steps...>) {
  wider_scores<Shape> sum;
  const auto add = [&]<unsigned Step>() {
    std::uint32_t high[4], low[4];
    const std::uint16_t* const from = exchange.features + Step * exchange.step_numbers;
    load_matrices(high, from);
    if constexpr (Shape::terms == 2) load_matrices(low, from + 4 * matrix_numbers);
    sum.template add<Step>(c, high, low);
  };
  (add.template operator()<Steps>(), ...);
  sum.finish(c, scores);
}

/// Leaves the sums of a group's rows in shared memory.
template <class Shape>
__device__ void sum_group(const team_arguments& a, unsigned char* memory, const warp_places& places,
                          const row_group& group, const warp_mixture& mixture, const wider_coefficients<Shape>& c) {
  constexpr auto steps = std::make_integer_sequence<unsigned, Shape::circle.steps()>();
  constexpr unsigned own = Shape::circle.thread_columns();
  const unsigned warp = __shfl_sync(~0U, threadIdx.x / 32, 0);  // the same for the compiler, too
  const unsigned thread = threadIdx.x % 32, g = thread / 4, t = thread % 4;
  auto* const own_memory = reinterpret_cast<std::uint16_t*>(memory + places.exchanges + warp * places.exchange);
  const wider_exchange<Shape> exchange(own_memory);

  constexpr unsigned stride = warp_product_rows * Shape::sizes.warps();
  warp_sums<Shape> sums = {};
  float log_likelihood = 0;                     // of one of the thread's two rows, of threads 0 and 1 of each four
  unsigned row = warp_product_rows * warp + g;  // the first of the thread's two that are to be loaded next
  const float* from = group.rows + (row * Shape::columns + own * t);
  own_columns<Shape> next[2];
  // Rows beyond the last are left as they were, and count for nothing.
  const auto load = [&] {
    if (row < group.count) next[0].load(from, 0);
    if (row + 8 < group.count) next[1].load(from, 8);
    row += stride;
    from += stride * Shape::columns;
  };
  float terms[Shape::tiles][4], scale[2];
  const auto take = [&]<bool Moments>(unsigned first) {
    float2 frame[own];
#pragma unroll
    for (unsigned i = 0; i < own; ++i) frame[i] = mixture.frame[own * t + i];
    const row_circle<Shape> rows[2] = {{next[0], frame}, {next[1], frame}};
    load();
    float scores[Shape::tiles][4];
    take_rows<Shape, Moments>(scores, sums, rows, c, exchange, steps);
    const auto again = [&] { find_scores_again(terms, c, exchange, steps); };
    find_responsibilities<Shape>(scores, again, own_memory, row_range{first, group.count, a.components},
                                 places.far_bits(memory, 0), places.any_far(memory, 0), terms, scale, log_likelihood);
    store_shares<Shape>(terms, scale, exchange.shares);
    __syncwarp();  // for these, and for the features
  };
  unsigned first = warp_product_rows * warp;
  if (first < group.count) {
    load();
    take.template operator()<false>(first);
#pragma unroll 1
    for (first += stride; first < group.count; first += stride) take.template operator()<true>(first);
    const wider_shares<Shape> shares(exchange.shares);
#pragma unroll
    for (unsigned step = 0; step < Shape::circle.steps(); ++step) {
      turned_features<Shape> features;
      features.load(exchange.turned + step * exchange.step_numbers);
      shares.add_moments(sums[step], features);
    }
  }
  __syncwarp();
  leave_sums<Shape>(sums, t < 2 ? static_cast<double>(log_likelihood) : 0.0, memory, places, 0, warp);
}

/// Adds the groups of a piece that belong to the block's lane; where components lie apart it leaves them to others.
template <class Shape>
__global__ void __launch_bounds__(32 * Shape::sizes.warps(), 1)
    accumulate_by_wider_warps(const __grid_constant__ warp_product_arguments a) {
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
  const wider_coefficients<Shape> coefficients(mixture);
  for_each_group(a, [&](std::size_t begin, std::size_t end) {
    const row_group group{a.rows + begin * Shape::columns, static_cast<unsigned>(end - begin)};
    sum_group<Shape>(a, memory, places, group, mixture, coefficients);
    flush_groups<Shape>(a, memory, places, &group, 1, mixture, lane);
  });
  for (unsigned i = threadIdx.x; i < a.statistics; i += blockDim.x) kept[i] = lane[i];
  // Lanes that only the others have blocks for.
  for (unsigned other = gridDim.x; a.fresh && blockIdx.x + other < a.lane_count; other += gridDim.x) {
    for (unsigned i = threadIdx.x; i < a.statistics; i += blockDim.x) kept[other * a.statistics + i] = 0;
  }
}

}  // namespace shoal::gmm::few_columns
