// The kernel that has each tile of rows in shared memory once, as features z² and z: their products with components are
// log-densities, and responsibilities, which go through shared memory too, with the same features turned are moments.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/turned_products.cuh>
#include <shoal/gmm/statistics_layout.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {

/// What is known when a kernel is compiled: eights of columns, components, and whether tiles of rows take turns in two
/// places of shared memory.
template <int Octets, int Components, int Products, int Buffers, int Blocks, int Teams>
struct staged_shape {
  static constexpr int octets = Octets;
  static constexpr int components = Components;
  static constexpr int products = Products;
  static constexpr int buffers = Buffers;
  static constexpr int blocks = Blocks;  // of a multiprocessor
  // Of four warps, each with components of its own; all have the same rows.
  static constexpr int teams = Teams;
  static constexpr int threads = Teams * staged_team_threads;
  static constexpr int terms = split_terms(Products);
  static constexpr int size = Components / 2;  // of a thread's sums
  static constexpr int eights = Components / 8;
  static constexpr int features = 2 * Octets;  // eights of them
  // The moments' products have 64 features each.
  static constexpr int sets = (features + 7) / 8;
  // Where these have room for more than there are, a one is a feature, whose moment is the weight.
  static constexpr bool has_one = features % 8 != 0;
  static constexpr int places = features + (has_one ? 1 : 0);
  // Between eights of features: so that threads with neighbouring columns and rows write to different banks.
  static constexpr unsigned across = 1024 + (Octets == 4 ? 32 : (Octets == 3 ? 48 : 16));
  static constexpr unsigned term_bytes = places * across;
  static constexpr unsigned rows_bytes = terms * term_bytes;
  static constexpr unsigned shares_bytes = terms * eights * 1024;  // responsibilities
  static constexpr unsigned coefficient_bytes = terms * features * Components * 16;
  static constexpr int common_stride = staged_rows + 8;
  // Threads that convert rows: each has the same eight columns of every row it has.
  static constexpr int rows_at_once = threads / Octets < staged_rows ? threads / Octets : staged_rows;
  static constexpr int passes = (staged_rows + rows_at_once - 1) / rows_at_once;
  // One product sums for a whole group of rows; three for a tile, which goes on in float32.
  static constexpr bool has_totals = Products == 3;
  // Without a one, weights are sums of a thread's own responsibilities, or of those that lie in shared memory.
  static constexpr bool sums_own_weights = !has_one && Products == 3;
  static constexpr bool reads_weights = !has_one && Products == 1;
  static constexpr int weight_sums = sums_own_weights ? staged_team_threads / 32 : 1;
  static constexpr int component_size = 8 * features + weight_sums;
  static constexpr unsigned buffer_bytes = rows_bytes + Teams * shares_bytes;
  static constexpr unsigned bytes = Teams * coefficient_bytes + Buffers * buffer_bytes;
};

/// What a block has in shared memory beside operands.
template <class Shape>
struct staged_notes {
  float constants[Shape::teams * Shape::components];
  float2 found[Shape::teams][staged_rows];  // by each team, the greatest term of a row and the sum beside it
  float common[Shape::octets][Shape::common_stride];
  unsigned far[cuda::piece_unit / 32];
  double likelihoods[Shape::threads / 32];
  double weights[Shape::threads / 32];
  double best[Shape::threads / 32];
  int any_far;
  unsigned long long arrived;  // a barrier of copied rows
  alignas(16) float rows[staged_rows * 8 * Shape::octets];
};

template <class Shape>
constexpr std::size_t staged_bytes() {
  return Shape::bytes + sizeof(staged_notes<Shape>);
}

/// Responsibilities are multiplied by this, so that float16 holds those of 2⁻³⁹ and more.
inline constexpr float staged_scale = 32768;

/// Adds to a number of the block's lane, which one thread at a time adds to, without waiting for it: so sums are as if
/// it did. Until a pass has added to them, they are anything.
__device__ inline void add_to_lane(double* to, double value, bool fresh) {
  if (fresh) {
    *to = value;
  } else {
    atomicAdd(to, value);
  }
}

