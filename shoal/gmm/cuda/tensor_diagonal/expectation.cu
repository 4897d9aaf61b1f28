// The expectation step of diagonal and spherical mixtures of many columns. In a frame that all components share,
//   log₂ πₖN(x) = constantₖ + Σⱼ pₖⱼ zⱼ + Σⱼ qₖⱼ zⱼ²,
// a product of rows (z, z²) with components (p, q) on tensor cores. Of qₖⱼ the mean over the components is taken out
// and added for each row, so that sums stay small and keep their digits.
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/gmm/cuda/tensor/groups.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

constexpr int groups = 2;  // of four warps, 64 rows each
constexpr int threads = 128 * groups;
constexpr int all_threads = threads + 128;  // and those that fetch, of whom registers are taken
constexpr int group_bytes = operand_size;   // of 64 rows and one step
constexpr int operand_bytes = 2 * operand_size;
constexpr int most_stages = 8;

// More than the density of a row that is out of the frame's range, in bits: it is some 200 deviations away from any
// component of a common frame.
constexpr float most_beyond = -16384;

// What a row's tile knows beside its operands.
struct tile_state {
  unsigned long long full[most_stages];
  unsigned long long empty[most_stages];
  float common[tile_rows];  // what a row's terms have in common
  float norm[tile_rows];    // ‖z‖², spherical
  float weight[tile_rows];
  double likelihoods[threads / 32];
  double weights[threads / 32];
  int beyond[tile_rows];  // z is out of range
  int greatest_weight;
  unsigned far[tile_rows / 32];
};

__host__ __device__ constexpr int rows_bytes(const problem& mixture) {
  return mixture.features * split_terms(mixture.products) * mixture.steps * operand_bytes;
}
// A stage holds one feature's terms of one kind for all columns.
__host__ __device__ constexpr int stage_bytes(const problem& mixture) { return mixture.steps * operand_bytes; }
int stages_of(const problem& mixture) {
  // One block of a multiprocessor, with room for what the system keeps.
  constexpr int most = (227 << 10) - static_cast<int>(sizeof(tile_state));
  return std::min(most_stages, (most - rows_bytes(mixture)) / stage_bytes(mixture));
}

