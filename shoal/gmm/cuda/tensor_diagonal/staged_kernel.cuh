// The kernel that has each tile of rows in shared memory once, as features z² and z: their products with components are
// log-densities, and responsibilities, which go through shared memory too, with the same features turned are moments.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/staged_far_rows.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged_reader.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged_shape.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged_sums.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/turned_products.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {

/// What a block does with a tile: its products, and responsibilities in between.
template <class Shape>
struct staged_block {
  using warps = staged_team<Shape>;

  staged_reader<Shape> reader;
  staged_sums<Shape> own;
  staged_notes<Shape>& notes;
  unsigned char* memory;
  // Its address, and the team, as the compiler knows that all threads of a warp have them: what is found from them
  // takes no instructions of all threads.
  unsigned address;
  int own_team;

  __device__ unsigned char* rows_at(int buffer) const {
    return memory + Shape::teams * Shape::coefficient_bytes + buffer * Shape::buffer_bytes;
  }
  __device__ unsigned char* shares_at(int buffer) const {
    return rows_at(buffer) + Shape::rows_bytes + warps::team() * Shape::shares_bytes;
  }

  // Where a tile's features and responsibilities lie in shared memory.
  __device__ unsigned rows_address(int buffer) const {
    return address + Shape::teams * Shape::coefficient_bytes + buffer * Shape::buffer_bytes;
  }
  __device__ unsigned shares_address(int buffer) const {
    return rows_address(buffer) + Shape::rows_bytes + own_team * Shape::shares_bytes;
  }

  // Begins the products of a tile with all components: small ones first, and z² before z, for each product cuts off
  // digits of what there is.
  __device__ void multiply_components(int buffer, float (&scores)[Shape::size]) {
    const eights_operand own = over_columns(rows_address(buffer), Shape::across, 128);
    const eights_operand others =
        over_columns(address + own_team * Shape::coefficient_bytes, Shape::components * 16, 128);
    constexpr unsigned others_low = Shape::coefficient_bytes / Shape::terms;
    const auto add = [&](unsigned own_term, unsigned others_term, bool first) {
#pragma unroll
      for (int step = 0; step < Shape::octets; ++step) {
        multiply_eights<false>(scores, own.at(own_term + step * 2 * Shape::across),
                               others.at(others_term + step * 2 * Shape::components * 16), first && step == 0 ? 0 : 1);
      }
    };
    if constexpr (Shape::terms == 2) {
      add(0, others_low, true);
      add(Shape::term_bytes, 0, false);
    }
    add(0, 0, Shape::terms == 1);
  }

  // Begins the products of a tile's responsibilities with its features.
  __device__ void multiply_rows(int buffer, bool keep) {
    const eights_operand rows = over_rows(rows_address(buffer), Shape::across, 128);
    const eights_operand others = over_rows(shares_address(buffer), 1024, 128);
    constexpr unsigned others_low = Shape::shares_bytes / Shape::terms;
#pragma unroll
    for (int set = 0; set < Shape::sets; ++set) {
#pragma unroll
      for (int step = 0; step < staged_rows / 16; ++step) {
        const unsigned at = set * 8 * Shape::across + step * 256;
        const int kept = keep || step > 0 ? 1 : 0;
        if constexpr (Shape::terms == 2) {
          multiply_eights<true>(own.sums[set], rows.at(at), others.at(others_low + step * 256), kept);
          multiply_eights<true>(own.sums[set], rows.at(Shape::term_bytes + at), others.at(step * 256), 1);
          multiply_eights<true>(own.sums[set], rows.at(at), others.at(step * 256), 1);
        } else {
          multiply_eights<true>(own.sums[set], rows.at(at), others.at(step * 256), kept);
        }
      }
    }
  }

  __device__ static float sum_of_four(float value) {
    value += __shfl_xor_sync(~0U, value, 1);
    return value + __shfl_xor_sync(~0U, value, 2);
  }

