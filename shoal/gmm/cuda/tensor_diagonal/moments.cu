// The maximisation's sums of diagonal and spherical mixtures of many columns: Σ r z and Σ r z² in the frame, products
// of responsibilities with rows on tensor cores. Responsibilities become operands in registers, from the terms that the
// expectation step left, beside the rows, transposed and split.
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/gmm/cuda/tensor/groups.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>

namespace shoal::gmm::tensor_diagonal {
namespace {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

constexpr int groups = 2;  // of four warps, 64 components each
constexpr int threads = 128 * groups;
constexpr int all_threads = threads + 128;  // and those that fetch, of whom registers are taken
[[maybe_unused]] constexpr int block_steps = block_rows / step_size;
constexpr int most_stages = 6;

// Responsibilities are multiplied by this power of two beside that of the greatest weight of 128 rows, so that float16
// holds those of 2⁻³⁸ and more of it; less counts as nothing. With one more a weight next to the next power of two
// would be rounded out of its range.
[[maybe_unused]] constexpr float most_exponent = 14;
[[maybe_unused]] constexpr float least_responsibility = 0x1p-24F;

struct stage_barriers {
  unsigned long long full[most_stages];
  unsigned long long empty[most_stages];
};

// A stage: the terms of a tile of components and 64 rows, what makes them responsibilities (shifts, and what half_terms
// are beside), ‖z‖², and the rows.
constexpr int terms_bytes(int products) { return tile_components * block_rows * (products == 3 ? 4 : 2); }
constexpr int row_bytes = block_rows * static_cast<int>(sizeof(float));
constexpr int row_facts = 3;
constexpr int operands_bytes(int width, int products) { return block_rows * width * 2 * split_terms(products); }
constexpr int stage_bytes(int width, int products, bool spherical) {
  return moment_features(products, spherical) * operands_bytes(width, products) + terms_bytes(products) +
         row_facts * row_bytes;
}
constexpr int stages_of(int width, int products, bool spherical) {
  const int some = ((226 << 10) - static_cast<int>(sizeof(stage_barriers))) / stage_bytes(width, products, spherical);
  return some < most_stages ? some : most_stages;
}

// One group's sums of 64 components, this thread's part: columns 8 i + 2 t, + 1 of components g and g + 8.
template <int Width, bool Spherical, int Products>
struct component_sums {
  static constexpr int size = Width / 2;
  static constexpr int features = moment_features(Products, Spherical);
  // Two features' sums leave no registers for totals: tensor cores go on for a section.
  static constexpr bool has_totals = features == 1;

  const problem& mixture;
  int component;  // g, in the tile
  int t;
  bool sums_weights;  // only those who do the first feature
  float sum[features][size];
  float total[has_totals ? size : 1];
  float weight[2] = {0, 0};
  float norm[2] = {0, 0};
  float weight_total[2] = {0, 0};
  float norm_total[2] = {0, 0};

  __device__ component_sums(const problem& mixture_, int component_, int t_, bool sums_weights_)
      : mixture(mixture_), component(component_), t(t_), sums_weights(sums_weights_) {
    clear_totals();
  }

  __device__ void clear_totals() {
    if constexpr (has_totals) {
#pragma unroll
      for (int i = 0; i < size; ++i) total[i] = 0;
    }
    weight_total[0] = weight_total[1] = norm_total[0] = norm_total[1] = 0;
  }

  // What responsibilities are made of: the thread's four rows of a step, and components g and g + 8.
  struct step_terms {
    float4 shifts;
    float4 greatest;  // with half_terms
    std::conditional_t<Products == 3, float4, uint2> terms[2];
    float4 norms;
  };
  // `stage` begins with the terms; `step` is of 16 rows.
  __device__ step_terms load(const unsigned char* stage, int step) const {
    const float* const facts = reinterpret_cast<const float*>(stage + terms_bytes(Products));
    const int row = step_size * step + 4 * t;
    step_terms loaded;
    loaded.shifts = *reinterpret_cast<const float4*>(facts + row);
    if constexpr (Products != 3) loaded.greatest = *reinterpret_cast<const float4*>(facts + block_rows + row);
    if constexpr (Spherical) loaded.norms = *reinterpret_cast<const float4*>(facts + 2 * block_rows + row);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if constexpr (Products == 3) {
        loaded.terms[i] = *reinterpret_cast<const float4*>(reinterpret_cast<const float*>(stage) +
                                                           term_place(1, component + 8 * i, row));
      } else {
        loaded.terms[i] = *reinterpret_cast<const uint2*>(reinterpret_cast<const std::uint16_t*>(stage) +
                                                          half_term_place(1, component + 8 * i, row));
      }
    }
    return loaded;
  }

