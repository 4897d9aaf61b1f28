// Expectation and moments of full and tied mixtures in one pass over the rows, by one product: a block moves a tile of
// rows into the frame as float16 numbers and keeps it in shared memory with the tile's responsibilities. A warp finds
// the responsibilities of 32 rows for all components, and then the moments of its components in all rows of the block,
// about their own centres.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/groups.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/one_pass_layout.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

// Responsibilities times this power of two are float16 numbers: with a column that is most_z away they are in range.
constexpr int responsibility_exponent = 8;
// Groups of columns, and one of ones, whose first moments a warp sums at most.
constexpr int most_units = 2;
constexpr int fewest_warps = 5;

__device__ __half2 as_half2(unsigned bits) { return *reinterpret_cast<__half2*>(&bits); }

__device__ unsigned address_of(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ void load_matrices(unsigned (&to)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
__device__ void load_transposed(unsigned (&to)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
__device__ void load_two_transposed(unsigned (&to)[2], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(from)
               : "memory");
}

// sum = a · b + begin
__device__ void multiply_onto(float (&sum)[4], const unsigned (&a)[4], uint2 b, float4 begin) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "f"(begin.x), "f"(begin.y), "f"(begin.z),
        "f"(begin.w));
}

// Two columns of a row in the frame; what is not a number is as far away as can be.
__device__ unsigned frame_pair(float2 x, float2 scale, float2 moved) {
  const __half2 z = __floats2half2_rn(fmaf(x.x, scale.x, moved.x), fmaf(x.y, scale.y, moved.y));
  const __half2 most = __float2half2_rn(most_z);
  return bits_of(__hmax2(__hmin2(z, most), __hneg2(most)));
}

struct block_memory {
  uint4* records;  // [K]
  __half* rows;    // [row][stride]
  float* terms;    // [K][one_pass_terms]: terms, then exponentials, then responsibilities, float16 in the lower half
  float* scales;   // [columns, padded]
  float* moved;    // the same
  int* exponent;   // of the greatest weight of a section
};

// A warp's 32 rows into the frame.
template <int Groups>
__device__ void take_rows(const chunk& rows, int columns, int first, const block_memory& memory, __half* to) {
  constexpr int stride = one_pass_stride(Groups);
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int some = min(32, rows.count - first);
  if (some <= 0) return;
  const float* const from = rows.rows + static_cast<std::size_t>(first) * columns;
  if (columns % 4 == 0) {
    const int fours = columns / 4;
    const int step_rows = 32 / fours, step_fours = 32 % fours;
    int row = thread / fours, four = thread % fours;
    constexpr int at_once = 4;
    for (int i = 0; i < fours; i += at_once) {
      float4 x[at_once];
      int place[at_once], column[at_once];
#pragma unroll
      for (int j = 0; j < at_once; ++j) {
        const bool inside = row < some && i + j < fours;
        place[j] = inside ? row * stride + 4 * four : -1;
        column[j] = 4 * four;
        x[j] = inside ? __ldcs(reinterpret_cast<const float4*>(from) + row * fours + four) : make_float4(0, 0, 0, 0);
        row += step_rows, four += step_fours;
        if (four >= fours) four -= fours, ++row;
      }
#pragma unroll
      for (int j = 0; j < at_once; ++j) {
        if (place[j] < 0) continue;
        const float4 scale = *reinterpret_cast<const float4*>(memory.scales + column[j]);
        const float4 moved = *reinterpret_cast<const float4*>(memory.moved + column[j]);
        uint2 z;
        z.x = frame_pair({x[j].x, x[j].y}, {scale.x, scale.y}, {moved.x, moved.y});
        z.y = frame_pair({x[j].z, x[j].w}, {scale.z, scale.w}, {moved.z, moved.w});
        *reinterpret_cast<uint2*>(to + place[j]) = z;
      }
    }
    return;
  }
  // Four numbers that may be of two rows.
  const int count = some * columns;
  int row = 4 * thread / columns, column = 4 * thread % columns;
  const int step_rows = 128 / columns, step_columns = 128 % columns;
  for (int at = 4 * thread; at < count; at += 128) {
    float x[4] = {};
    if (at + 4 <= count) {
      const float4 four = __ldcs(reinterpret_cast<const float4*>(from + at));
      x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (at + i < count) x[i] = from[at + i];
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool next = column + i >= columns;
      const int own = next ? column + i - columns : column + i;
      const int place = (next ? row + 1 : row) * stride + own;
      const unsigned z = frame_pair({x[i], 0}, {memory.scales[own], 0}, {memory.moved[own], 0});
      if (at + i < count) to[place] = __low2half(as_half2(z));
    }
    row += step_rows, column += step_columns;
    if (column >= columns) column -= columns, ++row;
  }
}

