// The kernel for diagonal and spherical mixtures of few columns whose components lie near each other. In a frame that
// all components share,
//   log₂ πₖN(x) = constantₖ + Σⱼ pₖⱼ zⱼ + Σⱼ qₖⱼ zⱼ²,
// a product of components (p, q) with rows (z, z²) on tensor cores; the moments are a product of responsibilities with
// the same rows. A warp has 16 rows and some components: what the first product leaves in a thread's registers is what
// the second one reads there. Numbers are sums of two float16 terms, and of their products the least is left out.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/products.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::few_columns {

/// What is known when a kernel is compiled: Tiles of components to a warp.
template <covariance_type Type, int Columns, int Tiles>
struct product_shape {
  static constexpr covariance_type type = Type;
  static constexpr bool full = Type == covariance_type::full;
  static constexpr bool spherical = Type == covariance_type::spherical;
  static constexpr int columns = Columns;
  static constexpr int tiles = Tiles;
  static constexpr int features = static_cast<int>(product_features(Type, Columns));
  static constexpr int steps = static_cast<int>(product_steps(Type, Columns));
  static constexpr int eights = features / 8;
  /// Sixteens of rows that a warp has at a time. One warp's chain of products, sums over lanes and exponentials leaves
  /// most cycles empty: two of them fill each other's.
  static constexpr int rows = static_cast<int>(rows_of_warp(Type, Columns, Tiles));
  static constexpr int parts = rows / static_cast<int>(product_rows);
  /// float16 numbers of a row in shared memory: eight rows begin in different banks.
  static constexpr int stride = 16 * steps + 8;
  /// Registers decide how many blocks a multiprocessor has.
  static constexpr int blocks = eights * Tiles >= 10 ? 3 : 4;
};

inline constexpr int product_threads = 32 * static_cast<int>(product_warps);
/// Sums of a component in shared memory when a group ends: W, then those of its features, then Σ r ‖z‖² of a spherical
/// one.
constexpr unsigned flushed_width(covariance_type type, unsigned columns) {
  return 1 + product_features(type, columns) + (type == covariance_type::spherical ? 1 : 0);
}
/// Responsibilities are multiplied by this before they are split, so that float16's low terms keep the digits of small
/// ones.
inline constexpr float responsibility_scale = 32768;

/// Where things lie in the dynamic shared memory of a block.
struct product_places {
  unsigned operands = 0;  ///< all that follow in bytes
  unsigned constants, columns, notes, exchange, heads, far, stage, bytes;

  __host__ __device__ product_places(covariance_type type, unsigned columns_of_kernel, unsigned tiles, unsigned share) {
    const unsigned steps = product_steps(type, columns_of_kernel);
    const unsigned block_rows = product_warps * rows_of_warp(type, columns_of_kernel, tiles / share);
    const unsigned staged = block_rows * (16 * steps + 8) * 2 * 2;
    const unsigned flushed =
        product_warps / share * tiles * product_components * flushed_width(type, columns_of_kernel) * 4;
    constants = tiles * steps * 2 * 32 * 16;
    columns = constants + tiles * product_components * 8;
    notes = columns + columns_of_kernel * 16;
    exchange = notes + block_rows * 8;
    heads = exchange + 2 * block_rows * 8;
    far = heads + product_warps * 16;
    stage = far + static_cast<unsigned>(cuda::piece_unit) / product_rows * 2;
    bytes = stage + (staged > flushed ? staged : flushed);
  }
};

__device__ inline void load_matrices(std::uint32_t (&to)[4], const void* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from)))
               : "memory");
}
__device__ inline void load_transposed(std::uint32_t (&to)[4], const void* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from)))
               : "memory");
}
/// product (16 × 8) = a (16 × 16) · b (16 × 8)
__device__ inline void multiply(float (&product)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
      : "=f"(product[0]), "=f"(product[1]), "=f"(product[2]), "=f"(product[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0F));
}

/// What a row's warp notes of it.
struct row_note {
  float common;  ///< what its log-densities have in common; −∞: it is beyond the frame
  float norm;    ///< ‖z‖²
};

/// A thread's half of a row: eight or four columns.
template <class Shape>
struct row_part {
  static constexpr int size = Shape::columns / 2;
  float x[size];