// Those that make operands say that these are there, and go on; the idle warps wait.
constexpr int idle_warps = 3;
__device__ void show_operands() { asm volatile("bar.arrive 2, %0;" ::"n"(threads + 32 * idle_warps) : "memory"); }
__device__ void wait_for_shown() { asm volatile("bar.sync 2, %0;" ::"n"(threads + 32 * idle_warps) : "memory"); }
__device__ void wait_for_consumers() { asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory"); }

// Eight neighbouring columns of a row; zeros beyond the last row and column.
__device__ void read_eight(const problem& mixture, const chunk& rows, int row, int column, float (&x)[8]) {
  const int columns = mixture.columns;
  const float* const from = rows.rows + static_cast<std::size_t>(row) * columns + column;
  if (row < rows.count && columns % 4 == 0 && column + 8 <= columns) {
    const float4 near = *reinterpret_cast<const float4*>(from);
    const float4 next = *reinterpret_cast<const float4*>(from + 4);
    x[0] = near.x, x[1] = near.y, x[2] = near.z, x[3] = near.w;
    x[4] = next.x, x[5] = next.y, x[6] = next.z, x[7] = next.w;
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = row < rows.count && column + i < columns ? from[i] : 0.0F;
}

// Puts a tile of rows into shared memory as operands [feature][term][step].
template <bool Spherical, int Products>
__device__ void make_operands(const problem& mixture, const chunk& rows, int first, unsigned char* operands,
                              tile_state& state) {
  constexpr int terms = split_terms(Products);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int member = static_cast<int>(threadIdx.x) % 8;
  const int part = static_cast<int>(threadIdx.x) % 32 / 8;
  const int octets = 2 * mixture.steps;
  for (int group = warp; group < tile_rows / 8; group += threads / 32) {
    const int place = 8 * group + member;
    const int in_tile = group / 2 * 16 + 2 * member + group % 2;
    float common = 0;
    float norm = 0;
    int beyond = 0;
#pragma unroll 4
    for (int octet = part; octet < octets; octet += 4) {
      float z[8];
      read_eight(mixture, rows, first + in_tile, 8 * octet, z);
      float squares[8];
      float4 frame[4];  // of two columns each
      float4 curve[2];
#pragma unroll
      for (int i = 0; i < 4; ++i) frame[i] = __ldg(reinterpret_cast<const float4*>(mixture.frame + 8 * octet) + i);
#pragma unroll
      for (int i = 0; i < 2; ++i) curve[i] = __ldg(reinterpret_cast<const float4*>(mixture.mean_curve + 8 * octet) + i);
      const float curves[8] = {curve[0].x, curve[0].y, curve[0].z, curve[0].w,
                               curve[1].x, curve[1].y, curve[1].z, curve[1].w};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float4 two = frame[i / 2];
        const float value = in_frame(z[i], i % 2 == 0 ? make_float2(two.x, two.y) : make_float2(two.z, two.w));
        z[i] = within_range(value);
        if (z[i] != value) beyond = 1;
        // Both features of one number: near a component's mean what z loses hardly matters then.
        z[i] = in_terms<Products>(z[i]);
        squares[i] = z[i] * z[i];
        if constexpr (Spherical) {
          norm += squares[i];
        } else {
          common = fmaf(squares[i], curves[i], common);
        }
      }
      // In units of 16 bytes.
      uint4* const to = reinterpret_cast<uint4*>(operands) + octet / 2 * (operand_bytes / 16) +
                        operand_place(place, octet % 2 * 8) / 8;
      const int term_step = mixture.steps * (operand_bytes / 16);
      uint4 high, low;
      split_eight<Products>(z, high, low);
      to[0] = high;
      if constexpr (Products == 3) to[term_step] = low;
      if constexpr (!Spherical) {
        split_eight<Products>(squares, high, low);
        to[terms * term_step] = high;
        if constexpr (Products == 3) to[(terms + 1) * term_step] = low;
      }
    }
    for (int distance = 8; distance < 32; distance *= 2) {
      common += __shfl_xor_sync(~0U, common, distance);
      norm += __shfl_xor_sync(~0U, norm, distance);
      beyond |= __shfl_xor_sync(~0U, beyond, distance);
    }
    if (part == 0) {
      const int row = first + in_tile;
      const float weight = row >= rows.count ? 0.0F : (rows.weights == nullptr ? 1.0F : rows.weights[row]);
      state.common[in_tile] = Spherical ? norm * mixture.mean_curve[0] : common;
      state.norm[in_tile] = norm;
      state.beyond[in_tile] = beyond;
      state.weight[in_tile] = weight;
      atomicMax(&state.greatest_weight, __float_as_int(weight));  // of integers: like floats that are not negative
    }
  }
}

// Leaves a tile's operands for the moments, transposed, by warps that have nothing else to do. Columns beyond the steps
// are left as they are: nobody asks for their sums.
template <int Steps, bool Spherical, int Products>
__device__ void leave_columns(const problem& mixture, int first, const unsigned char* operands, int warp) {
  constexpr int terms = split_terms(Products);
  constexpr int parts = (Spherical ? 1 : 2) * terms;
  constexpr int row_steps = tile_rows / step_size;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t block = static_cast<std::size_t>(mixture.width) * step_size;
  // Four core matrices at once: even and odd rows of a step of rows, of one eight columns and the next.
  const unsigned own = shared_address(operands) +
                       static_cast<unsigned>(operand_place(8 * (lane / 8 % 2) + lane % 8, 8 * (lane / 16))) * 2;
  std::uint16_t* const to = mixture.columns_by_rows + operand_place(lane / 4, 0) + 2 * (lane % 4);
  for (int part = 0; part < parts; ++part) {
    std::uint16_t* const of_part =
        to + ((part / terms * (mixture.chunk_rows / step_size) + static_cast<std::size_t>(first / step_size)) * terms +
              static_cast<std::size_t>(part % terms)) *
                 block;
    for (int unit = warp; unit < Steps * row_steps; unit += idle_warps) {
      const int step = unit / row_steps, rows = unit % row_steps;
      const auto from =
          own + static_cast<unsigned>((part * Steps + step) * operand_bytes + operand_place(16 * rows, 0) * 2);
      unsigned even[2], odd[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(even[0]), "=r"(odd[0]), "=r"(even[1]), "=r"(odd[1])
                   : "r"(from)
                   : "memory");
      std::uint16_t* const of_rows = of_part + static_cast<std::size_t>(rows) * terms * block;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        std::uint16_t* const at = of_rows + operand_place(step * step_size + 8 * i, 0);
        *reinterpret_cast<unsigned*>(at) = __byte_perm(even[i], odd[i], 0x5410);
        *reinterpret_cast<unsigned*>(at + operand_place(0, 8)) = __byte_perm(even[i], odd[i], 0x7632);
      }
    }
  }
}