// Asks for a warp's 32 rows, so that they are in the second-level cache when their turn comes.
__device__ void ask_for_rows(const chunk& rows, int columns, int first) {
  const int count = min(32, rows.count - first) * columns;
  const float* const from = rows.rows + static_cast<std::size_t>(first) * columns;
  constexpr int line = 32;  // numbers
  for (int at = static_cast<int>(threadIdx.x) % 32 * line; at < count; at += 32 * line) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at));
  }
}

// ‖y‖² of the row that a thread owns among the 32 of two tiles, whose operands are `rows`.
template <int Groups>
__device__ float owned_norm_of(const uint4* record, const unsigned (&rows)[2][steps_of(Groups)][4]) {
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int t = thread % 4;
  const uint2* const factor = reinterpret_cast<const uint2*>(record) + thread;
  const float4* const offsets = reinterpret_cast<const float4*>(record + one_pass_offsets(Groups)) + t;
  float norms[2][2] = {};
  // As many groups of columns at a time as registers leave room for: a product waits for the one before it in its sum.
  constexpr int at_once = Groups <= 6 ? Groups : 4;
#pragma unroll
  for (int begin = 0; begin < Groups; begin += at_once) {
    float y[2][at_once][4];
#pragma unroll
    for (int step = 0; step < steps_of(Groups); ++step) {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int n = begin + i;
        if (n >= Groups || n < 2 * step) continue;
        const uint2 u = factor[tile_index(Groups, step, n) * 32];
#pragma unroll
        for (int tile = 0; tile < 2; ++tile) {
          if (step == 0) {
            multiply_onto(y[tile][i], rows[tile][0], u, offsets[4 * n]);
          } else {
            multiply_add(y[tile][i], rows[tile][step], u.x, u.y);
          }
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (begin + i >= Groups) continue;
        norms[tile][0] = fmaf(y[tile][i][0], y[tile][i][0], fmaf(y[tile][i][1], y[tile][i][1], norms[tile][0]));
        norms[tile][1] = fmaf(y[tile][i][2], y[tile][i][2], fmaf(y[tile][i][3], y[tile][i][3], norms[tile][1]));
      }
    }
  }
  // Sums the parts of the four threads that share a row, and leaves each thread with the row that it owns.
  const bool upper = t >= 2, odd = t % 2 != 0;
  float mine[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float other = __shfl_xor_sync(~0U, upper ? norms[0][half] : norms[1][half], 2);
    mine[half] = (upper ? norms[1][half] : norms[0][half]) + other;
  }
  const float other = __shfl_xor_sync(~0U, odd ? mine[0] : mine[1], 1);
  return (odd ? mine[1] : mine[0]) + other;
}