  /// Rows beyond the last one are the first.
  __device__ void load(const float* rows, unsigned columns, unsigned row, unsigned count) {
    const unsigned lane = threadIdx.x % 32;
    row += lane / 2;
    const unsigned first = lane % 2 * size;
    const float* const from = rows + static_cast<std::size_t>(row < count ? row : 0) * columns + first;
    if (columns == Shape::columns) {
#pragma unroll
      for (int i = 0; i < size; i += 4) {
        *reinterpret_cast<float4*>(x + i) = __ldg(reinterpret_cast<const float4*>(from + i));
      }
    } else {
#pragma unroll
      for (int i = 0; i < size; ++i) x[i] = first + i < columns ? __ldg(from + i) : 0.0F;
    }
  }

  /// Leaves the row's features, high terms and low ones, in the warp's part of a stage, and a note.
  __device__ void convert(const product_column* frame, std::uint16_t* high_rows, std::uint16_t* low_rows,
                          row_note* notes) const {
    const unsigned lane = threadIdx.x % 32, row = lane / 2;
    const unsigned first = lane % 2 * size;
    float z[size], squares[size];
    float common = 0, norm = 0;
    bool beyond = false;
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const float4 column = *reinterpret_cast<const float4*>(frame + first + i);
      const float value = fmaf(x[i], column.x, column.y);
      z[i] = tensor::within_range(value);
      beyond = beyond || z[i] != value;
      squares[i] = z[i] * z[i];
      common = fmaf(squares[i], column.z, common);
      norm += squares[i];
    }
    common += __shfl_xor_sync(~0U, common, 1);
    norm += __shfl_xor_sync(~0U, norm, 1);
    beyond = __shfl_xor_sync(~0U, beyond ? 1 : 0, 1) != 0 || beyond;
    if (lane % 2 == 0) notes[row] = {beyond ? -INFINITY : common, norm};
    const auto write = [&](const float(&values)[size], unsigned at) {
      std::uint32_t high[size / 2], low[size / 2];
#pragma unroll
      for (int i = 0; i < size / 2; ++i) tensor::split(values[2 * i], values[2 * i + 1], high[i], low[i]);
      at += row * Shape::stride + first;
      if constexpr (size == 8) {
        *reinterpret_cast<uint4*>(high_rows + at) = make_uint4(high[0], high[1], high[2], high[3]);
        *reinterpret_cast<uint4*>(low_rows + at) = make_uint4(low[0], low[1], low[2], low[3]);
      } else {
        *reinterpret_cast<uint2*>(high_rows + at) = make_uint2(high[0], high[1]);
        *reinterpret_cast<uint2*>(low_rows + at) = make_uint2(low[0], low[1]);
      }
    };
    write(z, 0);
    if constexpr (!Shape::spherical) {
      write(squares, Shape::columns);
    } else if constexpr (Shape::columns == 8) {
      // The other half of a product.
      const float nothing[size] = {};
      write(nothing, 8);
    }
  }
};

/// A row with a full covariance: all its columns, those of odd threads in reverse.
template <class Shape>
requires Shape::full struct row_part<Shape> {
  static constexpr int size = Shape::columns;
  float x[size];

  __device__ void load(const float* rows, unsigned columns, unsigned row, unsigned count) {
    const unsigned lane = threadIdx.x % 32;
    row += lane / 2;
    const float* const from = rows + static_cast<std::size_t>(row < count ? row : 0) * columns;
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const unsigned column = lane % 2 == 0 ? i : size - 1 - i;
      x[i] = column < columns ? __ldg(from + column) : 0.0F;
    }
  }

  __device__ void convert(const product_column* frame, std::uint16_t* high_rows, std::uint16_t* low_rows,
                          row_note* notes) const {
    constexpr int lines = static_cast<int>(half_lines(size));
    constexpr int half = static_cast<int>(half_features(size));
    const unsigned lane = threadIdx.x % 32, row = lane / 2;
    const bool reverse = lane % 2 != 0;
    float z[size];
    float common = 0, curves[size];
    bool beyond = false;
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const float4 column = *reinterpret_cast<const float4*>(frame + (reverse ? size - 1 - i : i));
      const float value = fmaf(x[i], column.x, column.y);
      z[i] = tensor::within_range(value);
      beyond = beyond || z[i] != value;
      curves[i] = column.z;
    }
    float features[half] = {};
    int next = 0;