// What a thread knows of one of its rows while the components pass by, its own quarter of them.
struct row_state {
  float greatest = -1e30F;
  float sum = 0;
  int best = 0;

  __device__ void join(float other_greatest, float other_sum, int other_best) {
    const float most = fmaxf(greatest, other_greatest);
    sum = sum * power_of_two(greatest - most) + other_sum * power_of_two(other_greatest - most);
    best = other_greatest > greatest || (other_greatest == greatest && other_best < best) ? other_best : best;
    greatest = most;
  }
};

// What a tile's terms are made of beside products, for the components of this thread. Read before the products, and by
// loads that may pass the stores of terms.
template <bool Spherical>
struct tile_constants {
  float2 constant[tile_components / 8];
  float2 norm_factor[tile_components / 8];

  __device__ tile_constants(const problem& mixture, const float* constants, int tile) {
    const int first = tile * tile_components + 2 * (static_cast<int>(threadIdx.x) % 4);
#pragma unroll
    for (int i = 0; i < tile_components / 8; ++i) {
      constant[i] = __ldg(reinterpret_cast<const float2*>(constants + first + 8 * i));
      if constexpr (Spherical) {
        norm_factor[i] = __ldg(reinterpret_cast<const float2*>(mixture.norm_factors + first + 8 * i));
      }
    }
  }
};

// Where this thread's terms of a tile of components and two rows lie, for even and for odd components; those of the
// next eight are 8 · block_rows further on. A thread's 64 places by themselves took as many instructions as its scores.
struct term_places {
  float* of[2];

  __device__ term_places(const problem& mixture, int tile, int row) {
    const int first = tile * tile_components + 2 * (static_cast<int>(threadIdx.x) % 4);
    of[0] = mixture.terms + term_place(mixture.tiles, first, row);
    of[1] = mixture.terms + term_place(mixture.tiles, first + 1, row);
  }
  __device__ float2* at(int i, int which) const { return reinterpret_cast<float2*>(of[which] + 8 * i * block_rows); }
};

// Takes in a tile of components: scores [4 i + 2 half + which] of component 8 i + 2 t + which.
template <bool Spherical>
__device__ void take_tile(const problem& mixture, int tile, const tile_constants<Spherical>& constants,
                          float (&scores)[64], const float (&norm)[2], int row, row_state (&state)[2]) {
  const int first = tile * tile_components + 2 * (static_cast<int>(threadIdx.x) % 4);
  const term_places places(mixture, tile, row);
  float most[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      const float constant = which == 0 ? constants.constant[i].x : constants.constant[i].y;
      float2 two;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& score = scores[4 * i + 2 * half + which];
        score += constant;
        if constexpr (Spherical) {
          score = fmaf(which == 0 ? constants.norm_factor[i].x : constants.norm_factor[i].y, norm[half], score);
        }
        most[half] = fmaxf(most[half], score);
        (half == 0 ? two.x : two.y) = score;
      }
      *places.at(i, which) = two;
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    row_state& row = state[half];
    if (most[half] > row.greatest) {
      row.sum *= power_of_two(row.greatest - most[half]);
      row.greatest = most[half];
      // Read back from the terms once all have passed, the best component's number took nearly half of the kernel.
#pragma unroll
      for (int i = 31; i >= 0; --i) {
        if (scores[i / 2 * 4 + 2 * half + i % 2] == row.greatest) row.best = first + i / 2 * 8 + i % 2;
      }
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) sum += power_of_two(scores[i / 2 * 4 + 2 * half + i % 2] - row.greatest);
    row.sum += sum;
  }
}