// The responsibilities of a warp's 32 rows, from `first` on; `local` is their place in the block's tile.
template <int Groups>
__device__ void find_responsibilities(const problem& mixture, const chunk& rows, int first, int local, int pitch,
                                      const block_memory& memory) {
  constexpr int steps = steps_of(Groups);
  constexpr int stride = one_pass_stride(Groups);
  const int thread = static_cast<int>(threadIdx.x) % 32;
  unsigned operands[2][steps][4];
  const unsigned from = address_of(memory.rows + (local + thread % 16) * stride + thread / 16 * 8);
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      load_matrices(operands[tile][step], from + static_cast<unsigned>((16 * tile * stride + 16 * step) * 2));
    }
  }
  float* const terms = memory.terms + local + owned_row(thread);
  float greatest = -INFINITY, its_norm = INFINITY;
  {
    const uint4* record = memory.records;
    float* to = terms;
    const auto take = [&](float norm, const uint4* its) {
      const float term = fmaf(norm, -0.5F, *reinterpret_cast<const float*>(its + one_pass_constant(Groups)));
      *to = term;
      const bool better = term > greatest;  // also false for what is not a number
      greatest = better ? term : greatest;
      its_norm = better ? norm : its_norm;
      to += pitch;
    };
    // Two components at a time: one's products begin while the other's are squared and summed.
    int k = 0;
#pragma unroll 1
    for (; k + 2 <= mixture.components; k += 2) {
      const uint4* const other = record + one_pass_size(Groups);
      const float norm = owned_norm_of<Groups>(record, operands), its = owned_norm_of<Groups>(other, operands);
      take(norm, record);
      take(its, other);
      record += 2 * one_pass_size(Groups);
    }
    if (k < mixture.components) take(owned_norm_of<Groups>(record, operands), record);
  }
  constexpr float least = -static_cast<float>(negligible_log_ratio<float>);
  float sum = 0;
  // Several terms are read at once.
  constexpr int at_once = 4;
  {
    float* at = terms;
    for (int k = 0; k < mixture.components; k += at_once) {
      float share[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) share[i] = k + i < mixture.components ? at[i * pitch] : -INFINITY;
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const float ratio = share[i] - greatest;
        share[i] = ratio >= least ? __expf(ratio) : 0.0F;
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (k + i < mixture.components) at[i * pitch] = share[i];
        sum += share[i];
      }
      at += at_once * pitch;
    }
  }
  const int row = first + owned_row(thread);
  const bool inside = row < rows.count;
  const bool near = its_norm <= far_norm && *mixture.coarse == 0;
  const float weight = !inside ? 0.0F : (rows.weights == nullptr ? 1.0F : rows.weights[row]);
  const unsigned far_mask = __ballot_sync(~0U, inside && !near);
  const bool counts = near && weight > 0;
  {
    const float back = __uint_as_float(static_cast<unsigned>(127 + responsibility_exponent - *memory.exponent) << 23);
    const float scale = counts ? weight * back / sum : 0.0F;
    float* at = terms;
    for (int k = 0; k < mixture.components; k += at_once) {
      float share[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) share[i] = k + i < mixture.components ? at[i * pitch] : 0.0F;
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (k + i < mixture.components) {
          *reinterpret_cast<unsigned*>(at + i * pitch) = bits_of(__floats2half2_rn(share[i] * scale, 0.0F));
        }
      }
      at += at_once * pitch;
    }
  }
  const double log_density =
      static_cast<double>(greatest) + static_cast<double>(logf(sum)) + *mixture.parameters.packed.log_shift;
  const double likelihoods = cuda::warp_sum(counts ? static_cast<double>(weight) * log_density : 0.0);
  const double weights = cuda::warp_sum(static_cast<double>(weight));
  if (thread == 0 && first < rows.count) {
    mixture.word_sums[first / word_rows] = make_double2(likelihoods, weights);
    mixture.far_masks[first / word_rows] = far_mask;
    if (far_mask != 0) *mixture.far_found = 1;
  }
}

// Responsibilities of rows 2t, 2t + 1, 2t + 8, 2t + 9 of a step.
__device__ void step_responsibilities(const float* terms, unsigned (&r)[2]) {
  const uint2 near = *reinterpret_cast<const uint2*>(terms);
  const uint2 next = *reinterpret_cast<const uint2*>(terms + 8);
  r[0] = __byte_perm(near.x, near.y, 0x5410);
  r[1] = __byte_perm(next.x, next.y, 0x5410);
}

// A warp's sums: second moments of its components, and first moments of some groups of columns for sixteen components.
template <int Groups, int Each>
struct warp_sums {
  static constexpr int tiles = tile_count(Groups);
  static constexpr int stride = one_pass_stride(Groups);

