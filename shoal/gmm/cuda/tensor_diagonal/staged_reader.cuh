// Tiles of rows as features in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged_shape.cuh>

namespace shoal::gmm::tensor_diagonal {

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

/// A thread's part of the tiles of a block: the same eight columns of some rows.
template <class Shape>
struct staged_reader {
  const staged_arguments& a;
  staged_notes<Shape>& notes;
  frame_octet frame;
  float x[Shape::passes][8];
  bool copied;  // the tile that is read, into shared memory
  unsigned copies;

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
};

}  // namespace shoal::gmm::tensor_diagonal