// The same with one product: leaves half_terms. The four threads of a row go by the same greatest term.
template <bool Spherical>
__device__ void take_half_tile(const problem& mixture, int tile, const tile_constants<Spherical>& constants,
                               float (&scores)[64], const float (&norm)[2], int row, row_state (&state)[2]) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  const int first = tile * tile_components + 2 * t;
  float most[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      const float constant = which == 0 ? constants.constant[i].x : constants.constant[i].y;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& score = scores[4 * i + 2 * half + which];
        score += constant;
        if constexpr (Spherical) {
          score = fmaf(which == 0 ? constants.norm_factor[i].x : constants.norm_factor[i].y, norm[half], score);
        }
        most[half] = fmaxf(most[half], score);
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    row_state& row = state[half];
    float of_row = fmaxf(most[half], __shfl_xor_sync(~0U, most[half], 1));
    of_row = fmaxf(of_row, __shfl_xor_sync(~0U, of_row, 2));
    if (of_row > row.greatest) {
      row.sum *= power_of_two(row.greatest - of_row);
      row.greatest = of_row;
      row.best = INT_MAX;  // another thread's, which join() asks
      if (most[half] == of_row) {
#pragma unroll
        for (int i = 31; i >= 0; --i) {
          if (scores[i / 2 * 4 + 2 * half + i % 2] == of_row) row.best = first + i / 2 * 8 + i % 2;
        }
      }
    }
    const float base = row.greatest - half_term_exponent;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      float& score = scores[i / 2 * 4 + 2 * half + i % 2];
      score = power_of_two(score - base);
      sum += score;
    }
    row.sum += sum;
  }
  if (t == 0) {
    *reinterpret_cast<float2*>(mixture.tile_greatest + static_cast<std::size_t>(tile) * mixture.chunk_rows + row) =
        make_float2(state[0].greatest, state[1].greatest);
  }
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    std::uint16_t* const to = mixture.half_terms + half_term_place(mixture.tiles, first + which, row);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      *reinterpret_cast<std::uint32_t*>(to + 8 * i * block_rows) =
          tensor::bits_of(__floats2half2_rn(scores[4 * i + which], scores[4 * i + 2 + which]));
    }
  }
}

// The same in a wide frame: leaves the terms that may matter when all components have passed, and says which they are.
template <bool Spherical>
__device__ void take_wide_tile(const problem& mixture, int tile, const tile_constants<Spherical>& constants,
                               float (&scores)[64], const float (&common)[2], const float (&norm)[2], int row,
                               float (&greatest)[2]) {
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      const float constant = which == 0 ? constants.constant[i].x : constants.constant[i].y;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& score = scores[4 * i + 2 * half + which];
        score += constant + common[half];
        if constexpr (Spherical) {
          score = fmaf(which == 0 ? constants.norm_factor[i].x : constants.norm_factor[i].y, norm[half], score);
        }
        greatest[half] = fmaxf(greatest[half], score);
      }
    }
  }
  unsigned candidates[2] = {0, 0};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    greatest[half] = fmaxf(greatest[half], __shfl_xor_sync(~0U, greatest[half], 1));
    greatest[half] = fmaxf(greatest[half], __shfl_xor_sync(~0U, greatest[half], 2));
    const float least = greatest[half] - wide_margin(mixture);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      // Not being a number, the terms of components that the frame leaves out are candidates.
      if (!(scores[i / 2 * 4 + 2 * half + i % 2] < least)) candidates[half] |= 1U << i;
    }
    mixture.candidates[(static_cast<std::size_t>(row + half) * mixture.tiles + tile) * 4 + t] = candidates[half];
  }
  const unsigned either = candidates[0] | candidates[1];
  if (either == 0) return;
  const term_places places(mixture, tile, row);
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    if ((either >> i & 1) == 0) continue;
    *places.at(i / 2, i % 2) = make_float2(scores[i / 2 * 4 + i % 2], scores[i / 2 * 4 + 2 + i % 2]);
  }
}

// The greatest term of a wide frame's rows, from which refine() goes on.
__device__ void finish_wide_rows(const problem& mixture, const chunk& rows, int first, const float (&greatest)[2],
                                 const tile_state& tile) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread % 4 < 2) {
    const int in_tile = 16 * (thread / 32) + 2 * (thread % 32 / 4) + thread % 4;
    const bool inside = first + in_tile < rows.count && tile.beyond[in_tile] == 0;
    mixture.shifts[first + in_tile] = inside ? (thread % 4 == 0 ? greatest[0] : greatest[1]) : INFINITY;
  }
  if (thread == 0) write_exponent(mixture, first / tile_rows, tile.greatest_weight);
}

