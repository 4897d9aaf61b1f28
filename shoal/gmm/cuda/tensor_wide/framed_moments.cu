// Second moments about one origin, Σ w r z zᵀ: rows z are in the frame already, float16 terms that all components
// share. Four warps bring listed rows into shared memory; eight multiply. These make w r z in registers, where it is a
// product's first factor, and z is the second one, from shared memory. Only what lies on and above the diagonal is
// multiplied.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_wide/density_sums.cuh>
#include <shoal/gmm/cuda/tensor_wide/framed_jobs.hpp>
#include <shoal/gmm/cuda/tensor_wide/framed_moments.hpp>
#include <shoal/gmm/cuda/tensor_wide/moment_work.cuh>
#include <shoal/gmm/cuda/tensor_wide/pipeline.cuh>

namespace shoal::gmm::tensor_wide {
namespace {

constexpr int fetching_threads = 128;
constexpr int framed_stages = 4;
/// Stages on their way into shared memory beside the one that is asked for.
constexpr int stages_ahead = 2;
/// Sums that go on in float32 before they go on in float64, at most.
constexpr unsigned float_stages = 64;

/// A stage in shared memory: [term][eight rows][eight columns][row][column], then responsibilities of two rows and what
/// they lack in float16, one after the other.
template <int Products>
struct stage_shape {
  static constexpr int terms = Products == 3 ? 2 : 1;
  /// With three products tensor cores, which truncate, sum 32 rows.
  static constexpr unsigned rows = Products == 3 ? 32 : 64;
  static constexpr unsigned steps = rows / 16;
  static constexpr unsigned most_eights = 6 * part_columns / 8;
  static constexpr unsigned eight_bytes = most_eights * 128;
  static constexpr unsigned term_bytes = rows / 8 * eight_bytes;
  static constexpr unsigned shares_at = terms * term_bytes;
  static constexpr unsigned bytes = shares_at + rows * 4;
  static constexpr unsigned barriers_at = framed_stages * bytes;
  static constexpr unsigned all_bytes = barriers_at + sizeof(stage_barriers<framed_stages>);
};

template <int Products>
__device__ void fetch_rows(const problem& mixture, const row_chunk& chunk, const held_sections& held,
                           const moment_plan& plan, const framed_sums& sums, unsigned char* memory,
                           stage_barriers<framed_stages>& barriers) {
  using shape = stage_shape<Products>;
  constexpr unsigned warps = fetching_threads / 32, own_eights = shape::rows / 8 / warps;
  const unsigned eights = eights_of(mixture.layout.columns);
  const std::size_t row_bytes = std::size_t{eights} * 16 * shape::terms;
  const moment_job job(blockIdx.x, mixture.layout.columns);
  const unsigned warp = (threadIdx.x - multiplying_threads) / 32, thread = threadIdx.x % 32, row = thread % 8;
  const unsigned first_down = job.first_down * 8, first_across = job.first_across * 8;
  const unsigned down = min(job.down * 8, eights - first_down);
  const unsigned across = job.diagonal ? 0 : min(job.across * 8, eights - first_across);
  const auto* const terms = reinterpret_cast<const unsigned char*>(sums.rows);
  const unsigned own = shared_address(memory) + warp * shape::eight_bytes + row * 16;

  moment_work<shape::rows> work(held, chunk, plan, block_share(mixture.layout, plan));
  held_row coming[own_eights];
  const auto look = [&] {
    if (!work.valid()) return;
    const held_row* const rows = work.rows();
#pragma unroll
    for (unsigned i = 0; i < own_eights; ++i) {
      const unsigned at = work.begin + (warp + i * warps) * 8 + row;
      // What is beyond the last row is a copy of it without weight.
      coming[i] = rows[min(at, work.count - 1)];
      if (at >= work.count) coming[i].root = 0;
    }
  };
  look();
  stage_turn<framed_stages> turn, arriving;
  const auto publish = [&] {
    publish_to_products();
    arrive_together(barriers.full + arriving.stage);
    arriving.next();
  };
  int under_way = 0;
  for (; work.valid(); turn.next()) {
    wait_for_room(barriers, turn);
    const unsigned stage = static_cast<unsigned>(turn.stage) * shape::bytes;
#pragma unroll
    for (unsigned i = 0; i < own_eights; ++i) {
      const unsigned char* const from = terms + (coming[i].row - held.first_row) * row_bytes;
      if (thread < 8) {
        const float share = coming[i].root * coming[i].root * static_cast<float>(1 << framed_share_exponent);
        const __half high = __float2half_rn(share);
        auto* const to = reinterpret_cast<__half*>(memory + stage + shape::shares_at) +
                         ((warp + i * warps) * 4 + row / 2) * 4 + row % 2;
        to[0] = high;
        to[2] = __float2half_rn(share - __half2float(high));
      }
#pragma unroll
      for (int term = 0; term < shape::terms; ++term) {
        const unsigned char* const of_term = from + static_cast<unsigned>(term) * eights * 16;
        const unsigned to =
            own + stage + static_cast<unsigned>(term) * shape::term_bytes + i * warps * shape::eight_bytes;
        const auto copy = [&](unsigned at, unsigned first, unsigned count) {
          for (unsigned eight = thread / 8; eight < count; eight += 4) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + (at + eight) * 128),
                         "l"(of_term + (first + eight) * 16)
                         : "memory");
          }
        };
        copy(0, first_down, down);
        copy(job.down * 8, first_across, across);
      }
    }
    end_copies();
    work.next();
    look();
    if (under_way < stages_ahead) {
      ++under_way;
    } else {
      wait_for_copies<stages_ahead>();
      publish();
    }
  }
  wait_for_copies<0>();
  for (; under_way > 0; --under_way) publish();
}