/// Not a number where either is none.
__device__ inline float greatest_or_none(float a, float b) {
  float greatest;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(greatest) : "f"(a), "f"(b));
  return greatest;
}

/// Eight columns of the frame.
struct frame_octet {
  float scale[8], shift[8], curve[8];

  __device__ void load(const problem& mixture, int octet) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int j = 8 * octet + i;
      const bool inside = j < mixture.columns;
      const float2 column = inside ? mixture.frame[j] : make_float2(0, 0);
      scale[i] = column.x;
      shift[i] = column.y;
      curve[i] = inside ? mixture.mean_curve[j] : 0.0F;
    }
  }
};

template <class Shape>
struct staged_block {
  const staged_arguments& a;
  unsigned char* memory;
  // Its address, and the team, as the compiler knows that all threads of a warp have them: what is found from them
  // takes no instructions of all threads.
  unsigned address;
  int own_team;
  staged_notes<Shape>& notes;
  frame_octet frame;
  float x[Shape::passes][8];
  float sums[Shape::sets][Shape::size];
  float totals[Shape::has_totals ? Shape::sets : 1][Shape::has_totals ? Shape::size : 1];
  float weights[Shape::sums_own_weights ? Shape::size / 2 : (Shape::reads_weights ? 8 : 1)];
  double likelihood;
  int counted;  // rows
  bool copied;  // the tile that is read, into shared memory
  unsigned copies;