#pragma unroll
    for (int i = 0; i < lines; ++i) features[next++] = z[i];
#pragma unroll
    for (int i = 0; i < lines; ++i) {
#pragma unroll
      for (int j = i; j < size - i; ++j) {
        const float product = z[i] * z[j];
        // The middle column is the first thread's.
        if (i == j) common = fmaf(product, 2 * i + 1 == size && reverse ? 0.0F : curves[i], common);
        features[next++] = product;
      }
    }
    common += __shfl_xor_sync(~0U, common, 1);
    if (!reverse) notes[row] = {beyond ? -INFINITY : common, 0};
    const unsigned at = row * Shape::stride + (reverse ? half : 0);
#pragma unroll
    for (int first = 0; first < half; first += 8) {
      std::uint32_t high[4], low[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) tensor::split(features[first + 2 * i], features[first + 2 * i + 1], high[i], low[i]);
      *reinterpret_cast<uint4*>(high_rows + at + first) = make_uint4(high[0], high[1], high[2], high[3]);
      *reinterpret_cast<uint4*>(low_rows + at + first) = make_uint4(low[0], low[1], low[2], low[3]);
    }
  }
};

/// The warps that share rows.
struct product_team {
  unsigned share;
  unsigned number;  // of the team
  unsigned rank;    // of the warp

  __device__ explicit product_team(unsigned sharing)
      : share(sharing), number(threadIdx.x / 32 / sharing), rank(threadIdx.x / 32 % sharing) {}
  __device__ void sync() const {
    __syncwarp();
    if (share > 1) asm volatile("bar.sync %0, %1;" ::"r"(1 + number), "r"(32 * share) : "memory");
  }
};

/// A warp's sums over the rows of a group.
template <class Shape>
struct product_sums {
  float moments[Shape::tiles][Shape::eights][4] = {};  ///< [2 half + e]: component 8 half + g, feature 2 t + e
  float weights[Shape::tiles][2] = {};                 ///< of component 8 half + g, by this thread's rows
  float norms[Shape::spherical ? Shape::tiles : 1][2] = {};
  row_sums head;
};

/// Adds a warp's rows to the sums. `notes` are the rows', `operands` and `constants` those of the warp's components.
template <class Shape>
__device__ bool add_rows(const product_team& team, const std::uint16_t* high_rows, const std::uint16_t* low_rows,
                         const row_note* notes, const uint4* operands, const product_constants* constants,
                         float2* exchange, unsigned count, unsigned components, bool heads, std::uint16_t* far_rows,
                         product_sums<Shape>& sums) {
  constexpr int Tiles = Shape::tiles, Parts = Shape::parts, Eights = 2 * Parts, Rows = 4 * Parts;
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  // Scores [tile][n][2 half + e] of component 8 half + g and row 8 n + 2 t + e: the thread's row 2 n + e.
  float scores[Tiles][Eights][4];
  const auto row_place = [&](int row) { return row / 2 * 8 + 2 * t + row % 2; };
  // Of the four matrices that are loaded at once, a lane has the place of one row.
  const unsigned matrix = lane / 8, place = lane % 8;
#pragma unroll
  for (int step = 0; step < Shape::steps; ++step) {
    std::uint32_t high[Parts][4], low[Parts][4];
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const unsigned from = (16 * part + matrix / 2 * 8 + place) * Shape::stride + 16 * step + matrix % 2 * 8;
      load_matrices(high[part], high_rows + from);
      load_matrices(low[part], low_rows + from);
    }
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      const uint4 high_four = operands[(tile * Shape::steps + step) * 64];
      const uint4 low_four = operands[(tile * Shape::steps + step) * 64 + 32];
      const std::uint32_t own_high[4] = {high_four.x, high_four.y, high_four.z, high_four.w};
      const std::uint32_t own_low[4] = {low_four.x, low_four.y, low_four.z, low_four.w};
#pragma unroll
      for (int n = 0; n < Eights; ++n) {
        const std::uint32_t high0 = high[n / 2][n % 2 * 2], high1 = high[n / 2][n % 2 * 2 + 1];
        if (step == 0) {
          multiply(scores[tile][n], own_low, high0, high1);
        } else {
          tensor::multiply_add(scores[tile][n], own_low, high0, high1);
        }
      }
#pragma unroll
      for (int n = 0; n < Eights; ++n) {
        tensor::multiply_add(scores[tile][n], own_high, low[n / 2][n % 2 * 2], low[n / 2][n % 2 * 2 + 1]);
      }
#pragma unroll
      for (int n = 0; n < Eights; ++n) {
        tensor::multiply_add(scores[tile][n], own_high, high[n / 2][n % 2 * 2], high[n / 2][n % 2 * 2 + 1]);
      }
    }
  }

  row_note note[Rows];
