// The maximisation's sums of full and tied mixtures whose components lie near each other: Σ r zᵢ zⱼ about the centre of
// the frame that they share, as products of features with responsibilities on tensor cores. Rows are placed in the
// frame and responsibilities found once; features are made in registers, where they are operands of Hopper's products
// by four warps.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/gmm/cuda/tensor/groups.hpp>
#include <shoal/gmm/cuda/tensor/operands.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_matrix/frame_layout.hpp>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

constexpr int threads = 128 * frame_groups;
constexpr int all_threads = threads + 128;  // and those that fetch, of whom registers are taken
constexpr int most_stages = 6;
constexpr int stage_steps = frame_stage_rows / frame_step_rows;
constexpr int place_threads = 128;

// Responsibilities are multiplied by this power of two, so that float16 holds those of 2⁻³⁹ and more of the greatest
// weight of a section.
constexpr int most_exponent = 14;

__device__ bool works(const problem& mixture) {
  return (mixture.parameters.stopped == nullptr || *mixture.parameters.stopped == 0) && *mixture.moments_apart == 0;
}

// The exponent of a section's greatest weight. Block: a section.
__global__ void __launch_bounds__(place_threads)
    exponents_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  cuda::wait_for_predecessor();
  if (!works(mixture)) return;
  __shared__ int greatest;
  if (threadIdx.x == 0) greatest = 0;
  __syncthreads();
  const int first = static_cast<int>(blockIdx.x) * mixture.frame_section_rows;
  const int end = min(first + mixture.frame_section_rows, rows.count);
  float most = rows.weights == nullptr ? 1.0F : 0.0F;
  for (int row = first + static_cast<int>(threadIdx.x); row < end && rows.weights != nullptr; row += place_threads) {
    most = fmaxf(most, rows.weights[row]);
  }
  atomicMax(&greatest, __float_as_int(most));  // of integers: like floats that are not negative
  __syncthreads();
  const float weight = __int_as_float(greatest);
  if (threadIdx.x == 0) mixture.section_exponents[blockIdx.x] = weight > 0 ? max(ilogbf(weight), -110) : 0;
}

// A column of 16 rows for each thread: [step][term][column][row].
template <int Products>
__global__ void __launch_bounds__(place_threads)
    place_rows_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows, int steps) {
  cuda::wait_for_predecessor();
  if (!works(mixture)) return;
  const int width = placed_columns(mixture.columns);
  const int at = static_cast<int>(blockIdx.x) * place_threads + static_cast<int>(threadIdx.x);
  const int column = at % width;
  const int step = at / width;
  if (step >= steps) return;
  const bool inside = column < mixture.columns;
  const float2 frame = inside ? mixture.frame[column] : make_float2(0.0F, column == mixture.columns ? 1.0F : 0.0F);
  float z[frame_step_rows];
#pragma unroll
  for (int i = 0; i < frame_step_rows; ++i) {
    const int row = step * frame_step_rows + i;
    const float x =
        inside && row < rows.count ? rows.rows[static_cast<std::size_t>(row) * mixture.columns + column] : 0.0F;
    z[i] = within_range(fmaf(x, frame.x, frame.y));
  }
  constexpr int terms = Products == 3 ? 2 : 1;
  uint4* const to =
      reinterpret_cast<uint4*>(mixture.placed_rows) + (static_cast<std::size_t>(step) * terms * width + column) * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    std::uint32_t high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) split(z[8 * half + 2 * i], z[8 * half + 2 * i + 1], high[i], low[i]);
    to[half] = make_uint4(high[0], high[1], high[2], high[3]);
    if constexpr (Products == 3) to[2 * width + half] = make_uint4(low[0], low[1], low[2], low[3]);
  }
}