  // Responsibilities as an operand: components g, g + 8; of the thread's four rows the first two, then the others.
  __device__ void make(const step_terms& loaded, float exponent, unsigned (&high)[4], unsigned (&low)[4]) {
    const float4 four = loaded.shifts;
    const float shift[4] = {four.x - exponent, four.y - exponent, four.z - exponent, four.w - exponent};
    if constexpr (Products == 3) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float4 own = loaded.terms[i];
        const float term[4] = {own.x, own.y, own.z, own.w};
        float r[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) r[j] = power_of_two(term[j] - shift[j]);
#pragma unroll
        for (int j = 0; j < 4; ++j) r[j] = r[j] >= least_responsibility ? r[j] : 0.0F;
        add(r, loaded.norms, i);
#pragma unroll
        for (int j = 0; j < 2; ++j) tensor::split(r[2 * j], r[2 * j + 1], high[2 * j + i], low[2 * j + i]);
      }
    } else {
      // Factors may be below float16's normal numbers. What is summed is what is multiplied by the rows.
      const float greatest[4] = {loaded.greatest.x, loaded.greatest.y, loaded.greatest.z, loaded.greatest.w};
      float factor[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) factor[j] = power_of_two(greatest[j] - half_term_exponent - shift[j]);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned terms[2] = {loaded.terms[i].x, loaded.terms[i].y};
        __half2 products[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const float2 two = __half22float2(*reinterpret_cast<const __half2*>(terms + j));
          products[j] = __floats2half2_rn(two.x * factor[2 * j], two.y * factor[2 * j + 1]);
          high[2 * j + i] = tensor::bits_of(products[j]);
        }
        if (sums_weights) {
          const float2 near = __half22float2(products[0]), next = __half22float2(products[1]);
          add({near.x, near.y, next.x, next.y}, loaded.norms, i);
        }
      }
    }
  }

  __device__ void add(const float (&r)[4], const float4& norms, int i) {
    weight[i] += (r[0] + r[1]) + (r[2] + r[3]);
    if constexpr (Spherical) {
      norm[i] = fmaf(r[0], norms.x, fmaf(r[1], norms.y, fmaf(r[2], norms.z, fmaf(r[3], norms.w, norm[i]))));
    }
  }

  // From the tensor cores' sums of 128 rows on; `back` takes their scale out.
  __device__ void flush(float back) {
    if constexpr (has_totals) {
#pragma unroll
      for (int i = 0; i < size; ++i) total[i] = fmaf(sum[0][i], back, total[i]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      weight_total[i] = fmaf(weight[i], back, weight_total[i]);
      norm_total[i] = fmaf(norm[i], back, norm_total[i]);
      weight[i] = norm[i] = 0;
    }
  }

  __device__ static float quad_sum(float value) {
    value += __shfl_xor_sync(~0U, value, 1);
    return value + __shfl_xor_sync(~0U, value, 2);
  }

  // On to float64. `to` is component g's sums, `back` as before.
  __device__ void keep(double* to, int first_feature, float back) {
    const int stride = sums_size(mixture.features, Width);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double* const own = to + 8 * half * stride;
#pragma unroll
      for (int feature = 0; feature < features; ++feature) {
#pragma unroll
        for (int i = 0; i < Width / 8; ++i) {
          double2* const at = reinterpret_cast<double2*>(own + (first_feature + feature) * Width + 8 * i + 2 * t);
          const int e = 4 * i + 2 * half;
          double2 two = *at;
          two.x += static_cast<double>(has_totals ? total[has_totals ? e : 0] : sum[feature][e] * back);
          two.y += static_cast<double>(has_totals ? total[has_totals ? e + 1 : 0] : sum[feature][e + 1] * back);
          *at = two;
        }
      }
      const float weights = quad_sum(weight_total[half]);
      const float norms = quad_sum(norm_total[half]);
      if (sums_weights && t == 0) {
        own[mixture.features * Width] += static_cast<double>(weights);
        own[mixture.features * Width + 1] += static_cast<double>(norms);
      }
    }
    clear_totals();
  }
};