#pragma unroll
  for (int n = 0; n < Eights; ++n) {
    const float4 two = *reinterpret_cast<const float4*>(notes + 8 * n + 2 * t);
    note[2 * n] = {two.x, two.y};
    note[2 * n + 1] = {two.z, two.w};
  }
  float best[Rows], sum[Rows] = {};
#pragma unroll
  for (int row = 0; row < Rows; ++row) best[row] = -INFINITY;
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 own = *reinterpret_cast<const float2*>(constants + 16 * tile + 8 * half);
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        float& score = scores[tile][row / 2][2 * half + row % 2];
        score += own.x;
        if constexpr (Shape::spherical) score = fmaf(own.y, note[row].norm, score);
        best[row] = fmaxf(best[row], score);
      }
    }
  }
#pragma unroll
  for (int step = 4; step < 32; step *= 2) {
#pragma unroll
    for (int row = 0; row < Rows; ++row) best[row] = fmaxf(best[row], __shfl_xor_sync(~0U, best[row], step));
  }
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        float& score = scores[tile][row / 2][2 * half + row % 2];
        score = exponential_of_two(score - best[row]);
        sum[row] += score;
      }
    }
  }
#pragma unroll
  for (int step = 4; step < 32; step *= 2) {
#pragma unroll
    for (int row = 0; row < Rows; ++row) sum[row] += __shfl_xor_sync(~0U, sum[row], step);
  }
  float scale[Rows];
#pragma unroll
  for (int row = 0; row < Rows; ++row) scale[row] = 1;
  if (team.share > 1) {
    if (g == 0) {
#pragma unroll
      for (int n = 0; n < Eights; ++n) {
        *reinterpret_cast<float4*>(exchange + team.rank * Shape::rows + 8 * n + 2 * t) =
            make_float4(best[2 * n], sum[2 * n], best[2 * n + 1], sum[2 * n + 1]);
      }
    }
    team.sync();
    float total[Rows] = {}, most[Rows];
#pragma unroll
    for (int row = 0; row < Rows; ++row) most[row] = best[row];
#pragma unroll 1
    for (unsigned other = 0; other < team.share; ++other) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        most[row] = fmaxf(most[row], exchange[other * Shape::rows + row_place(row)].x);
      }
    }
#pragma unroll 1
    for (unsigned other = 0; other < team.share; ++other) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        const float2 its = exchange[other * Shape::rows + row_place(row)];
        total[row] = fmaf(its.y, exponential_of_two(its.x - most[row]), total[row]);
      }
    }
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      scale[row] = exponential_of_two(best[row] - most[row]);
      best[row] = most[row];
      sum[row] = total[row];
    }
  }
  unsigned near = 0, far = 0;  // a bit for each row that is inside: it is not far, or it is