// Writes what a tile's rows have found.
template <bool Spherical, int Products>
__device__ void finish_rows(const problem& mixture, const chunk& rows, int first, row_state (&state)[2],
                            tile_state& tile) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int pair = 16 * warp + 2 * (static_cast<int>(threadIdx.x) % 32 / 4);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
      state[half].join(__shfl_xor_sync(~0U, state[half].greatest, distance),
                       __shfl_xor_sync(~0U, state[half].sum, distance),
                       __shfl_xor_sync(~0U, state[half].best, distance));
    }
  }
  double likelihood = 0;
  double weights = 0;
  if (t < 2) {
    row_state own = state[0];
    if (t == 1) own = state[1];
    const int in_tile = pair + t;
    const int row = first + in_tile;
    const float weight = tile.weight[in_tile];
    const float common = tile.common[in_tile];
    const float log_sum = log2f(own.sum) - (Products == 3 ? 0 : half_term_exponent);
    const float density = (own.greatest + common) + log_sum;
    const float log_best = (own.greatest + common) / log2_of_e;
    const float norm = 2 * (mixture.own_constants[own.best] - log_best);
    const bool inside = row < rows.count;
    const bool near = norm <= far_norm && tile.beyond[in_tile] == 0;
    const bool counts = inside && near && weight > 0;
    const float shift = mixture.log_sums != nullptr ? own.greatest : own.greatest + (log_sum - log2f(weight));
    mixture.shifts[row] = counts ? shift : INFINITY;
    if (mixture.log_sums != nullptr) mixture.log_sums[row] = log_sum;
    if (mixture.densities != nullptr) mixture.densities[row] = tile.beyond[in_tile] == 0 ? density : most_beyond;
    const double log_density = ln_2 * static_cast<double>(density) + *mixture.parameters.packed.log_shift;
    if (mixture.log_densities != nullptr && near) mixture.log_densities[row] = log_density;
    if constexpr (Spherical) mixture.norms[row] = near ? tile.norm[in_tile] : 0.0F;
    if (inside && !near) atomicOr(&tile.far[in_tile / 32], 1U << in_tile % 32);
    if (counts) likelihood = static_cast<double>(weight) * log_density;
    weights = static_cast<double>(weight);
  }
  likelihood = cuda::warp_sum(likelihood);
  weights = cuda::warp_sum(weights);
  if (threadIdx.x % 32 == 0) {
    tile.likelihoods[warp] = likelihood;
    tile.weights[warp] = weights;
  }
  wait_for_consumers();
  const int number = first / tile_rows;
  if (threadIdx.x < tile_rows / 32) mixture.far_masks[first / 32 + threadIdx.x] = tile.far[threadIdx.x];
  if (threadIdx.x != 0) return;
  double2 sum = make_double2(0, 0);
  for (int i = 0; i < threads / 32; ++i) {
    sum.x += tile.likelihoods[i];
    sum.y += tile.weights[i];
  }
  mixture.tile_sums[number] = sum;
  write_exponent(mixture, number, tile.greatest_weight);
}