// The exponent of a section's greatest weight.
__device__ int section_exponent(const problem& mixture, int begin, int end) {
  int greatest = INT_MIN;
  for (int tile = begin / tile_rows + static_cast<int>(threadIdx.x) % 32; tile * tile_rows < end; tile += 32) {
    greatest = max(greatest, mixture.exponents[tile]);
  }
  return __reduce_max_sync(~0U, greatest);
}

template <int Width, bool Spherical, int Products>
__device__ void run(const problem& mixture, const chunk& rows) {
  extern __shared__ __align__(1024) unsigned char memory[];
  constexpr int terms = split_terms(Products);
  constexpr int features = moment_features(Products, Spherical);
  constexpr int stages = stages_of(Width, Products, Spherical);
  constexpr int bytes = stage_bytes(Width, Products, Spherical);
  constexpr int rows_bytes = operands_bytes(Width, Products);
  constexpr int operand_bytes = Width * step_size * 2;
  stage_barriers& barriers = *reinterpret_cast<stage_barriers*>(memory + stages * bytes);
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      make_barrier(barriers.full + s, 1);
      make_barrier(barriers.empty + s, threads);
    }
    publish_barriers();
  }
  __syncthreads();
  const int tile = static_cast<int>(blockIdx.x);
  const int feature = static_cast<int>(blockIdx.y) * features;
  const int lane = static_cast<int>(blockIdx.z);
  const int section_rows = mixture.section_rows;
  // Whole tiles of rows; the last one is filled up with rows that nobody is responsible for.
  const int count = (rows.count + tile_rows - 1) / tile_rows * tile_rows;
  const auto passed = static_cast<int>(rows.share_first / static_cast<std::size_t>(section_rows) %
                                       static_cast<std::size_t>(mixture.lanes));
  const int first_section = lane >= passed ? lane - passed : lane - passed + mixture.lanes;
  const int step = mixture.lanes * section_rows;
  int stage = 0;
  unsigned round = 0;

  if (threadIdx.x >= threads) {
    give_registers<40>();
    if (threadIdx.x != threads) return;
    const auto* const all = reinterpret_cast<const unsigned char*>(mixture.columns_by_rows) +
                            static_cast<std::size_t>(feature) * (mixture.chunk_rows / block_rows) * rows_bytes;
    for (int section = first_section * section_rows; section < count; section += step) {
      const int end = min(section + section_rows, count);
      for (int row = section; row < end; row += block_rows) {
        if (round > 0) wait(barriers.empty + stage, (round - 1) & 1);
        unsigned char* const to = memory + stage * bytes;
        unsigned long long* const full = barriers.full + stage;
        constexpr int facts = 1 + (Products == 3 ? 0 : 1) + (Spherical ? 1 : 0);
        expect(full, bytes - (row_facts - facts) * row_bytes);
        unsigned char* const to_facts = to + terms_bytes(Products);
        const void* terms_from;
        if constexpr (Products == 3) {
          terms_from = mixture.terms + term_place(mixture.tiles, tile * tile_components, row);
        } else {
          terms_from = mixture.half_terms + half_term_place(mixture.tiles, tile * tile_components, row);
          fetch_expected(to_facts + row_bytes,
                         mixture.tile_greatest + static_cast<std::size_t>(tile) * mixture.chunk_rows + row, row_bytes,
                         full);
        }
        fetch_expected(to_facts, mixture.shifts + row, row_bytes, full);
        if constexpr (Spherical) fetch_expected(to_facts + 2 * row_bytes, mixture.norms + row, row_bytes, full);
        const unsigned char* const rows_from = all + static_cast<std::size_t>(row / block_rows) * rows_bytes;
        fetch_expected(to, terms_from, terms_bytes(Products), full);
        for (int f = 0; f < features; ++f) {
          fetch_expected(to_facts + row_facts * row_bytes + f * rows_bytes,
                         rows_from + static_cast<std::size_t>(f) * (mixture.chunk_rows / block_rows) * rows_bytes,
                         rows_bytes, full);
        }
        if (++stage == stages) stage = 0, ++round;
      }
    }
    return;
  }

  take_registers<232>();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int g = static_cast<int>(threadIdx.x) % 32 / 4;
  const int component = 16 * warp + g;
  component_sums<Width, Spherical, Products> own(mixture, component, static_cast<int>(threadIdx.x) % 4, feature == 0);
  double* const kept = mixture.sums + (static_cast<std::size_t>(lane) * mixture.tiles * tile_components +
                                       static_cast<std::size_t>(tile * tile_components + component)) *
                                          sums_size(mixture.features, Width);
  const unsigned long long described =
      describe(shared_address(memory) + terms_bytes(Products) + row_facts * row_bytes, row_stride);
  for (int section = first_section * section_rows; section < count; section += step) {
    const int end = min(section + section_rows, count);
    unsigned high[block_steps][4];
    unsigned low[block_steps][4];
    int exponent = features == 2 ? section_exponent(mixture, section, end) : 0;
    for (int row = section; row < end; row += tile_rows) {
      if constexpr (features == 1) exponent = mixture.exponents[row / tile_rows];
      const float scale = most_exponent - static_cast<float>(exponent);
      int before = 0;
#pragma unroll
      for (int block = 0; block < tile_rows / block_rows; ++block) {
        wait(barriers.full + stage, round & 1);
        const unsigned long long operands = advance(described, static_cast<unsigned>(stage * bytes));
        auto loaded = own.load(memory + stage * bytes, 0);
#pragma unroll
        for (int s = 0; s < block_steps; ++s) {
          // The products of a block ago read what is now made again.
          wait_for_products<block_steps - 1>();
          if (block > 0 && s == block_steps - 1) arrive(barriers.empty + before);
          own.make(loaded, scale, high[s], low[s]);
          // Read beside the products.
          if (s + 1 < block_steps) loaded = own.load(memory + stage * bytes, s + 1);
          begin_products();
          const unsigned long long b = advance(operands, static_cast<unsigned>(s * terms * operand_bytes));
          const int keep = block + s > 0 || (features == 2 && row > section) ? 1 : 0;
          if constexpr (Products == 3) {
            multiply(own.sum[0], low[s], b, keep);
            multiply(own.sum[0], high[s], advance(b, operand_bytes), 1);
            multiply(own.sum[0], high[s], b, 1);
          } else {
#pragma unroll
            for (int f = 0; f < features; ++f) {
              multiply(own.sum[f], high[s], advance(b, static_cast<unsigned>(f * rows_bytes)), keep);
            }
          }
          end_products();
        }
        before = stage;
        if (++stage == stages) stage = 0, ++round;
      }
      wait_for_products<0>();
      arrive(barriers.empty + before);
      own.flush(scalbnf(1.0F, exponent - static_cast<int>(most_exponent)));
    }
    own.keep(kept, feature, scalbnf(1.0F, exponent - static_cast<int>(most_exponent)));
  }
}