#pragma unroll
  for (int row = 0; row < Rows; ++row) {
    const bool inside = row_place(row) < count;
    const bool beyond = may_be_far(best[row] + note[row].common) || !(sum[row] <= static_cast<float>(components));
    scale[row] = inside && !beyond ? scale[row] * quotient(responsibility_scale, sum[row]) : 0.0F;
    near |= inside && !beyond ? 1U << row : 0U;
    far |= inside && beyond ? 1U << row : 0U;
  }
  const bool any_far = __any_sync(~0U, far != 0);
  if (heads) {
    // Each of the eight threads that have the same rows takes one of them.
    if (near >> g & 1) {
      float density = best[0], common = note[0].common, all = sum[0];
#pragma unroll
      for (int row = 1; row < Rows; ++row) {
        density = g == row ? best[row] : density;
        common = g == row ? note[row].common : common;
        all = g == row ? sum[row] : all;
      }
      sums.head.log_likelihood +=
          (static_cast<double>(density) + static_cast<double>(common)) + static_cast<double>(logarithm_of_two(all));
      sums.head.weight += 1;
    }
    unsigned bits = 0;
    if (any_far) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        const unsigned lanes = __ballot_sync(~0U, (far >> row & 1) != 0 && g == 0);
        for (unsigned other = 0; other < 4; ++other) {
          bits |= (lanes >> other & 1) << (row / 2 * 8 + 2 * other + row % 2);
        }
      }
    }
    if (lane < Parts) far_rows[lane] = static_cast<std::uint16_t>(bits >> 16 * lane);
  }

  std::uint32_t own_high[Parts][Tiles][4], own_low[Parts][Tiles][4];
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
    for (int n = 0; n < Eights; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float first = scores[tile][n][2 * half] * scale[2 * n];
        const float second = scores[tile][n][2 * half + 1] * scale[2 * n + 1];
        sums.weights[tile][half] += first + second;
        if constexpr (Shape::spherical) {
          sums.norms[tile][half] += fmaf(first, note[2 * n].norm, second * note[2 * n + 1].norm);
        }
        tensor::split(first, second, own_high[n / 2][tile][n % 2 * 2 + half], own_low[n / 2][tile][n % 2 * 2 + half]);
      }
    }
  }
#pragma unroll
  for (int eight = 0; eight < Shape::eights; eight += 2) {
    // Rows 0 to 7 and 8 to 15 of one eight of features, then of the next; where there is but one, of that again.
    const int next = Shape::eights > 1 ? matrix / 2 : 0;
    std::uint32_t high[Parts][4], low[Parts][4];
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const unsigned from = (16 * part + matrix % 2 * 8 + place) * Shape::stride + 8 * (eight + next);
      load_transposed(high[part], high_rows + from);
      load_transposed(low[part], low_rows + from);
    }
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
      for (int of = 0; of < (Shape::eights > 1 ? 2 : 1); ++of) {
        float product[4];
        multiply(product, own_low[0][tile], high[0][2 * of], high[0][2 * of + 1]);
#pragma unroll
        for (int part = 0; part < Parts; ++part) {
          if (part > 0) tensor::multiply_add(product, own_low[part][tile], high[part][2 * of], high[part][2 * of + 1]);
          tensor::multiply_add(product, own_high[part][tile], low[part][2 * of], low[part][2 * of + 1]);
        }
#pragma unroll
        for (int part = 0; part < Parts; ++part) {
          tensor::multiply_add(product, own_high[part][tile], high[part][2 * of], high[part][2 * of + 1]);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) sums.moments[tile][eight + of][i] += product[i];
      }
    }
  }
  return any_far;
}