// A component and 16 rows for each thread, eight components and four steps for a warp:
// [tile of components][step][term][operand].
template <int Products>
__global__ void __launch_bounds__(place_threads)
    place_responsibilities_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows,
                                  int steps) {
  cuda::wait_for_predecessor();
  if (!works(mixture)) return;
  const int components = padded_components(mixture.components);
  const int tile_components = frame_components(mixture.components);
  const int warp = (static_cast<int>(blockIdx.x) * place_threads + static_cast<int>(threadIdx.x)) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int k = warp % (components / 8) * 8 + lane % 8;
  const int step = warp / (components / 8) * 4 + lane / 8;
  if (step >= steps) return;
  const int first = step * frame_step_rows;
  const int exponent = mixture.section_exponents[first / mixture.frame_section_rows] - most_exponent;
  const float scale = __uint_as_float(static_cast<unsigned>(127 - exponent) << 23);
  const float* const terms = mixture.terms + static_cast<std::size_t>(k) * mixture.chunk_rows + first;
  constexpr float least = -static_cast<float>(negligible_log_ratio<float>);
  float r[frame_step_rows];
#pragma unroll
  for (int i = 0; i < frame_step_rows; i += 4) {
    float term[4] = {};
    if (k < mixture.components && first + i + 4 <= rows.count) {
      const float4 four = *reinterpret_cast<const float4*>(terms + i);
      term[0] = four.x, term[1] = four.y, term[2] = four.z, term[3] = four.w;
    } else if (k < mixture.components) {
#pragma unroll
      for (int j = 0; j < 4; ++j) term[j] = first + i + j < rows.count ? terms[i + j] : 0.0F;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const bool inside = first + i + j < rows.count;
      const float2 shift = inside ? mixture.shifts[first + i + j] : make_float2(0, 0);
      const float ratio = term[j] - shift.x;
      // A comparison that fails for what is not a number.
      const bool counts = inside && k < mixture.components && ratio >= least;
      r[i + j] = counts ? __expf(ratio - shift.y) * scale : 0.0F;
    }
  }
  float ordered[frame_step_rows];
#pragma unroll
  for (int i = 0; i < frame_step_rows; ++i) ordered[step_place(i)] = r[i];
  constexpr int split_terms = Products == 3 ? 2 : 1;
  std::uint16_t* const to = mixture.placed_responsibilities +
                            (static_cast<std::size_t>(k / tile_components) * (mixture.chunk_rows / frame_step_rows) +
                             static_cast<std::size_t>(step)) *
                                static_cast<std::size_t>(split_terms * tile_components * frame_step_rows);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    std::uint32_t high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) split(ordered[8 * half + 2 * i], ordered[8 * half + 2 * i + 1], high[i], low[i]);
    uint4* const at = reinterpret_cast<uint4*>(to + operand_place(k % tile_components, 8 * half));
    *at = make_uint4(high[0], high[1], high[2], high[3]);
    if constexpr (Products == 3) {
      at[tile_components * frame_step_rows / 8] = make_uint4(low[0], low[1], low[2], low[3]);
    }
  }
}

struct stage_barriers {
  unsigned long long full[most_stages];
  unsigned long long empty[most_stages];
};

__device__ __half2 as_pair(unsigned bits) { return *reinterpret_cast<__half2*>(&bits); }

// zᵢ zⱼ of two rows, as one float16 term or two: the rounding of the product of the high terms is known exactly.
template <int Products>
__device__ void multiply_pair(unsigned a_high, unsigned a_low, unsigned b_high, unsigned b_low, unsigned& high,
                              unsigned& low) {
  const __half2 product = __hmul2(as_pair(a_high), as_pair(b_high));
  high = bits_of(product);
  if constexpr (Products == 3) {
    __half2 rest = __hfma2(as_pair(a_high), as_pair(b_high), __hneg2(product));
    rest = __hfma2(as_pair(a_high), as_pair(b_low), rest);
    low = bits_of(__hfma2(as_pair(a_low), as_pair(b_high), rest));
  }
}

// The sums of one group of four warps: `Tiles` tiles of features with `Components` components.
template <int Components, int Products>
struct tile_sums {
  static constexpr int tiles = group_tiles(Components, Products);
  static constexpr int half_tiles = tiles / 2;
  static constexpr int size = Components / 2;
  static constexpr int terms = Products == 3 ? 2 : 1;

  float sum[tiles][size];
  float total[Products == 3 ? tiles : 1][size];  // of float32 grade only