template <int Width, bool Spherical, int Products>
__global__ void __launch_bounds__(all_threads, 1)
    moments_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  if constexpr (has_warpgroup_products) {
    wait_for_predecessor();
    if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) ||
        arrangement_of(mixture) != common_frame)
      return;
    run<Width, Spherical, Products>(mixture, rows);
  }
}

template <int Width, bool Spherical, int Products>
void launch(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  constexpr int bytes = stages_of(Width, Products, Spherical) * stage_bytes(Width, Products, Spherical) +
                        static_cast<int>(sizeof(stage_barriers));
  const dim3 grid(static_cast<unsigned>(mixture.tiles),
                  static_cast<unsigned>(mixture.features / moment_features(Products, Spherical)),
                  static_cast<unsigned>(mixture.lanes));
  cuda::launch_in_turn(moments_kernel<Width, Spherical, Products>, grid, all_threads, bytes, stream, mixture, rows);
}

template <int Width>
void launch_width(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  with_compiled_products(mixture.products, [&](auto products) {
    if (mixture.spherical) return launch<Width, true, products()>(mixture, rows, stream);
    launch<Width, false, products()>(mixture, rows, stream);
  });
}

}  // namespace

void moments(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  if (mixture.width == 64) return launch_width<64>(mixture, rows, stream);
  launch_width<128>(mixture, rows, stream);
}

}  // namespace shoal::gmm::tensor_diagonal