  __device__ unsigned char* rows_at(int buffer) const {
    return memory + Shape::teams * Shape::coefficient_bytes + buffer * Shape::buffer_bytes;
  }
  __device__ unsigned char* shares_at(int buffer) const {
    return rows_at(buffer) + Shape::rows_bytes + team() * Shape::shares_bytes;
  }
  __device__ static int team() { return Shape::teams == 1 ? 0 : static_cast<int>(threadIdx.x) / staged_team_threads; }
  // In its team.
  __device__ static int thread() {
    return static_cast<int>(threadIdx.x) % (Shape::teams == 1 ? Shape::threads : staged_team_threads);
  }
  __device__ static int first_component() { return team() * Shape::components; }
  __device__ static void meet_team() {
    if constexpr (Shape::teams == 1) {
      __syncthreads();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(team() + 1), "n"(staged_team_threads) : "memory");
    }
  }

  __device__ void begin_group() {
    likelihood = 0;
    counted = 0;
    if constexpr (Shape::has_totals) {
#pragma unroll
      for (int set = 0; set < Shape::sets; ++set) {
#pragma unroll
        for (int i = 0; i < Shape::size; ++i) totals[set][i] = 0;
      }
    }
#pragma unroll
    for (float& w : weights) w = 0;
  }

  // Begins to read a tile: the thread's part of it, or, where rows are no multiple of four columns, all of it by one
  // copy into shared memory. Of a tile that is not whole the first row stands for those beyond the last.
  __device__ void load(const float* rows, unsigned first, unsigned count) {
    const int thread = static_cast<int>(threadIdx.x), octet = thread % Shape::octets, d = a.mixture.columns;
    copied = d % 4 != 0 && first + staged_rows <= count;
    if (copied) {
      if (thread == 0) {
        cuda::fetch(notes.rows, rows + static_cast<std::size_t>(first) * d, staged_rows * d * sizeof(float),
                    &notes.arrived);
      }
      return;
    }
    if (thread >= Shape::rows_at_once * Shape::octets) return;
    const int left = d - 8 * octet;
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
      const unsigned row = first + pass * Shape::rows_at_once + thread / Shape::octets;
      const float* const from = rows + static_cast<std::size_t>(row < count ? row : 0) * d + 8 * octet;
      if (d % 4 == 0) {
        const float4 near = left > 0 ? __ldg(reinterpret_cast<const float4*>(from)) : make_float4(0, 0, 0, 0);
        const float4 next = left > 4 ? __ldg(reinterpret_cast<const float4*>(from) + 1) : make_float4(0, 0, 0, 0);
        x[pass][0] = near.x, x[pass][1] = near.y, x[pass][2] = near.z, x[pass][3] = near.w;
        x[pass][4] = next.x, x[pass][5] = next.y, x[pass][6] = next.z, x[pass][7] = next.w;
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) x[pass][i] = i < left ? __ldg(from + i) : 0.0F;
      }
    }
  }

  // Takes the thread's part of a tile that was copied.
  __device__ void take_copied() {
    if (!copied) return;
    const int thread = static_cast<int>(threadIdx.x), octet = thread % Shape::octets, d = a.mixture.columns;
    cuda::wait(&notes.arrived, copies & 1);
    ++copies;
    const int left = d - 8 * octet;
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
      const int row = min(pass * Shape::rows_at_once + thread / Shape::octets, staged_rows - 1);
      const float* const from = notes.rows + row * d + 8 * octet;
#pragma unroll
      for (int i = 0; i < 8; ++i) x[pass][i] = i < left ? from[i] : 0.0F;
    }
  }

  // Leaves it as features in shared memory.
  __device__ void convert(unsigned char* to) {
    const int thread = static_cast<int>(threadIdx.x), octet = thread % Shape::octets;
    if (thread >= Shape::rows_at_once * Shape::octets) return;
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
      const int row = pass * Shape::rows_at_once + thread / Shape::octets;
      if (row >= staged_rows) break;
      float z[8], squares[8], common = 0, most = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        z[i] = fmaf(x[pass][i], frame.scale[i], frame.shift[i]);
        most = greatest_or_none(most, fabsf(z[i]));
      }
      // Such a row is far, and what it is replaced by does not count.
      const bool beyond = !(most <= tensor::most_z);
      if (beyond) {
#pragma unroll
        for (float& value : z) value = 0;
      }
      uint4 high, low;
      split_eight<Shape::products>(z, high, low);
      // Both features of one number: near a component's mean what z loses hardly matters then.
      const unsigned highs[4] = {high.x, high.y, high.z, high.w}, lows[4] = {low.x, low.y, low.z, low.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float2 two = __half22float2(*reinterpret_cast<const __half2*>(highs + i));
        if constexpr (Shape::terms == 2) {
          const float2 rest = __half22float2(*reinterpret_cast<const __half2*>(lows + i));
          two.x += rest.x;
          two.y += rest.y;
        }
        squares[2 * i] = two.x * two.x;
        squares[2 * i + 1] = two.y * two.y;
        common = fmaf(squares[2 * i], frame.curve[2 * i], common);
        common = fmaf(squares[2 * i + 1], frame.curve[2 * i + 1], common);
      }
      notes.common[octet][row] = beyond ? -INFINITY : common;
      unsigned char* const own = to + octet * Shape::across + row * 16;
      constexpr unsigned lines = Shape::octets * Shape::across;
      *reinterpret_cast<uint4*>(own + lines) = high;
      if constexpr (Shape::terms == 2) *reinterpret_cast<uint4*>(own + lines + Shape::term_bytes) = low;
      split_eight<Shape::products>(squares, high, low);
      *reinterpret_cast<uint4*>(own) = high;
      if constexpr (Shape::terms == 2) *reinterpret_cast<uint4*>(own + Shape::term_bytes) = low;
    }
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
    const eights_operand own = over_rows(rows_address(buffer), Shape::across, 128);
    const eights_operand others = over_rows(shares_address(buffer), 1024, 128);
    constexpr unsigned others_low = Shape::shares_bytes / Shape::terms;