// Matrices of 16 rows and 16 columns as the first factor has them.
__device__ inline void read_transposed(unsigned from, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}

__device__ inline __half2 pair_of(unsigned bits) { return *reinterpret_cast<__half2*>(&bits); }

/// w r z of a stage and sixteen columns of a warp, as products want them.
template <int Products>
struct scaled_rows {
  static constexpr unsigned steps = stage_shape<Products>::steps;
  unsigned high[steps][4];
  unsigned low[Products == 3 ? steps : 1][4];

  // `rows`: this thread's part of the first step's; `shares`: those of its two first rows.
  __device__ __forceinline__ void read(unsigned rows, const uint2* shares) {
    using shape = stage_shape<Products>;
#pragma unroll
    for (unsigned step = 0; step < steps; ++step) {
      unsigned z[4];
      read_transposed(rows + step * 2 * shape::eight_bytes, z);
      const uint2 share[2] = {shares[step * 8], shares[step * 8 + 4]};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        high[step][i] = tensor::bits_of(__hmul2_rn(pair_of(share[i / 2].x), pair_of(z[i])));
      }
      if constexpr (Products == 3) {
        unsigned rest[4];
        read_transposed(rows + shape::term_bytes + step * 2 * shape::eight_bytes, rest);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const __half2 first = pair_of(share[i / 2].x), second = pair_of(share[i / 2].y);
          // What rounding has left is a float16 number.
          const __half2 left = __hfma2(first, pair_of(z[i]), __hneg2(pair_of(high[step][i])));
          low[step][i] = tensor::bits_of(__hfma2(first, pair_of(rest[i]), __hfma2(second, pair_of(z[i]), left)));
        }
      }
    }
  }

  // Products still read registers that the compiler takes for free.
  __device__ __forceinline__ void hold() {
#pragma unroll
    for (auto& step : high) {
#pragma unroll
      for (unsigned& part : step) asm volatile("" : "+r"(part)::"memory");
    }
  }

  // Adds Σ w r z of two columns.
  __device__ __forceinline__ void add_to(float (&first)[2]) const {
    constexpr unsigned ones = 0x3c003c00;
    float sum[4] = {};
#pragma unroll
    for (unsigned step = 0; step < steps; ++step) {
      if constexpr (Products == 3) tensor::multiply_add(sum, low[step], ones, ones);
      tensor::multiply_add(sum, high[step], ones, ones);
    }
    first[0] += sum[0];
    first[1] += sum[2];
  }
};

__device__ inline double power(int e) { return __longlong_as_double(static_cast<long long>(1023 + e) << 52); }