  // Scores [4 i + 2 half + e] of component 8 i + 2 t + e and row g + 8 half of the warp's sixteen become
  // responsibilities in shared memory. `first` is the tile's first row in its group.
  __device__ void finish(unsigned char* shares, float (&scores)[Shape::size], unsigned first, unsigned count) {
    const int warp = warps::thread() / 32, lane = warps::thread() % 32;
    const int g = lane / 4, t = lane % 4;
    float greatest[2] = {-1e30F, -1e30F}, common[2] = {0, 0}, sum[2] = {0, 0};
#pragma unroll
    for (int octet = 0; octet < Shape::octets; octet += 4) {
      if (octet + t >= Shape::octets) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) common[half] += notes.common[octet + t][16 * warp + 8 * half + g];
    }
#pragma unroll
    for (int i = 0; i < Shape::eights; ++i) {
      const float2 constant =
          *reinterpret_cast<const float2*>(notes.constants + warps::first_component() + 8 * i + 2 * t);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& one = scores[4 * i + 2 * half];
        float& other = scores[4 * i + 2 * half + 1];
        one += constant.x;
        other += constant.y;
        greatest[half] = fmaxf(greatest[half], fmaxf(one, other));
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      common[half] = sum_of_four(common[half]);
      greatest[half] = fmaxf(greatest[half], __shfl_xor_sync(~0U, greatest[half], 1));
      greatest[half] = fmaxf(greatest[half], __shfl_xor_sync(~0U, greatest[half], 2));
#pragma unroll
      for (int i = 0; i < Shape::eights; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& own = scores[4 * i + 2 * half + e];
          own = power_of_two(own - greatest[half]);
          sum[half] += own;
        }
      }
      sum[half] = sum_of_four(sum[half]);
    }
    // What of all teams' greatest and sums is known of a row: the greatest of all, and how this team's is beside it.
    float beside[2] = {1, 1};
    if constexpr (Shape::teams > 1) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (t == half) notes.found[warps::team()][16 * warp + 8 * half + g] = make_float2(greatest[half], sum[half]);
      }
      __syncthreads();
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float2 of[Shape::teams];
        float most = -1e30F, all = 0;
#pragma unroll
        for (int i = 0; i < Shape::teams; ++i) {
          of[i] = notes.found[i][16 * warp + 8 * half + g];
          most = fmaxf(most, of[i].x);
        }
#pragma unroll
        for (int i = 0; i < Shape::teams; ++i) all = fmaf(of[i].y, power_of_two(of[i].x - most), all);
        beside[half] = power_of_two(greatest[half] - most);
        greatest[half] = most;
        sum[half] = all;
      }
    }
    float factor[2];
    bool any_beyond = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const unsigned row = first + 16 * warp + 8 * half + g;
      const bool inside = row < count;
      // Log-constants are at most zero: no other row can be far. A comparison that a NaN fails.
      const bool beyond = !(greatest[half] + common[half] >= static_cast<float>(-0.5) * log2_of_e * far_norm);
      factor[half] = inside && !beyond ? staged_scale * few_columns::reciprocal(sum[half]) * beside[half] : 0.0F;
      if (inside && beyond) any_beyond = true;
    }
    // A row's likelihood is one thread's.
    if (t < 2 && warps::team() == 0) {
      const bool second = t == 1;
      const unsigned row = first + 16 * warp + 8 * t + g;
      if ((second ? factor[1] : factor[0]) != 0) {
        own.likelihood += static_cast<double>((second ? greatest[1] + common[1] : greatest[0] + common[0]) +
                                              __log2f(second ? sum[1] : sum[0]));
        ++own.counted;
      } else if (row < count) {
        atomicOr(notes.far + row / 32, 1U << row % 32);
      }
      if (any_beyond) notes.any_far = 1;
    }
    unsigned char* const to = shares + (16 * warp + g) * 16 + 4 * t;
#pragma unroll
    for (int i = 0; i < Shape::eights; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float r[2] = {scores[4 * i + 2 * half] * factor[half], scores[4 * i + 2 * half + 1] * factor[half]};
        unsigned char* const at = to + i * 1024 + half * 128;
        if constexpr (Shape::sums_own_weights) {
          own.weights[2 * i] += r[0];
          own.weights[2 * i + 1] += r[1];
        }
        if constexpr (Shape::terms == 2) {
          std::uint32_t high, low;
          tensor::split(r[0], r[1], high, low);
          *reinterpret_cast<std::uint32_t*>(at) = high;
          *reinterpret_cast<std::uint32_t*>(at + Shape::shares_bytes / 2) = low;
        } else {
          *reinterpret_cast<std::uint32_t*>(at) = tensor::bits_of(__floats2half2_rn(r[0], r[1]));
        }
      }
    }
  }
};

/// Leaves coefficients of all components in shared memory, eights of z² before those of z.
template <class Shape>
__device__ void stage_coefficients(const problem& mixture, unsigned char* memory) {
  constexpr int features = Shape::features, of_term = features * Shape::components;
  for (int i = static_cast<int>(threadIdx.x); i < Shape::teams * Shape::terms * of_term; i += Shape::threads) {
    const int team = i / (Shape::terms * of_term), term = i / of_term % Shape::terms;  // 0: high
    const int k = team * Shape::components + i % Shape::components, place = i / Shape::components % features;
    const int line = place >= Shape::octets ? 1 : 0, octet = place - line * Shape::octets;
    // pack.cu: low terms first, z² before z.
    const int part = Shape::terms == 2 && term == 0 ? 2 + line : line;
    const int block = (k / tile_components * (2 * Shape::terms) + part) * mixture.steps + octet / 2;
    const std::size_t from =
        static_cast<std::size_t>(block) * operand_size + operand_place(k % tile_components, octet % 2 * 8);
    const bool there = octet / 2 < mixture.steps && k < mixture.tiles * tile_components;
    reinterpret_cast<uint4*>(memory)[i] =
        there ? *reinterpret_cast<const uint4*>(mixture.operands + from) : make_uint4(0, 0, 0, 0);
  }
}