/// Far rows of a group in float64, one after another, all threads on each; `terms` [components] is room to work.
template <class Shape>
__device__ void far_product_rows(const product_arguments& a, const std::uint16_t* far, double* terms, const float* from,
                                 unsigned count, double* lane) {
  const prepared_components<double>& c = a.parameters.in_double;
  const unsigned columns = a.columns, order = columns + 1;
  const unsigned size = Shape::full ? order * (columns + 2) / 2 : 1 + 2 * columns;
  for (unsigned tile = 0; tile * product_rows < count; ++tile) {
    for (unsigned bits = far[tile]; bits != 0; bits &= bits - 1) {
      const unsigned row = tile * product_rows + static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
      const float* const x = from + static_cast<std::size_t>(row) * columns;
      const auto centred = [&](unsigned k, unsigned j) {
        return j < columns ? static_cast<double>(x[j]) - c.centres[k * columns + j] : 1.0;
      };
      for (unsigned k = threadIdx.x; k < a.components; k += product_threads) {
        double norm = 0;
        for (unsigned j = 0; j < columns; ++j) {
          double y = c.offsets[k * columns + j];
          if constexpr (Shape::full) {
            for (unsigned i = 0; i <= j; ++i) y += c.factors[(k * columns + i) * columns + j] * centred(k, i);
          } else {
            y += c.factors[k * columns + j] * centred(k, j);
          }
          norm += y * y;
        }
        terms[k] = c.log_constants[k] - 0.5 * norm;
      }
      __syncthreads();
      double best = -INFINITY;
      for (unsigned k = 0; k < a.components; ++k) best = fmax(best, terms[k]);
      double sum = 0;
      for (unsigned k = 0; k < a.components; ++k) sum += exp(terms[k] - best);
      for (unsigned k = threadIdx.x; k < a.components; k += product_threads) {
        const double share = exp(terms[k] - best) / sum;
        double* to = lane + head_size + std::size_t{k} * size;
        if constexpr (Shape::full) {
          for (unsigned i = 0; i < order; ++i) {
            for (unsigned j = i; j < order; ++j) *to++ += share * centred(k, i) * centred(k, j);
          }
          continue;
        }
        to[0] += share;
        double norm = 0;
        for (unsigned j = 0; j < columns; ++j) {
          const double z = centred(k, j);
          to[1 + j] += share * z;
          norm += z * z;
          if (!Shape::spherical) to[1 + columns + j] += share * z * z;
        }
        if (Shape::spherical) to[1 + columns] += share * norm;
      }
      if (threadIdx.x == 0) {
        lane[log_likelihood_place] += best + log(sum) + *c.log_shift;
        lane[total_weight_place] += 1;
        lane[far_rows_place] += 1;
      }
      __syncthreads();
    }
  }
}