// Adds the sums of 64 by 64 columns to a lane. Below the diagonal they are those of the columns above it.
template <bool MayBeBelow>
__device__ __forceinline__ void add_part(const float (&sum)[32], const problem& mixture, double* triangle,
                                         unsigned down, unsigned across, int exponent) {
  const unsigned d = mixture.layout.columns, order = d + 1;
  unsigned thread = threadIdx.x % 32;
  // Otherwise the compiler finds the places of all sums before the first stage, and has no registers for them.
  asm volatile("" : "+r"(thread));
  const int* const exponents = mixture.frame.exponents;
  const bool below = MayBeBelow && across < down;
  const unsigned first_column = across * part_columns + 2 * (thread % 4);
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned row = down * part_columns + threadIdx.x / 32 % 4 * 16 + half * 8 + thread / 4;
    if (row >= d) continue;
    const double own = power(exponents[row] + exponent);
    double* const of_row = triangle + statistics_layout::triangle_row(order, row);
#pragma unroll
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned column = first_column + i / 2 * 8 + i % 2;
      if (column >= d || (column < row && !below)) continue;
      double* const to = below ? triangle + statistics_layout::triangle_row(order, column) + row : of_row + column;
      const float value = sum[i / 2 * 4 + half * 2 + i % 2];
      atomicAdd(to, static_cast<double>(value) * (own * power(exponents[column])));
    }
  }
}

// With one product four warps sum so many parts with the first one and with the last: products under a condition would
// not overlap. What is not there is multiplied in vain.
template <int Products, unsigned First = job_share::of_first, unsigned Last = job_share::most - job_share::of_first>
__device__ void multiply_rows(const problem& mixture, const row_chunk& chunk, const held_sections& held,
                              const moment_plan& plan, const framed_sums& sums, unsigned char* memory,
                              stage_barriers<framed_stages>& barriers) {
  using shape = stage_shape<Products>;
  const unsigned d = mixture.layout.columns;
  const moment_job job(blockIdx.x, d);
  const job_share share(job, threadIdx.x / 128);
  const block_share block(mixture.layout, plan);
  const unsigned thread = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const unsigned first_stage = shared_address(memory);
  const unsigned long long described = static_cast<unsigned long long>((first_stage & 0x3ffff) >> 4) |
                                       static_cast<unsigned long long>(shape::eight_bytes >> 4) << 16 |
                                       static_cast<unsigned long long>(128 >> 4) << 32;
  const unsigned across_at = job.diagonal ? 0 : job.down;
  // This thread's line of the four matrices of a step.
  const unsigned line = thread / 16 * shape::eight_bytes + (warp * 2 + thread / 8 % 2) * 128 + thread % 8 * 16;

  constexpr auto is_summed = [](unsigned i) {
    return i < job_share::of_first ? i < First : i < job_share::of_first + Last;
  };
  float total[job_share::most][32];
  float first[2][2];
  scaled_rows<Products> rows[Products == 3 ? 1 : 2];
  const auto clear = [&] {
#pragma unroll
    for (auto& of : first) of[0] = of[1] = 0;
    if constexpr (Products == 3) {
#pragma unroll
      for (auto& of : total) {
#pragma unroll
        for (float& value : of) value = 0;
      }
    }
  };
  const auto flush = [&](unsigned k, unsigned section, int exponent, bool ends_list) {
    const int units = 2 * exponent - 2 * framed_row_exponent - framed_share_exponent;
    double* const component = block.lane + mixture.layout.header + std::size_t{k} * mixture.layout.component_size;
#pragma unroll
    for (unsigned i = 0; i < job_share::most; ++i) {
      if (!is_summed(i) || !share.there[i]) continue;
      const unsigned down = job.first_down + share.down[i < job_share::of_first ? 0 : 1];
      const unsigned across = job.first_across + share.across[i];
      if (i == job_share::of_first) {
        add_part<true>(total[i], mixture, component, down, across, units);
      } else {
        add_part<false>(total[i], mixture, component, down, across, units);
      }
    }
    if (!job.diagonal) return;
    double* const moved = sums.first + (std::size_t{blockIdx.z} * mixture.layout.components + k) * (std::size_t{d} + 1);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned down = share.down[i / 2];
      const unsigned column = (job.first_down + down) * part_columns + warp * 16 + i % 2 * 8 + thread / 4;
      if (thread % 4 != 0 || down >= job.down || column >= d) continue;
      atomicAdd(moved + column, static_cast<double>(first[i / 2][i % 2]) *
                                    power(mixture.frame.exponents[column] + units + framed_row_exponent));
    }
    if (threadIdx.x == 0 && blockIdx.x == 0 && ends_list) {
      const double weight = held.of(k, section).weight;
      atomicAdd(component + mixture.layout.weight, weight);
      atomicAdd(moved + d, weight);
    }
  };
  unsigned stages = 0;
  // Products of the first three parts across, or of the last two.
  const auto multiply = [&](const scaled_rows<Products>& of, unsigned long long stage, bool last) {
#pragma unroll
    for (unsigned i = 0; i < job_share::most; ++i) {
      if ((i >= job_share::of_first) != last || !is_summed(i)) continue;
      const unsigned part = across_at + (share.there[i] ? share.across[i] : 0);
      const unsigned long long across = advance(stage, part * (part_columns / 8) * 128);
      if constexpr (Products == 3) {
        if (!share.there[i]) continue;
        float sum[32];
        begin_products();
#pragma unroll
        for (unsigned step = 0; step < shape::steps; ++step) {
          const unsigned long long b = advance(across, step * 2 * shape::eight_bytes);
          multiply_columns(sum, of.low[step], b, step > 0 ? 1 : 0);
          multiply_columns(sum, of.high[step], advance(b, shape::term_bytes), 1);
        }
#pragma unroll
        for (unsigned step = 0; step < shape::steps; ++step) {
          multiply_columns(sum, of.high[step], advance(across, step * 2 * shape::eight_bytes), 1);
        }
        end_products();
        wait_for_products<0>();
        hold(sum);
#pragma unroll
        for (int j = 0; j < 32; ++j) total[i][j] += sum[j];
      } else {
#pragma unroll
        for (unsigned step = 0; step < shape::steps; ++step) {
          multiply_columns(total[i], of.high[step], advance(across, step * 2 * shape::eight_bytes),
                           step > 0 || stages > 0 ? 1 : 0);
        }
      }
    }
  };
  clear();
  unsigned long long* used = nullptr;
  stage_turn<framed_stages> turn;
  for (moment_work<shape::rows> work(held, chunk, plan, block); work.valid(); turn.next()) {
    wait(barriers.full + turn.stage, turn.round & 1);
    const unsigned at = static_cast<unsigned>(turn.stage) * shape::bytes;
    const unsigned long long stage = advance(described, at);
    const auto* const shares = reinterpret_cast<const uint2*>(memory + at + shape::shares_at) + thread % 4;
    const auto part_at = [&](unsigned down) { return first_stage + at + line + down * (part_columns / 8) * 128; };
    const auto take = [&](scaled_rows<Products>& of, int which) {
      if (which == 1 && Last == 0) return;
      of.read(part_at(share.down[which]), shares);
      if (job.diagonal) of.add_to(first[which]);
    };
    if constexpr (Products == 3) {
      take(rows[0], 0);
      multiply(rows[0], stage, false);
      take(rows[0], 1);
      multiply(rows[0], stage, true);
      arrive_together(barriers.empty + turn.stage);
    } else {
      // One group of products is under way while the operands of the next are made.
      wait_for_products<1>();
      rows[0].hold();
      take(rows[0], 0);
      begin_products();
      multiply(rows[0], stage, false);
      end_products();
      wait_for_products<1>();
      rows[1].hold();
      if (used != nullptr) arrive_together(used);
      take(rows[1], 1);
      begin_products();
      multiply(rows[1], stage, true);
      end_products();
      used = barriers.empty + turn.stage;
    }
    ++stages;
    const unsigned section = work.section, k = work.k;
    const int exponent = work.exponent;
    const bool ends_list = work.ends_list();
    work.next();
    if (work.section != section || stages == float_stages) {
      if constexpr (Products != 3) {
        wait_for_products<0>();
        rows[0].hold();
        rows[1].hold();
#pragma unroll
        for (auto& of : total) hold(of);
      }
      flush(k, section, exponent, ends_list);
      clear();
      stages = 0;
    }
  }
  // None is under way, which the compiler does not know.
  wait_for_products<0>();
}