  float second[Each][tiles][4];
  float first[most_units][4];
  unsigned centres[Each][steps_of(Groups)];  // of columns 16 step + g and 16 step + 8 + g

  __device__ void take_centres(const block_memory& memory, int components, int k) {
    const int g = static_cast<int>(threadIdx.x) % 32 / 4;
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      const auto* const centre = reinterpret_cast<const __half*>(
          memory.records + min(k + e, components - 1) * one_pass_size(Groups) + one_pass_centres(Groups));
#pragma unroll
      for (int step = 0; step < steps_of(Groups); ++step) {
        centres[e][step] = bits_of(__halves2half2(centre[one_pass_centre_place(16 * step + g)],
                                                  centre[one_pass_centre_place(16 * step + 8 + g)]));
      }
    }
  }

  __device__ void clear() {
#pragma unroll
    for (int e = 0; e < Each; ++e) {
#pragma unroll
      for (int i = 0; i < tiles; ++i) second[e][i][0] = second[e][i][1] = second[e][i][2] = second[e][i][3] = 0;
    }
#pragma unroll
    for (int u = 0; u < most_units; ++u) first[u][0] = first[u][1] = first[u][2] = first[u][3] = 0;
  }

  // What a step of sixteen rows takes from shared memory.
  struct step_numbers {
    unsigned z[steps_of(Groups)][4];
    unsigned r[Each][2];
  };
  __device__ static step_numbers read_step(const block_memory& memory, int components, int pitch, int k, int row) {
    const int thread = static_cast<int>(threadIdx.x) % 32;
    const int t = thread % 4;
    step_numbers numbers;
    const unsigned from = address_of(memory.rows + (row + thread % 16) * stride + thread / 16 * 8);
#pragma unroll
    for (int pair = 0; pair < steps_of(Groups); ++pair) {
      load_transposed(numbers.z[pair], from + static_cast<unsigned>(pair * 32));
    }
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      step_responsibilities(memory.terms + min(k + e, components - 1) * pitch + row + 2 * t, numbers.r[e]);
    }
    return numbers;
  }

  __device__ void add_step(const step_numbers& numbers) {
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      unsigned b[Groups][2], a[2 * steps_of(Groups)][2];
#pragma unroll
      for (int c = 0; c < Groups; ++c) {
        const __half2 two = as_half2(centres[e][c / 2]);
        const __half2 middle = c % 2 == 0 ? __low2half2(two) : __high2half2(two);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const __half2 centred = __hsub2(as_half2(numbers.z[c / 2][c % 2 * 2 + half]), middle);
          b[c][half] = bits_of(centred);
          a[c][half] = bits_of(__hmul2(centred, as_half2(numbers.r[e][half])));
        }
      }
      if constexpr (Groups % 2 != 0) a[Groups][0] = a[Groups][1] = 0;