template <int Steps, bool Spherical, int Products>
__device__ void run_tile(const problem& mixture, const chunk& rows, int stages) {
  extern __shared__ __align__(1024) unsigned char memory[];
  constexpr int features = Spherical ? 1 : 2;
  constexpr int terms = split_terms(Products);
  constexpr int tile_stages = features * terms;  // of one tile of components
  constexpr unsigned size = Steps * operand_bytes;
  unsigned char* const stage_memory = memory + rows_bytes(mixture);
  tile_state& state = *reinterpret_cast<tile_state*>(stage_memory + stages * size);
  const int first = static_cast<int>(blockIdx.x) * tile_rows;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      make_barrier(state.full + s, 1);
      make_barrier(state.empty + s, threads / 32);
    }
    publish_barriers();
    state.greatest_weight = 0;
  }
  if (threadIdx.x < tile_rows / 32) state.far[threadIdx.x] = 0;
  __syncthreads();

  if (threadIdx.x >= threads) {
    give_registers<40>();
    if (threadIdx.x >= threads + 32) {
      wait_for_shown();
      if (mixture.columns_by_rows != nullptr && arrangement_of(mixture) == common_frame) {
        leave_columns<Steps, Spherical, Products>(mixture, first, memory,
                                                  static_cast<int>(threadIdx.x - threads) / 32 - 1);
      }
      return;
    }
    if (threadIdx.x != threads) return;
    const unsigned char* from = reinterpret_cast<const unsigned char*>(mixture.operands);
    int stage = 0;
    unsigned round = 0;
    for (int i = 0; i < mixture.tiles * tile_stages; ++i) {
      if (round > 0) wait(state.empty + stage, (round - 1) & 1);
      fetch(stage_memory + static_cast<unsigned>(stage) * size, from, size, state.full + stage);
      from += size;
      if (++stage == stages) stage = 0, ++round;
    }
    return;
  }

  take_registers<232>();
  make_operands<Spherical, Products>(mixture, rows, first, memory, state);
  publish_to_products();
  show_operands();
  wait_for_consumers();
  const int group = static_cast<int>(threadIdx.x) / 128;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int pair = 16 * warp + 2 * (static_cast<int>(threadIdx.x) % 32 / 4);
  const unsigned long long own =
      describe(shared_address(memory) + static_cast<unsigned>(group * group_bytes), row_stride);
  const unsigned long long others = describe(shared_address(stage_memory), row_stride);
  const float norm[2] = {state.norm[pair], state.norm[pair + 1]};
  // What a row's terms have in common does not matter to responsibilities and would cost the terms digits; only those
  // of a wide frame, which are to be compared with others, have it.
  const bool wide = arrangement_of(mixture) == wide_frame;
  const float* const all_constants = wide ? mixture.constants : mixture.common_constants;
  const float common[2] = {state.common[pair], state.common[pair + 1]};
  row_state found[2];
  float greatest[2] = {-1e30F, -1e30F};
  int stage = 0;
  unsigned round = 0;
  for (int tile = 0; tile < mixture.tiles; ++tile) {
    const tile_constants<Spherical> constants(mixture, all_constants, tile);
    float scores[64];
    int before = 0;
#pragma unroll
    for (int part = 0; part < tile_stages; ++part) {
      const int feature = features - 1 - part % features;
      const bool low = terms == 2 && part < features;  // of the components' terms; the small products come first
      wait(state.full + stage, round & 1);
      begin_products();
      const unsigned long long b = advance(others, static_cast<unsigned>(stage) * size);
      const unsigned long long a = advance(own, static_cast<unsigned>(feature * terms) * size);
#pragma unroll
      for (int step = 0; step < Steps && terms == 2 && !low; ++step) {
        constexpr unsigned next = size;
        const auto at = static_cast<unsigned>(step * operand_bytes);
        multiply(scores, advance(a, next + at), advance(b, at), 1);
      }
#pragma unroll
      for (int step = 0; step < Steps; ++step) {
        const auto at = static_cast<unsigned>(step * operand_bytes);
        multiply(scores, advance(a, at), advance(b, at), part + step > 0 ? 1 : 0);
      }
      end_products();
      if (part > 0) {
        wait_for_products<1>();
        if (threadIdx.x % 32 == 0) arrive(state.empty + before);
      }
      before = stage;
      if (++stage == stages) stage = 0, ++round;
    }
    wait_for_products<0>();
    if (threadIdx.x % 32 == 0) arrive(state.empty + before);
    if (wide) {
      take_wide_tile<Spherical>(mixture, tile, constants, scores, common, norm, first + pair, greatest);
    } else if constexpr (Products == 3) {
      take_tile<Spherical>(mixture, tile, constants, scores, norm, first + pair, found);
    } else {
      take_half_tile<Spherical>(mixture, tile, constants, scores, norm, first + pair, found);
    }
  }
  if (wide) return finish_wide_rows(mixture, rows, first, greatest, state);
  finish_rows<Spherical, Products>(mixture, rows, first, found, state);
}

template <int Steps, bool Spherical, int Products>
__global__ void __launch_bounds__(all_threads, 1)
    expectation_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows, int stages) {
  if constexpr (has_warpgroup_products) {
    wait_for_predecessor();
    if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) ||
        arrangement_of(mixture) == no_frame)
      return;
    run_tile<Steps, Spherical, Products>(mixture, rows, stages);
  }
}

template <int Steps, bool Spherical, int Products>
void launch(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const int stages = stages_of(mixture);
  cuda::launch_in_turn(expectation_kernel<Steps, Spherical, Products>, static_cast<unsigned>(tiles_of(rows)),
                       all_threads, expectation_bytes(mixture), stream, mixture, rows, stages);
}

}  // namespace

std::size_t expectation_bytes(const problem& mixture) {
  return static_cast<std::size_t>(rows_bytes(mixture) + stages_of(mixture) * stage_bytes(mixture)) + sizeof(tile_state);
}

void expectation(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  with_compiled_products(mixture.products, [&](auto products) {
    with_compiled_groups(step_counts(), mixture.steps, [&](auto steps) {
      if (mixture.spherical) return launch<steps(), true, products()>(mixture, rows, stream);
      launch<steps(), false, products()>(mixture, rows, stream);
    });
  });
}

}  // namespace shoal::gmm::tensor_diagonal