/// A block for each job, component and lane.
template <int Products>
__global__ void __launch_bounds__(multiplying_threads + fetching_threads, 1)
    framed_kernel(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                  const __grid_constant__ held_sections held, const __grid_constant__ moment_plan plan,
                  const __grid_constant__ framed_sums sums) {
  cuda::wait_for_predecessor();
  if constexpr (has_warpgroup_products) {
    if (*mixture.parameters.stopped != 0 || mixture.frame.near[blockIdx.y] == 0) return;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& barriers = *reinterpret_cast<stage_barriers<framed_stages>*>(memory + stage_shape<Products>::barriers_at);
    make_barriers(barriers, fetching_threads / 32);
    if (threadIdx.x >= multiplying_threads) {
      give_registers<40>();
      fetch_rows<Products>(mixture, chunk, held, plan, sums, memory, barriers);
    } else {
      take_registers<232>();
      const job_share share(moment_job(blockIdx.x, mixture.layout.columns), threadIdx.x / 128);
      if constexpr (Products == 3) {
        multiply_rows<3>(mixture, chunk, held, plan, sums, memory, barriers);
      } else if (share.there[4]) {
        multiply_rows<1, 3, 2>(mixture, chunk, held, plan, sums, memory, barriers);
      } else if (share.there[3] && share.there[2]) {
        multiply_rows<1, 3, 1>(mixture, chunk, held, plan, sums, memory, barriers);
      } else if (share.there[2]) {
        multiply_rows<1, 3, 0>(mixture, chunk, held, plan, sums, memory, barriers);
      } else {
        multiply_rows<1, 2, 1>(mixture, chunk, held, plan, sums, memory, barriers);
      }
    }
  }
}