#pragma unroll
      for (int m = 0; m < steps_of(Groups); ++m) {
        const unsigned operand[4] = {a[2 * m][0], a[2 * m + 1][0], a[2 * m][1], a[2 * m + 1][1]};
#pragma unroll
        for (int n = 2 * m; n < Groups; ++n) {
          multiply_add(second[e][tile_index(Groups, m, n)], operand, b[n][0], b[n][1]);
        }
      }
    }
  }

  // Steps first, first + every, … below `steps`. What the next one takes is read beside this one's products.
  __device__ void add_steps(const block_memory& memory, int components, int pitch, int k, int first, int every,
                            int steps) {
    if (first >= steps) return;
    step_numbers now = read_step(memory, components, pitch, k, 16 * first);
#pragma unroll 2
    for (int step = first; step < steps; step += every) {
      const step_numbers next = read_step(memory, components, pitch, k, 16 * min(step + every, steps - 1));
      add_step(now);
      now = next;
    }
  }

  // First moments and weights.
  __device__ void add_firsts(const block_memory& memory, int components, int pitch, int steps) {
    const int thread = static_cast<int>(threadIdx.x) % 32;
    const int g = thread / 4, t = thread % 4;
    const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
    const int units = (components + 15) / 16 * (Groups + 1);
#pragma unroll
    for (int u = 0; u < most_units; ++u) {
      const int unit = warp + u * warps;
      if (unit >= units) continue;
      const int group = unit % (Groups + 1), k = unit / (Groups + 1) * 16 + g;
      const float* const near = memory.terms + min(k, components - 1) * pitch + 2 * t;
      const float* const next = memory.terms + min(k + 8, components - 1) * pitch + 2 * t;
      const unsigned from = address_of(memory.rows + thread % 16 * stride + min(group, Groups - 1) * 8);
      const unsigned one = g == 0 ? 0x3c003c00U : 0U;
#pragma unroll 4
      for (int step = 0; step < steps; ++step) {
        unsigned b[2], r0[2], r1[2];
        load_two_transposed(b, from + static_cast<unsigned>(step * 16 * stride * 2));
        step_responsibilities(near + 16 * step, r0);
        step_responsibilities(next + 16 * step, r1);
        const unsigned a[4] = {r0[0], r1[0], r0[1], r1[1]};
        multiply_add(first[u], a, group < Groups ? b[0] : one, group < Groups ? b[1] : one);
      }
    }
  }

  __device__ static void add(double& kept, float value, double back) {
    kept = fma(static_cast<double>(value), back, kept);
  }

  // On to the lanes, of which that of the first part has the first moments.
  __device__ void keep(const problem& mixture, int k, int part, double back) {
    const int thread = static_cast<int>(threadIdx.x) % 32;
    const int g = thread / 4, t = thread % 4;
    const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
    constexpr int size = one_pass_sums_size(Groups);
    const std::size_t lane_size = static_cast<std::size_t>(mixture.components) * size;
    double* const lanes =
        mixture.one_pass_sums + blockIdx.x * static_cast<std::size_t>(mixture.one_pass.parts) * lane_size;
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      if (k + e >= mixture.components) continue;
      double* const to = lanes + part * lane_size + static_cast<std::size_t>(k + e) * size + thread;
      // Sums that are asked for before the first is added: each turn waits for memory once.
      constexpr int at_once = 4;
#pragma unroll
      for (int i = 0; i < tiles; i += at_once) {
        double kept[at_once][4];
#pragma unroll
        for (int j = 0; j < 4 * at_once; ++j) {
          if (i + j / 4 < tiles) kept[j / 4][j % 4] = to[(i * 4 + j) * 32];
        }
#pragma unroll
        for (int j = 0; j < 4 * at_once; ++j) {
          if (i + j / 4 < tiles) {
            add(kept[j / 4][j % 4], second[e][i + j / 4][j % 4], back);
            to[(i * 4 + j) * 32] = kept[j / 4][j % 4];
          }
        }
      }
    }
    const int units = (mixture.components + 15) / 16 * (Groups + 1);
#pragma unroll
    for (int u = 0; u < most_units; ++u) {
      const int unit = warp + u * warps;
      if (unit >= units) continue;
      const int group = unit % (Groups + 1), its = unit / (Groups + 1) * 16 + g;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (its + 8 * half >= mixture.components) continue;
        double* const to =
            lanes + static_cast<std::size_t>(its + 8 * half) * size + one_pass_firsts(Groups) + 8 * group + 2 * t;
        add(to[0], first[u][2 * half], back);
        add(to[1], first[u][2 * half + 1], back);
      }
    }
    clear();
  }
};