  __device__ void clear_totals() {
    if constexpr (Products == 3) {
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int i = 0; i < size; ++i) total[tile][i] = 0;
      }
    }
  }
  __device__ void flush() {
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
      for (int i = 0; i < size; ++i) total[tile][i] += sum[tile][i];
    }
  }
  // On to float64; `to` is [tile][component][feature] from this group's first tile on, and this thread's feature and
  // components.
  __device__ void keep(double* to, std::size_t tile_stride, int kept_tiles, double back) {
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      if (tile >= kept_tiles) continue;
#pragma unroll
      for (int i = 0; i < size; ++i) {
        // 4 i + 2 half + which: component 8 i + which, feature 8 half.
        double& kept =
            to[tile * tile_stride + static_cast<std::size_t>(i / 4 * 8 + i % 2) * tile_features + i % 4 / 2 * 8];
        kept = fma(static_cast<double>(Products == 3 ? total[Products == 3 ? tile : 0][i] : sum[tile][i]), back, kept);
      }
    }
    clear_totals();
  }
};

template <int Components, int Products>
__device__ void run(const problem& mixture, const chunk& rows, int stages) {
  extern __shared__ __align__(1024) unsigned char memory[];
  using sums = tile_sums<Components, Products>;
  constexpr int terms = sums::terms;
  const int width = placed_columns(mixture.columns);
  const int rows_bytes = frame_stage_rows * terms * width * 2;
  constexpr int step_bytes = Components * frame_step_rows * 2;
  constexpr int responsibilities_bytes = stage_steps * terms * step_bytes;
  const int bytes = rows_bytes + responsibilities_bytes;
  stage_barriers& barriers = *reinterpret_cast<stage_barriers*>(memory + stages * bytes);
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      make_barrier(barriers.full + s, 1);
      make_barrier(barriers.empty + s, threads);
    }
    publish_barriers();
  }
  __syncthreads();
  const int component_tiles = frame_component_tiles(mixture.components);
  const int component_tile = static_cast<int>(blockIdx.x) % component_tiles;
  const int role = static_cast<int>(blockIdx.x) / component_tiles;
  const int lane = static_cast<int>(blockIdx.y);
  const int section_rows = mixture.frame_section_rows;
  // Whole float sums; the last one is filled up with rows that nobody is responsible for.
  const int count = (rows.count + frame_float_rows - 1) / frame_float_rows * frame_float_rows;
  const auto passed = static_cast<int>(rows.share_first / static_cast<std::size_t>(section_rows) %
                                       static_cast<std::size_t>(mixture.frame_lanes));
  const int first_section = lane >= passed ? lane - passed : lane - passed + mixture.frame_lanes;
  const int section_step = mixture.frame_lanes * section_rows;
  int stage = 0;
  unsigned round = 0;

  if (threadIdx.x >= threads) {
    give_registers<40>();
    if (threadIdx.x != threads) return;
    const auto* const all_rows = reinterpret_cast<const unsigned char*>(mixture.placed_rows);
    const auto* const responsibilities =
        reinterpret_cast<const unsigned char*>(mixture.placed_responsibilities) +
        static_cast<std::size_t>(component_tile) * (mixture.chunk_rows / frame_stage_rows) * responsibilities_bytes;
    for (int section = first_section * section_rows; section < count; section += section_step) {
      const int end = min(section + section_rows, count);
      for (int row = section; row < end; row += frame_stage_rows) {
        if (round > 0) wait(barriers.empty + stage, (round - 1) & 1);
        unsigned char* const to = memory + stage * bytes;
        const auto number = static_cast<std::size_t>(row / frame_stage_rows);
        expect(barriers.full + stage, static_cast<unsigned>(bytes));
        fetch_expected(to, all_rows + number * static_cast<std::size_t>(rows_bytes), static_cast<unsigned>(rows_bytes),
                       barriers.full + stage);
        fetch_expected(to + rows_bytes, responsibilities + number * responsibilities_bytes, responsibilities_bytes,
                       barriers.full + stage);
        if (++stage == stages) stage = 0, ++round;
      }
    }
    return;
  }

  take_registers<232>();
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) % 128 / 32;
  const int g = thread / 4;
  const int t = thread % 4;
  const int all_tiles = frame_tiles(mixture.columns);
  const int first_tile = (role * frame_groups + static_cast<int>(threadIdx.x) / 128) * sums::tiles;
  const int kept_tiles = max(0, min(sums::tiles, all_tiles - first_tile));
  // Where this thread finds its zᵢ and zⱼ in a step of rows: the two halves of the tiles may be of different quads.
  int place_i[2];
  int place_j[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int tile = min(first_tile + half * sums::half_tiles, all_tiles - 1);
    const int quad = tile / 4;
    const int singles = quad - pair_quads(mixture.columns);
    int b = 0;
    while (b + 1 < frame_blocks(mixture.columns) && (b + 1) * (b + 2) / 2 <= quad) ++b;
    const int i = singles >= 0 ? mixture.columns : 16 * (quad - b * (b + 1) / 2) + 4 * (tile % 4) + warp;
    const int j = singles >= 0 ? min(4 * singles + warp, width / 16 - 1) : b;
    place_i[half] = i * frame_step_rows + 4 * t;
    place_j[half] = (16 * j + g) * frame_step_rows + 4 * t;
  }
  const auto is_single = [&](int half) {
    return min(first_tile + half * sums::half_tiles, all_tiles - 1) / 4 >= pair_quads(mixture.columns);
  };
  // From tile to tile zᵢ is four columns on, but for the one of ones.
  const int step_i[2] = {is_single(0) ? 0 : 4 * frame_step_rows, is_single(1) ? 0 : 4 * frame_step_rows};

  sums own;
  own.clear_totals();
  const std::size_t tile_stride = static_cast<std::size_t>(padded_components(mixture.components)) * tile_features;
  double* const kept = mixture.frame_sums +
                       static_cast<std::size_t>(lane) * frame_sums_size(mixture.columns, mixture.components) +
                       static_cast<std::size_t>(first_tile) * tile_stride +
                       static_cast<std::size_t>(component_tile * Components + 2 * t) * tile_features + 16 * warp + g;
  const unsigned long long described = describe(shared_address(memory) + static_cast<unsigned>(rows_bytes), row_stride);
  unsigned high[2][sums::half_tiles][4];
  unsigned low[2][sums::half_tiles][4];
  int before = -1;
  for (int section = first_section * section_rows; section < count; section += section_step) {
    const int end = min(section + section_rows, count);
    int fresh = 1;  // whether the sums begin
    for (int row = section; row < end; row += frame_stage_rows) {
      wait(barriers.full + stage, round & 1);
      const auto* const placed = reinterpret_cast<const __half*>(memory + stage * bytes);
      const unsigned long long operands = advance(described, static_cast<unsigned>(stage * bytes));
#pragma unroll
      for (int step = 0; step < stage_steps; ++step) {
        const __half* const columns = placed + step * terms * width * frame_step_rows;
        const unsigned long long b = advance(operands, static_cast<unsigned>(step * terms * step_bytes));
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          // The products before the last ones have read what is now made again.
          wait_for_products<1>();
          if (step == 0 && half == 1) {
            if (before >= 0) arrive(barriers.empty + before);
            before = stage;
          }
          uint2 zj[2][terms];
#pragma unroll
          for (int term = 0; term < terms; ++term) {
            const __half* const from = columns + term * width * frame_step_rows + place_j[half];
            zj[0][term] = *reinterpret_cast<const uint2*>(from);
            zj[1][term] = *reinterpret_cast<const uint2*>(from + 8 * frame_step_rows);
          }
#pragma unroll
          for (int tile = 0; tile < sums::half_tiles; ++tile) {
            uint2 zi[terms];
#pragma unroll
            for (int term = 0; term < terms; ++term) {
              zi[term] = *reinterpret_cast<const uint2*>(columns + term * width * frame_step_rows + place_i[half] +
                                                         tile * step_i[half]);
            }
#pragma unroll
            for (int which = 0; which < 2; ++which) {
              multiply_pair<Products>(zi[0].x, zi[terms - 1].x, zj[which][0].x, zj[which][terms - 1].x,
                                      high[half][tile][which], low[half][tile][which]);
              multiply_pair<Products>(zi[0].y, zi[terms - 1].y, zj[which][0].y, zj[which][terms - 1].y,
                                      high[half][tile][2 + which], low[half][tile][2 + which]);
            }
          }
          const int keep = fresh == 0 || step > 0 ? 1 : 0;
          begin_products();
          // Of float32 grade the small products come first. Products into one sum wait for each other, so that all
          // tiles take their turns.
#pragma unroll
          for (int product = 3 - Products; product < 3; ++product) {
#pragma unroll
            for (int tile = 0; tile < sums::half_tiles; ++tile) {
              float(&sum)[sums::size] = own.sum[half * sums::half_tiles + tile];
              multiply(sum, product == 0 ? low[half][tile] : high[half][tile],
                       product == 1 ? advance(b, step_bytes) : b, product > 3 - Products ? 1 : keep);
            }
          }
          end_products();
        }
      }
      fresh = 0;
      if (++stage == stages) stage = 0, ++round;
      if constexpr (Products == 3) {
        if ((row - section + frame_stage_rows) % frame_float_rows == 0) {
          wait_for_products<0>();
          own.flush();
          fresh = 1;
        }
      }
    }
    wait_for_products<0>();
    const int exponent = mixture.section_exponents[section / section_rows] - most_exponent;
    own.keep(kept, tile_stride, kept_tiles, scalbn(1.0, exponent));
  }
}