/// A group's sums, from the warps' registers through shared memory to the lane, in float64 and about the components'
/// centres.
template <class Shape>
__device__ void flush_products(const product_arguments& a, const product_team& team, const product_sums<Shape>& sums,
                               const product_column* frame, float* buffer, row_sums* heads, double* lane) {
  constexpr unsigned width = flushed_width(Shape::type, Shape::columns);
  const unsigned lane_number = threadIdx.x % 32, g = lane_number / 4, t = lane_number % 4;
  const unsigned padded = a.tiles * product_components, teams = product_warps / a.share;
  row_sums head = sums.head;
  head.log_likelihood = cuda::warp_sum(head.log_likelihood);
  head.weight = cuda::warp_sum(head.weight);
  __syncthreads();  // the stages, in whose place the buffer lies, have been read
  if (lane_number == 0) heads[threadIdx.x / 32] = head;
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const unsigned k = (team.rank * Shape::tiles + tile) * product_components + 8 * half + g;
      float* const to = buffer + (team.number * padded + k) * width;
      float weight = sums.weights[tile][half];
      weight += __shfl_xor_sync(~0U, weight, 1);
      weight += __shfl_xor_sync(~0U, weight, 2);
      if (t == 0) to[0] = weight;
      if constexpr (Shape::spherical) {
        float norm = sums.norms[tile][half];
        norm += __shfl_xor_sync(~0U, norm, 1);
        norm += __shfl_xor_sync(~0U, norm, 2);
        if (t == 0) to[1 + Shape::features] = norm;
      }
#pragma unroll
      for (int eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (int e = 0; e < 2; ++e) to[1 + 8 * eight + 2 * t + e] = sums.moments[tile][eight][2 * half + e];
      }
    }
  }
  __syncthreads();
  constexpr double back = 1.0 / responsibility_scale;
  const unsigned columns = a.columns, size = 1 + 2 * columns;
  const auto total = [&](unsigned k, unsigned sum) {
    double all = 0;
    for (unsigned other = 0; other < teams; ++other) {
      all += static_cast<double>(buffer[(other * padded + k) * width + sum]);
    }
    return back * all;
  };
  const auto unit_of = [&](unsigned j) { return static_cast<double>(frame[j].unit); };
  const auto moved_by = [&](unsigned k, unsigned j) {
    return -static_cast<double>(frame[j].shift) * unit_of(j) - a.parameters.in_double.centres[k * columns + j];
  };
  if constexpr (Shape::full) {
    const unsigned triangle = (columns + 1) * (columns + 2) / 2;
    for (unsigned e = threadIdx.x; e < a.components * triangle; e += product_threads) {
      const unsigned k = e / triangle;
      unsigned i = 0, j = 0;
      triangle_element(columns + 1, e % triangle, i, j);
      const double weight = total(k, 0);
      const auto first = [&](unsigned column) {
        return unit_of(column) * total(k, 1 + line_feature(Shape::columns, column));
      };
      double& to = lane[head_size + e];
      if (i == columns) {
        to += weight;
      } else if (j == columns) {
        to += first(i) + weight * moved_by(k, i);
      } else {
        const double moved_i = moved_by(k, i), moved_j = moved_by(k, j);
        to += unit_of(i) * unit_of(j) * total(k, 1 + pair_feature(Shape::columns, i, j)) + moved_j * first(i) +
              moved_i * first(j) + weight * moved_i * moved_j;
      }
    }
  } else {
    for (unsigned e = threadIdx.x; e < a.components * columns; e += product_threads) {
      const unsigned k = e / columns, j = e % columns;
      double* const to = lane + head_size + std::size_t{k} * size;
      const double weight = total(k, 0), unit = unit_of(j), moved = moved_by(k, j);
      const double first = unit * total(k, 1 + j);
      to[1 + j] += first + weight * moved;
      if constexpr (!Shape::spherical) {
        to[1 + columns + j] +=
            unit * unit * total(k, 1 + Shape::columns + j) + 2 * moved * first + weight * moved * moved;
      }
      if (j == 0) to[0] += weight;
    }
  }
  if constexpr (Shape::spherical) {
    for (unsigned k = threadIdx.x; k < a.components; k += product_threads) {
      const double weight = total(k, 0), unit = unit_of(0);
      double trace = unit * unit * total(k, 1 + Shape::features);
      for (unsigned j = 0; j < columns; ++j) {
        const double moved = moved_by(k, j);
        trace += 2 * moved * unit * total(k, 1 + j) + weight * moved * moved;
      }
      lane[head_size + std::size_t{k} * size + 1 + columns] += trace;
    }
  }
  if (threadIdx.x == 0) {
    row_sums all;
    for (unsigned warp = 0; warp < product_warps; ++warp) {
      all.log_likelihood += heads[warp].log_likelihood;
      all.weight += heads[warp].weight;
    }
    lane[log_likelihood_place] += ln_2 * all.log_likelihood + all.weight * *a.parameters.packed.log_shift;
    lane[total_weight_place] += all.weight;
  }
  __syncthreads();
}