template <int Groups, int Each>
__global__ void __launch_bounds__(32 * resident_warps(Groups, Each), 1)
    one_pass_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  cuda::wait_for_predecessor();
  if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) || *mixture.apart != 0) return;
  extern __shared__ __align__(128) uint4 shared[];
  constexpr int stride = one_pass_stride(Groups);
  constexpr int padded = 16 * steps_of(Groups);
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32, warps = threads / 32;
  const int components = mixture.components;
  const int pitch = one_pass_terms(warps);
  const int tile_rows = 32 * warps;
  __shared__ int exponent;
  block_memory memory;
  memory.records = shared;
  memory.rows = reinterpret_cast<__half*>(memory.records + components * one_pass_size(Groups));
  memory.terms = reinterpret_cast<float*>(memory.rows + tile_rows * stride);
  memory.scales = memory.terms + components * pitch;
  memory.moved = memory.scales + padded;
  memory.exponent = &exponent;
  const int record_stride = record_size(Groups, 1);
  for (int i = thread; i < components * one_pass_size(Groups); i += threads) {
    memory.records[i] = mixture.records[i / one_pass_size(Groups) * record_stride + i % one_pass_size(Groups)];
  }
  for (int i = thread; i < padded; i += threads) {
    const float2 frame = i < mixture.columns ? mixture.frame[i] : make_float2(0.0F, 0.0F);
    memory.scales[i] = frame.x;
    memory.moved[i] = frame.y;
  }
  // Columns that are not there stay zero, and rows that are not there numbers.
  for (int i = thread; i < tile_rows * stride / 8; i += threads) {
    reinterpret_cast<uint4*>(memory.rows)[i] = make_uint4(0, 0, 0, 0);
  }
  if (thread == 0) exponent = 0;
  __syncthreads();

  const int lane = static_cast<int>(blockIdx.x), lanes = static_cast<int>(gridDim.x);
  const int section_rows = mixture.one_pass_section_rows;
  const auto passed =
      static_cast<int>(rows.share_first / static_cast<std::size_t>(section_rows) % static_cast<std::size_t>(lanes));
  const int first_section = lane >= passed ? lane - passed : lane - passed + lanes;
  const int part = warp % mixture.one_pass.parts;
  const int k = warp / mixture.one_pass.parts * Each;
  warp_sums<Groups, Each> own;
  own.clear();
  own.take_centres(memory, components, k);
  for (int section = first_section * section_rows; section < rows.count; section += lanes * section_rows) {
    const int end = min(section + section_rows, rows.count);
    if (rows.weights != nullptr) {
      __syncthreads();
      if (thread == 0) exponent = -110;
      __syncthreads();
      float most = 0;
      for (int row = section + thread; row < end; row += threads) most = fmaxf(most, rows.weights[row]);
      if (most > 0) atomicMax(&exponent, ilogbf(most));
      __syncthreads();
    }
    for (int tile = section; tile < end; tile += tile_rows) {
      const int first = tile + 32 * warp;
      __half* const to = memory.rows + 32 * warp * stride;
      if (first < end) {
        take_rows<Groups>(rows, mixture.columns, first, memory, to);
        __syncwarp();
        const int next = first + tile_rows < end ? first + tile_rows : section + lanes * section_rows + 32 * warp;
        ask_for_rows(rows, mixture.columns, next);
        find_responsibilities<Groups>(mixture, rows, first, 32 * warp, pitch, memory);
      }
      __syncthreads();
      const int steps = (min(tile_rows, end - tile) + 31) / 32 * 2;
      if (k < components) own.add_steps(memory, components, pitch, k, part, mixture.one_pass.parts, steps);
      own.add_firsts(memory, components, pitch, steps);
      __syncthreads();
    }
    own.keep(mixture, k, part, scalbn(1.0, exponent - responsibility_exponent));
  }
}

template <int Groups, int Each>
void launch(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const one_pass_plan& plan = mixture.one_pass;
  cuda::launch_in_turn(one_pass_kernel<Groups, Each>, static_cast<unsigned>(mixture.one_pass_blocks), 32 * plan.warps,
                       plan.shared_bytes, stream, mixture, rows);
}

// The sum of the lanes, in their order. A quarter of a block's threads has each a quarter of them.
constexpr int fold_threads = 128, fold_parts = 4, fold_sums = fold_threads / fold_parts;

