// Features of rows, made in the registers of the four threads that share one.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/gmm/cuda/few_columns/warp_products.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>

namespace shoal::gmm::few_columns {

/// A thread's own columns of a row.
template <class Shape>
struct own_columns {
  static constexpr unsigned size = Shape::circle.thread_columns();
  float x[size] = {};

  /// `from` is the thread's first column in some row; `row` further on.
  __device__ void load(const float* from, unsigned row) {
    from += row * Shape::columns;
    if constexpr (size == 4 && Shape::columns == 16) {
      const float4 four = __ldg(reinterpret_cast<const float4*>(from));
      x[0] = four.x;
      x[1] = four.y;
      x[2] = four.z;
      x[3] = four.w;
    } else {
#pragma unroll
      for (unsigned i = 0; i < size; ++i) {
        if (size * (threadIdx.x % 4) + i < Shape::columns) x[i] = __ldg(from + i);
      }
    }
  }
};

/// A row's columns from a thread's own ones on, as far as its features are made of them, in the frame: sums of float16
/// terms, of columns 2 i and 2 i + 1.
template <class Shape>
struct row_circle {
  static constexpr unsigned own = Shape::circle.thread_columns(), size = (3 * own + 1) / 2;
  std::uint32_t high[size], low[size];

  /// `frame` is what the thread's columns are moved by.
  __device__ row_circle(const own_columns<Shape>& row, const float2* frame) {
    float z[own];
#pragma unroll
    for (unsigned i = 0; i < own; ++i) z[i] = fmaf(row.x[i], frame[i].x, frame[i].y);
    const unsigned lane = threadIdx.x % 32;
    const auto of_thread = [&](std::uint32_t word, unsigned further) {
      return __shfl_sync(~0U, word, (lane & ~3U) | ((lane + further) & 3U));
    };
    tensor::split(z[0], z[1], high[0], low[0]);
    if constexpr (own % 2 == 0) {
      constexpr unsigned words = own / 2;
      if constexpr (words == 2) tensor::split(z[2], z[3], high[1], low[1]);
#pragma unroll
      for (unsigned further = 1; further < 3; ++further) {
#pragma unroll
        for (unsigned i = 0; i < words; ++i) {
          high[words * further + i] = of_thread(high[i], further);
          if constexpr (Shape::terms == 2) low[words * further + i] = of_thread(low[i], further);
        }
      }
    } else {
      // Both terms of the third column in one word.
      std::uint32_t last, rest;
      tensor::split(z[2], 0.0F, last, rest);
      last = __byte_perm(last, rest, 0x5410);
      const std::uint32_t first_high = of_thread(high[0], 1), first_last = of_thread(last, 1);
      const std::uint32_t second_high = of_thread(high[0], 2), second_last = of_thread(last, 2);
      high[1] = __byte_perm(last, first_high, 0x5410);
      high[2] = __byte_perm(first_high, first_last, 0x5432);
      high[3] = second_high;
      high[4] = second_last;
      if constexpr (Shape::terms == 2) {
        const std::uint32_t first_low = of_thread(low[0], 1), second_low = of_thread(low[0], 2);
        low[1] = __byte_perm(last, first_low, 0x5432);
        low[2] = __byte_perm(first_low, first_last, 0x7632);
        low[3] = second_low;
        low[4] = second_last >> 16;
      }
    }
  }

  /// Columns I and J.
  template <unsigned I, unsigned J>
  static __device__ std::uint32_t two(const std::uint32_t (&words)[size]) {
    if constexpr (I % 2 == 0 && J == I + 1) {
      return words[I / 2];
    } else {
      return __byte_perm(words[I / 2], words[J / 2], (I % 2 == 0 ? 0x10 : 0x32) + (J % 2 == 0 ? 0x5400 : 0x7600));
    }
  }

  /// Two features, in float16 throughout: a product of high terms leaves a remainder that float16 holds, and the other
  /// terms are as small. What the least is of counts twice: it stands for 1.
  template <unsigned Slot>
  __device__ void features(bool counts_twice, std::uint32_t& to_high, std::uint32_t& to_low) const {
    constexpr std::uint32_t one = 0x3C003C00;
    // 0: a column, else 1 + how far two are apart.
    constexpr unsigned kind = Slot / own, next_kind = (Slot + 1) / own, i = Slot % own, j = (Slot + 1) % own;
    if constexpr (next_kind == 0) {
      to_high = two<i, j>(high);
      if constexpr (Shape::terms == 2) to_low = two<i, j>(low);
    } else {
      const auto pair = [](std::uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); };
      std::uint32_t other_high, other_low = 0;
      if constexpr (kind == 0) {
        // A column times 1 beside a product.
        constexpr unsigned selector = (j + next_kind - 1) % 2 == 0 ? 0x5410 : 0x7610;
        other_high = __byte_perm(one, high[(j + next_kind - 1) / 2], selector);
        if constexpr (Shape::terms == 2) other_low = __byte_perm(0, low[(j + next_kind - 1) / 2], selector);
      } else {
        other_high = two<i + kind - 1, j + next_kind - 1>(high);
        if constexpr (Shape::terms == 2) other_low = two<i + kind - 1, j + next_kind - 1>(low);
      }
      const __half2 own_high = pair(two<i, j>(high)), product = __hmul2(own_high, pair(other_high));
      constexpr unsigned last = 1 + Shape::circle.columns / 2;
      constexpr std::uint32_t mask = (kind == last ? 0xFFFFU : 0U) | (next_kind == last ? 0xFFFF0000U : 0U);
      to_high = tensor::bits_of(product);
      if (mask != 0 && counts_twice) to_high = (to_high & ~mask) | (one & mask);
      if constexpr (Shape::terms == 2) {
        __half2 rest = __hfma2(own_high, pair(other_high), __hneg2(product));
        rest = __hfma2(own_high, pair(other_low), rest);
        rest = __hfma2(pair(two<i, j>(low)), pair(other_high), rest);
        to_low = tensor::bits_of(rest);
        if (mask != 0 && counts_twice) to_low &= ~mask;
      }
    }
  }
};

}  // namespace shoal::gmm::few_columns