/// Adds the groups of a piece that belong to the block's lane.
template <class Shape>
__global__ void __launch_bounds__(product_threads, Shape::blocks)
    accumulate_by_products(const __grid_constant__ product_arguments a) {
  extern __shared__ __align__(16) unsigned char memory[];
  cuda::wait_for_predecessor();
  if (*a.parameters.stopped != 0) return;
  const product_places places(Shape::type, Shape::columns, a.tiles, a.share);
  auto* const all_operands = reinterpret_cast<uint4*>(memory);
  auto* const all_constants = reinterpret_cast<product_constants*>(memory + places.constants);
  auto* const frame = reinterpret_cast<product_column*>(memory + places.columns);
  auto* const all_notes = reinterpret_cast<row_note*>(memory + places.notes);
  auto* const all_exchanges = reinterpret_cast<float2*>(memory + places.exchange);
  auto* const heads = reinterpret_cast<row_sums*>(memory + places.heads);
  auto* const far = reinterpret_cast<std::uint16_t*>(memory + places.far);
  auto* const stage = reinterpret_cast<std::uint16_t*>(memory + places.stage);
  auto* const buffer = reinterpret_cast<float*>(memory + places.stage);
  double* const lane = a.lanes + (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * a.statistics;
  for (unsigned i = threadIdx.x; i < a.tiles * Shape::steps * 64; i += product_threads) {
    all_operands[i] = reinterpret_cast<const uint4*>(a.mixture.operands)[i];
  }
  for (unsigned i = threadIdx.x; i < a.tiles * product_components; i += product_threads) {
    all_constants[i] = a.mixture.constants[i];
  }
  if (threadIdx.x < Shape::columns) frame[threadIdx.x] = a.mixture.columns[threadIdx.x];
  if (a.fresh) {
    for (unsigned i = threadIdx.x; i < a.statistics; i += product_threads) lane[i] = 0;
  }
  __syncthreads();

  const product_team team(a.share);
  const unsigned warp = threadIdx.x / 32, lane_number = threadIdx.x % 32;
  constexpr unsigned own_size = Shape::rows * Shape::stride;
  const auto high_rows = [&](unsigned of) { return stage + of * (2 * own_size); };
  const uint4* const operands = all_operands + team.rank * Shape::tiles * Shape::steps * 64 + lane_number;
  const product_constants* const constants =
      all_constants + team.rank * Shape::tiles * product_components + lane_number / 4;
  constexpr unsigned warp_rows = Shape::rows, block_rows = warp_rows * product_warps;
  const unsigned stage_rows = warp_rows * a.share;
  unsigned turn = 0;

  const std::size_t lanes = gridDim.x;
  const std::size_t first_group = a.first_unit * a.unit_groups;
  const std::size_t units = (a.count + cuda::piece_unit - 1) / cuda::piece_unit;
  const std::size_t shard = blockIdx.y * a.shard_units;
  const std::size_t past = min(units, shard + a.shard_units) * a.unit_groups;
  for (std::size_t group = shard * a.unit_groups + (blockIdx.x + lanes - first_group % lanes) % lanes; group < past;
       group += lanes) {
    const std::size_t unit = group / a.unit_groups * cuda::piece_unit;
    const std::size_t begin = unit + group % a.unit_groups * a.group_rows;
    const std::size_t end = min(min(begin + a.group_rows, unit + cuda::piece_unit), a.count);
    if (begin >= end) continue;
    const float* const rows = a.rows + begin * a.columns;
    const auto count = static_cast<unsigned>(end - begin);
    product_sums<Shape> sums;
    bool any_far = false;
    unsigned first = team.number * stage_rows;
    row_part<Shape> part[Shape::parts];
    const auto load = [&](unsigned from) {
#pragma unroll
      for (int i = 0; i < Shape::parts; ++i) {
        part[i].load(rows, a.columns, from + team.rank * warp_rows + i * product_rows, count);
      }
    };
    load(first);
    while (first < count) {
#pragma unroll
      for (int i = 0; i < Shape::parts; ++i) {
        std::uint16_t* const high = high_rows(warp) + i * product_rows * Shape::stride;
        part[i].convert(frame, high, high + own_size, all_notes + warp * warp_rows + i * product_rows);
      }
      team.sync();
      load(first + block_rows);
      for (unsigned tile = 0; tile < a.share && first + tile * warp_rows < count; ++tile, ++turn) {
        const unsigned of = team.number * a.share + tile, row = first + tile * warp_rows;
        const bool found =
            add_rows<Shape>(team, high_rows(of), high_rows(of) + own_size, all_notes + of * warp_rows, operands,
                            constants, all_exchanges + (turn % 2 * product_warps + team.number * a.share) * warp_rows,
                            count - row, a.components, tile == team.rank, far + row / product_rows, sums);
        any_far = any_far || found;
      }
      team.sync();
      first += block_rows;
    }
    any_far = __syncthreads_or(any_far) != 0;
    flush_products<Shape>(a, team, sums, frame, buffer, heads, lane);
    if (any_far) {
      far_product_rows<Shape>(a, far, reinterpret_cast<double*>(buffer), rows, count, lane);
    }
  }
}

template <covariance_type Type, int Columns, int Tiles = 1>
product_kernel find_product_kernel_of(unsigned tiles) {
  if constexpr (Tiles < static_cast<int>(most_tiles_of_warp(Type, Columns))) {
    if (tiles > Tiles) return find_product_kernel_of<Type, Columns, Tiles + 1>(tiles);
  }
  using Shape = product_shape<Type, Columns, Tiles>;
  return {reinterpret_cast<const void*>(&accumulate_by_products<Shape>), Shape::blocks};
}

}  // namespace shoal::gmm::few_columns