__global__ void __launch_bounds__(fold_threads) fold_kernel(const __grid_constant__ problem mixture, int size) {
  cuda::wait_for_predecessor();
  if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) || *mixture.apart != 0) return;
  __shared__ double parts[fold_parts][fold_sums];
  const int own = static_cast<int>(threadIdx.x) % fold_sums, part = static_cast<int>(threadIdx.x) / fold_sums;
  const int at = static_cast<int>(blockIdx.x) * fold_sums + own;
  const int lanes = mixture.one_pass_blocks * mixture.one_pass.parts;
  const int begin = lanes * part / fold_parts, end = lanes * (part + 1) / fold_parts;
  double sum = 0;
  if (at < size) {
    const double* const from = mixture.one_pass_sums + at;
    constexpr int ahead = 16;
    for (int lane = begin; lane < end; lane += ahead) {
      double values[ahead];
#pragma unroll
      for (int i = 0; i < ahead; ++i) {
        values[i] = lane + i < end ? from[static_cast<std::size_t>(lane + i) * static_cast<std::size_t>(size)] : 0;
      }
#pragma unroll
      for (int i = 0; i < ahead; ++i) sum += values[i];
    }
  }
  parts[part][own] = sum;
  __syncthreads();
  if (part == 0 && at < size) {
    mixture.one_pass_total[at] = parts[0][own] + parts[1][own] + parts[2][own] + parts[3][own];
  }
}

template <class Call, int... Each>
void with_each(std::integer_sequence<int, Each...> /*list*/, const Call& call) {
  (call(std::integral_constant<int, Each>()), ...);
}
template <class Call>
void with_each(const Call& call) {
  with_each(one_pass_each(), call);
}

std::size_t block_bytes(int groups, int components, int warps) {
  return static_cast<std::size_t>(components) * static_cast<std::size_t>(one_pass_size(groups)) * 16 +
         static_cast<std::size_t>(32 * warps * one_pass_stride(groups)) * 2 +
         static_cast<std::size_t>(components) * static_cast<std::size_t>(one_pass_terms(warps)) * 4 +
         static_cast<std::size_t>(16 * steps_of(groups)) * 8;
}

}  // namespace

one_pass_plan plan_one_pass(int groups, int components) {
  one_pass_plan found;
  if (!has_one_pass(groups)) return found;
  with_each([&](auto each) {
    if (found.warps > 0 || !has_each(groups, each())) return;
    one_pass_plan plan;
    plan.each = each();
    const int teams = (components + each() - 1) / each();
    const int most_warps = resident_warps(groups, each());
    if (teams > most_warps) return;
    // A multiple of four, so that the multiprocessor's quarters have as many, and few that no component needs.
    plan.warps = 0;
    for (int warps = 4; warps <= most_warps; warps += 4) {
      if (warps < fewest_warps || warps < teams) continue;
      if (plan.warps == 0 || warps / teams * teams * plan.warps > plan.warps / teams * teams * warps)
        plan.warps = warps;
    }
    plan.parts = plan.warps / teams;
    plan.shared_bytes = block_bytes(groups, components, plan.warps);
    const int units = (components + 15) / 16 * (groups + 1);
    if (plan.shared_bytes + 1024 > multiprocessor_bytes || units > most_units * plan.warps) {
      return;
    }
    plan.blocks =
        std::min(most_warps / plan.warps, static_cast<int>(multiprocessor_bytes / (plan.shared_bytes + 1024)));
    found = plan;
  });
  return found;
}

void one_pass(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  with_compiled_groups(one_pass_groups(), mixture.groups, [&](auto groups) {
    with_each([&](auto each) {
      if constexpr (has_each(groups(), each())) {
        if (each() == mixture.one_pass.each) launch<groups(), each()>(mixture, rows, stream);
      }
    });
  });
}

void fold_one_pass(const problem& mixture, cudaStream_t stream) {
  const int size = mixture.components * one_pass_sums_size(mixture.groups);
  cuda::launch_in_turn(fold_kernel, static_cast<unsigned>((size + fold_sums - 1) / fold_sums), fold_threads, 0, stream,
                       mixture, size);
}

}  // namespace shoal::gmm::tensor_matrix