/// Whether it is these kernels' turn; tells those behind them.
__device__ inline bool takes_turn(const staged_arguments& a) {
  const bool stopped = a.mixture.parameters.stopped != nullptr && *a.mixture.parameters.stopped != 0;
  const bool common = arrangement_of(a.mixture) == common_frame;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
    *a.turn.own_stopped = stopped || !common ? 1 : 0;
    *a.turn.others_stopped = stopped || common ? 1 : 0;
  }
  return !stopped && common;
}

template <class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    accumulate_staged(const __grid_constant__ staged_arguments a) {
  if constexpr (cuda::has_warpgroup_products) {
    extern __shared__ __align__(128) unsigned char memory[];
    cuda::wait_for_predecessor();
    if (!takes_turn(a)) return;
    auto& notes = *reinterpret_cast<staged_notes<Shape>*>(memory + Shape::bytes);
    staged_block<Shape> block{{a, notes},
                              {a, notes},
                              notes,
                              memory,
                              __reduce_max_sync(~0U, cuda::shared_address(memory)),
                              Shape::teams == 1 ? 0 : __reduce_max_sync(~0U, staged_team<Shape>::team())};
    staged_reader<Shape>& reader = block.reader;
    staged_sums<Shape>& sums = block.own;
    stage_coefficients<Shape>(a.mixture, memory);
    for (int i = static_cast<int>(threadIdx.x); i < Shape::teams * Shape::components; i += Shape::threads) {
      notes.constants[i] = i < a.mixture.tiles * tile_components ? a.mixture.common_constants[i] : -INFINITY;
    }
    for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(cuda::piece_unit) / 32; i += Shape::threads) {
      notes.far[i] = 0;
    }
    if (threadIdx.x == 0) {
      notes.any_far = 0;
      cuda::make_barrier(&notes.arrived, 1);
      cuda::publish_barriers();
    }
    reader.copies = 0;
    if constexpr (Shape::has_one) {
      for (int buffer = 0; buffer < staged_buffers; ++buffer) {
        for (int term = 0; term < Shape::terms; ++term) {
          for (int row = static_cast<int>(threadIdx.x); row < staged_rows; row += Shape::threads) {
            *reinterpret_cast<uint4*>(block.rows_at(buffer) + term * Shape::term_bytes +
                                      Shape::features * Shape::across + row * 16) =
                make_uint4(term == 0 ? 0x3c00 : 0, 0, 0, 0);
          }
        }
      }
    }
    reader.frame.load(a.mixture, static_cast<int>(threadIdx.x) % Shape::octets);
    double* const lane_sums = a.lanes + (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * a.lane_size;
    bool fresh = a.fresh;
    __syncthreads();  // the barrier is there
    few_columns::for_each_group(a, [&](std::size_t begin, std::size_t end) {
      const auto count = static_cast<unsigned>(end - begin);
      const float* const rows = a.rows + begin * a.mixture.columns;
      sums.begin_group();
      reader.load(rows, 0, count);
      int buffer = 0;
      for (unsigned first = 0; first < count; first += staged_rows) {
        unsigned char* const own = block.rows_at(buffer);
        unsigned char* const shares = block.shares_at(buffer);
        reader.take_copied();
        reader.convert(own);
        cuda::publish_to_products();
        __syncthreads();
        float scores[Shape::size];
        cuda::begin_products();
        block.multiply_components(buffer, scores);
        cuda::end_products();
        if (first + staged_rows < count) reader.load(rows, first + staged_rows, count);
        cuda::wait_for_products<0>();
        if (first > 0) sums.add_to_totals();
        block.finish(shares, scores, first, count);
        cuda::publish_to_products();
        staged_team<Shape>::meet_team();
        cuda::begin_products();
        block.multiply_rows(buffer, !Shape::has_totals && first > 0);
        cuda::end_products();
        if constexpr (Shape::reads_weights) sums.read_weights(shares);
        buffer ^= 1;
      }
      cuda::wait_for_products<0>();
      sums.add_to_totals();
      sums.flush(lane_sums, fresh);
      fresh = false;
      __syncthreads();
      if (notes.any_far != 0) add_far_rows<Shape>(a, notes, rows, count, lane_sums);
    });
    if (fresh) {
      for (std::size_t i = threadIdx.x; i < a.lane_size; i += Shape::threads) lane_sums[i] = 0;
    }
  }
}

template <int Octets, int Components, int Products, int Blocks, int Teams = 1>
staged_kernel staged_kernel_of() {
  using shape = staged_shape<Octets, Components, Products, Blocks, Teams>;
  return {reinterpret_cast<const void*>(&accumulate_staged<shape>),
          Octets,
          Teams * Components,
          shape::weight_sums,
          Blocks,
          shape::threads,
          staged_bytes<shape>()};
}

}  // namespace shoal::gmm::tensor_diagonal