#pragma unroll
    for (int set = 0; set < Shape::sets; ++set) {
#pragma unroll
      for (int step = 0; step < staged_rows / 16; ++step) {
        const unsigned at = set * 8 * Shape::across + step * 256;
        const int kept = keep || step > 0 ? 1 : 0;
        if constexpr (Shape::terms == 2) {
          multiply_eights<true>(sums[set], own.at(at), others.at(others_low + step * 256), kept);
          multiply_eights<true>(sums[set], own.at(Shape::term_bytes + at), others.at(step * 256), 1);
          multiply_eights<true>(sums[set], own.at(at), others.at(step * 256), 1);
        } else {
          multiply_eights<true>(sums[set], own.at(at), others.at(step * 256), kept);
        }
      }
    }
  }

  __device__ void add_to_totals() {
    if constexpr (Shape::has_totals) {
#pragma unroll
      for (int set = 0; set < Shape::sets; ++set) {
#pragma unroll
        for (int i = 0; i < Shape::size; ++i) totals[set][i] += sums[set][i];
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
    const int warp = thread() / 32, lane = thread() % 32;
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
      const float2 constant = *reinterpret_cast<const float2*>(notes.constants + first_component() + 8 * i + 2 * t);
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
        if (t == half) notes.found[team()][16 * warp + 8 * half + g] = make_float2(greatest[half], sum[half]);
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
    if (t < 2 && team() == 0) {
      const bool second = t == 1;
      const unsigned row = first + 16 * warp + 8 * t + g;
      if ((second ? factor[1] : factor[0]) != 0) {
        likelihood += static_cast<double>((second ? greatest[1] + common[1] : greatest[0] + common[0]) +
                                          __log2f(second ? sum[1] : sum[0]));
        ++counted;
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
        unsigned char* const own = to + i * 1024 + half * 128;
        if constexpr (Shape::sums_own_weights) {
          weights[2 * i] += r[0];
          weights[2 * i + 1] += r[1];
        }
        if constexpr (Shape::terms == 2) {
          std::uint32_t high, low;
          tensor::split(r[0], r[1], high, low);
          *reinterpret_cast<std::uint32_t*>(own) = high;
          *reinterpret_cast<std::uint32_t*>(own + Shape::shares_bytes / 2) = low;
        } else {
          *reinterpret_cast<std::uint32_t*>(own) = tensor::bits_of(__floats2half2_rn(r[0], r[1]));
        }
      }
    }
  }

  // Of responsibilities in shared memory: eight threads have eight components, a row in eight each.
  __device__ void read_weights(const unsigned char* shares) {
    const int octet = thread() / 8, part = thread() % 8;
    if (octet >= Shape::eights) return;
#pragma unroll
    for (int i = 0; i < staged_rows / 8; ++i) {
      const uint4 eight = *reinterpret_cast<const uint4*>(shares + octet * 1024 + (8 * i + part) * 16);
      const unsigned pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float2 two = __half22float2(*reinterpret_cast<const __half2*>(pairs + j));
        weights[2 * j] += two.x;
        weights[2 * j + 1] += two.y;
      }
    }
  }

  // Adds the group's sums to the lane, all products done.
  __device__ void flush(double* lane_sums, bool fresh) {
    constexpr double back = 1.0 / staged_scale;
    const int warp = thread() / 32, lane = thread() % 32;
    const int g = lane / 4, t = lane % 4;
    const auto add = [&](double* to, double value) { add_to_lane(to, value, fresh); };
    const auto of_component = [&](int k) { return lane_sums + staged_head + k * Shape::component_size; };
#pragma unroll
    for (int set = 0; set < Shape::sets; ++set) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int feature = 64 * set + 16 * warp + 8 * half + g;
        if (feature >= 8 * Shape::features + (Shape::has_one ? 1 : 0)) continue;
#pragma unroll
        for (int i = 0; i < Shape::eights; ++i) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int k = first_component() + 8 * i + 2 * t + e, place = 4 * i + 2 * half + e;
            if (k >= a.mixture.components) continue;
            float sum = 0;
            if constexpr (Shape::has_totals) {
              sum = totals[set][place];
            } else {
              sum = sums[set][place];
            }
            add(of_component(k) + feature, back * static_cast<double>(sum));
          }
        }
      }
    }
    if constexpr (Shape::sums_own_weights) {
#pragma unroll
      for (int i = 0; i < Shape::size / 2; ++i) {
        auto sum = static_cast<double>(weights[i]);
        for (int step = 4; step < 32; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
        const int k = first_component() + i / 2 * 8 + 2 * t + i % 2;
        if (g == 0 && k < a.mixture.components) add(of_component(k) + 8 * Shape::features + warp, back * sum);
      }
    } else if constexpr (Shape::reads_weights) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        auto sum = static_cast<double>(weights[i]);
        for (int step = 1; step < 8; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
        const int k = first_component() + thread() / 8 * 8 + i;
        if (lane % 8 == 0 && thread() / 8 < Shape::eights && k < a.mixture.components)
          add(of_component(k) + 8 * Shape::features, back * sum);
      }
    }
    likelihood = cuda::warp_sum(likelihood);
    const int rows = __reduce_add_sync(~0U, counted);
    if (lane == 0) {
      notes.likelihoods[threadIdx.x / 32] = likelihood;
      notes.weights[threadIdx.x / 32] = rows;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      double all[2] = {0, 0};
      for (int i = 0; i < Shape::threads / 32; ++i) {
        all[0] += notes.likelihoods[i];
        all[1] += notes.weights[i];
      }
      add(lane_sums + statistics_layout::log_likelihood(), all[0]);
      add(lane_sums + statistics_layout::total_weight(), all[1]);
      add(lane_sums + statistics_layout::far_rows(), 0);
    }
  }

  // Far rows of a group in float64, one after another, a thread for each component; in the frame, as all sums are.
  __device__ __noinline__ static void add_far_rows(const staged_arguments& a, staged_notes<Shape>& notes,
                                                   const float* rows, unsigned count, double* lane_sums) {
    const problem& mixture = a.mixture;
    const prepared_components<double>& c = mixture.parameters.in_double;
    const int k = static_cast<int>(threadIdx.x), warp = k / 32, d = mixture.columns;
    const bool own = k < mixture.components;
    const auto over_block = [&](double value, double(&parts)[Shape::threads / 32], const auto& join) {
      for (int step = 1; step < 32; step *= 2) value = join(value, __shfl_xor_sync(~0U, value, step));
      if (k % 32 == 0) parts[warp] = value;
      __syncthreads();
      value = parts[0];
      for (int i = 1; i < Shape::threads / 32; ++i) value = join(value, parts[i]);
      return value;
    };
    double* const of_component = lane_sums + staged_head + k * Shape::component_size;
    for (unsigned word = 0; word * 32 < count; ++word) {
      for (unsigned bits = notes.far[word]; bits != 0; bits &= bits - 1) {
        const unsigned row = word * 32 + static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
        const float* const x = rows + static_cast<std::size_t>(row) * d;
        double logarithm = -INFINITY;
        if (own) {
          double norm = 0;
          for (int j = 0; j < d; ++j) {
            const std::size_t at = static_cast<std::size_t>(k) * d + j;
            const double y = fma(static_cast<double>(x[j]) - c.centres[at], c.factors[at], c.offsets[at]);
            norm = fma(y, y, norm);
          }
          logarithm = c.log_constants[k] - 0.5 * norm;
        }
        const double best =
            over_block(logarithm, notes.best, [](double one, double other) { return fmax(one, other); });
        double share = own ? exp(logarithm - best) : 0.0;
        const double sum = over_block(share, notes.likelihoods, [](double one, double other) { return one + other; });
        share /= sum;
        if (own) {
          for (int j = 0; j < d; ++j) {
            const double z = fma(static_cast<double>(x[j]), static_cast<double>(mixture.frame[j].x),
                                 static_cast<double>(mixture.frame[j].y));
            add_to_lane(of_component + j, share * z * z, false);
            add_to_lane(of_component + 8 * Shape::octets + j, share * z, false);
          }
          add_to_lane(of_component + 8 * Shape::features, share, false);
        }
        if (k == 0) {
          add_to_lane(lane_sums + statistics_layout::log_likelihood(), (best + log(sum)) / ln_2, false);
          add_to_lane(lane_sums + statistics_layout::total_weight(), 1, false);
          add_to_lane(lane_sums + statistics_layout::far_rows(), 1, false);
        }
        __syncthreads();
      }
    }
    for (int i = k; i < static_cast<int>(cuda::piece_unit) / 32; i += Shape::threads) notes.far[i] = 0;
    if (k == 0) notes.any_far = 0;
    __syncthreads();
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
    staged_block<Shape> block{a, memory, __reduce_max_sync(~0U, cuda::shared_address(memory)),
                              Shape::teams == 1 ? 0 : __reduce_max_sync(~0U, staged_block<Shape>::team()), notes};
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
    block.copies = 0;
    if constexpr (Shape::has_one) {
      for (int buffer = 0; buffer < Shape::buffers; ++buffer) {
        for (int term = 0; term < Shape::terms; ++term) {
          for (int row = static_cast<int>(threadIdx.x); row < staged_rows; row += Shape::threads) {
            *reinterpret_cast<uint4*>(block.rows_at(buffer) + term * Shape::term_bytes +
                                      Shape::features * Shape::across + row * 16) =
                make_uint4(term == 0 ? 0x3c00 : 0, 0, 0, 0);
          }
        }
      }
    }
    block.frame.load(a.mixture, static_cast<int>(threadIdx.x) % Shape::octets);
    double* const lane_sums = a.lanes + (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * a.lane_size;
    bool fresh = a.fresh;
    __syncthreads();  // the barrier is there
    few_columns::for_each_group(a, [&](std::size_t begin, std::size_t end) {
      const auto count = static_cast<unsigned>(end - begin);
      const float* const rows = a.rows + begin * a.mixture.columns;
      block.begin_group();
      block.load(rows, 0, count);
      int buffer = 0;
      for (unsigned first = 0; first < count; first += staged_rows) {
        unsigned char* const own = block.rows_at(buffer);
        unsigned char* const shares = block.shares_at(buffer);
        if constexpr (Shape::buffers == 1) {
          cuda::wait_for_products<0>();
          __syncthreads();
        }
        block.take_copied();
        block.convert(own);
        cuda::publish_to_products();
        __syncthreads();
        float scores[Shape::size];
        cuda::begin_products();
        block.multiply_components(buffer, scores);
        cuda::end_products();
        if (first + staged_rows < count) block.load(rows, first + staged_rows, count);
        cuda::wait_for_products<0>();
        if (first > 0) block.add_to_totals();
        block.finish(shares, scores, first, count);
        cuda::publish_to_products();
        staged_block<Shape>::meet_team();
        cuda::begin_products();
        block.multiply_rows(buffer, !Shape::has_totals && first > 0);
        cuda::end_products();
        if constexpr (Shape::reads_weights) block.read_weights(shares);
        if constexpr (Shape::buffers == 2) buffer ^= 1;
      }
      cuda::wait_for_products<0>();
      block.add_to_totals();
      block.flush(lane_sums, fresh);
      fresh = false;
      __syncthreads();
      if (notes.any_far != 0) staged_block<Shape>::add_far_rows(a, notes, rows, count, lane_sums);
    });
    if (fresh) {
      for (std::size_t i = threadIdx.x; i < a.lane_size; i += Shape::threads) lane_sums[i] = 0;
    }
  }
}

template <int Octets, int Components, int Products, int Buffers, int Blocks, int Teams = 1>
staged_kernel staged_kernel_of() {
  using shape = staged_shape<Octets, Components, Products, Buffers, Blocks, Teams>;
  return {reinterpret_cast<const void*>(&accumulate_staged<shape>),
          Octets,
          Teams * Components,
          shape::weight_sums,
          Blocks,
          shape::threads,
          staged_bytes<shape>()};
}

}  // namespace shoal::gmm::tensor_diagonal