constexpr int move_threads = 256;

// A row for each warp, whose threads take eight columns at a time.
__global__ void __launch_bounds__(move_threads)
    move_kernel(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                const __grid_constant__ framed_sums sums) {
  cuda::wait_for_predecessor();
  const unsigned d = mixture.layout.columns, eights = eights_of(d);
  if (*mixture.parameters.stopped != 0 || mixture.frame.near[mixture.layout.components] == 0) return;
  const std::size_t row = std::size_t{blockIdx.x} * (move_threads / 32) + threadIdx.x / 32;
  if (row >= chunk.count) return;
  const auto terms = static_cast<unsigned>(mixture.terms());
  const float* const from = chunk.rows + row * d;
  auto* const to = reinterpret_cast<uint4*>(sums.rows) + row * terms * eights;
  for (unsigned eight = threadIdx.x % 32; eight < eights; eight += 32) {
    const unsigned column = eight * 8;
    float z[8];
#pragma unroll
    for (unsigned four = 0; four < 8; four += 4) {
      if (reads_vectors(d)) {
        float4 x = make_float4(0, 0, 0, 0);
        if (column + four < d) x = __ldg(reinterpret_cast<const float4*>(from + column + four));
        z[four] = x.x, z[four + 1] = x.y, z[four + 2] = x.z, z[four + 3] = x.w;
      } else {
#pragma unroll
        for (unsigned c = four; c < four + 4; ++c) z[c] = column + c < d ? __ldg(from + column + c) : 0.0F;
      }
    }
    // Of columns beyond the last one the scale is zero.
#pragma unroll
    for (unsigned c = 0; c < 8; ++c) {
      const float2 scale = __ldg(mixture.frame.scales + column + c);
      constexpr auto unit = static_cast<float>(1 << framed_row_exponent);
      z[c] = fmaf(z[c], scale.x * unit, scale.y * unit);
    }
    uint4 high, low;
    tensor::split(z[0], z[1], high.x, low.x);
    tensor::split(z[2], z[3], high.y, low.y);
    tensor::split(z[4], z[5], high.z, low.z);
    tensor::split(z[6], z[7], high.w, low.w);
    to[eight] = high;
    if (terms == 2) to[eights + eight] = low;
  }
}

template <int Products>
void launch(const problem& mixture, const row_chunk& chunk, const held_sections& held, const moment_plan& plan,
            const framed_sums& sums, cudaStream_t stream) {
  constexpr std::size_t bytes = stage_shape<Products>::all_bytes;
  static_assert(bytes <= 227 << 10);
  const dim3 blocks(jobs_of(mixture.layout.columns), mixture.layout.components, plan.lanes.lanes);
  cuda::launch_in_turn(framed_kernel<Products>, blocks, multiplying_threads + fetching_threads, bytes, stream, mixture,
                       chunk, held, plan, sums);
}

}  // namespace

void move_rows(const problem& mixture, const row_chunk& chunk, const framed_sums& sums, cudaStream_t stream) {
  constexpr std::size_t rows = move_threads / 32;
  const auto blocks = static_cast<unsigned>((chunk.count + rows - 1) / rows);
  cuda::launch_in_turn(move_kernel, blocks, move_threads, 0, stream, mixture, chunk, sums);
}

void framed_moments(const problem& mixture, const row_chunk& chunk, const held_sections& held, const moment_plan& plan,
                    const framed_sums& sums, cudaStream_t stream) {
  const auto kernel = mixture.products == 3 ? launch<3> : launch<1>;
  kernel(mixture, chunk, held, plan, sums, stream);
}

}  // namespace shoal::gmm::tensor_wide