template <int Components, int Products>
__global__ void __launch_bounds__(all_threads, 1)
    moments_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows, int stages) {
  cuda::wait_for_predecessor();
  if constexpr (has_warpgroup_products) {
    if (!works(mixture)) return;
    run<Components, Products>(mixture, rows, stages);
  }
}

int stage_bytes(int columns, int components, int products) {
  const int terms = products == 3 ? 2 : 1;
  return frame_stage_rows * terms * (placed_columns(columns) + frame_components(components)) * 2;
}
int stages_of(const problem& mixture) {
  constexpr int most = (227 << 10) - static_cast<int>(sizeof(stage_barriers));
  return std::min(most_stages, most / stage_bytes(mixture.columns, mixture.components, mixture.products));
}

template <int Components, int Products>
void launch(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const int steps = (rows.count + frame_float_rows - 1) / frame_float_rows * (frame_float_rows / frame_step_rows);
  const int sections = (rows.count + mixture.frame_section_rows - 1) / mixture.frame_section_rows;
  cuda::launch_in_turn(exponents_kernel, sections, place_threads, 0, stream, mixture, rows);
  const auto blocks = [](int count) { return (count + place_threads - 1) / place_threads; };
  cuda::launch_in_turn(place_rows_kernel<Products>, blocks(steps * placed_columns(mixture.columns)), place_threads, 0,
                       stream, mixture, rows, steps);
  cuda::launch_in_turn(place_responsibilities_kernel<Products>, blocks(steps * padded_components(mixture.components)),
                       place_threads, 0, stream, mixture, rows, steps);
  const int stages = stages_of(mixture);
  const int bytes =
      stages * stage_bytes(mixture.columns, mixture.components, Products) + static_cast<int>(sizeof(stage_barriers));
  const dim3 grid(static_cast<unsigned>(frame_roles(mixture.columns, mixture.components, Products)),
                  static_cast<unsigned>(mixture.frame_lanes));
  cuda::launch_in_turn(moments_kernel<Components, Products>, grid, all_threads, bytes, stream, mixture, rows, stages);
}

// The sum of the lanes. Thread: a sum.
__global__ void __launch_bounds__(place_threads) fold_kernel(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (!works(mixture)) return;
  const std::size_t size = frame_sums_size(mixture.columns, mixture.components);
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * place_threads + threadIdx.x;
  double sum = 0;
#pragma unroll 8
  for (int lane = 0; lane < mixture.frame_lanes; ++lane) sum += mixture.frame_sums[lane * size + at];
  mixture.frame_total[at] = sum;
}

}  // namespace

void moments_frame(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  with_compiled_products(mixture.products, [&](auto products) {
    if (frame_components(mixture.components) == 32) return launch<32, products()>(mixture, rows, stream);
    launch<64, products()>(mixture, rows, stream);
  });
}

void fold_frame_lanes(const problem& mixture, cudaStream_t stream) {
  const std::size_t size = frame_sums_size(mixture.columns, mixture.components);
  static_assert(tile_features * 32 % place_threads == 0);
  cuda::launch_in_turn(fold_kernel, static_cast<unsigned>(size / place_threads), place_threads, 0, stream, mixture);
}

}  // namespace shoal::gmm::tensor_matrix
