// Rows of few columns in the frame of their mixture, as operands of products: float16 terms in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/products.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>

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

}  // namespace shoal::gmm::few_columns
