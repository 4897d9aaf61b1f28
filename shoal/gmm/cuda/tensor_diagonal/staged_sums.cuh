// A thread's sums of a group of rows, and their way to the block's lane.
#pragma once

#include <cuda_runtime.h>

#include <cuda_fp16.h>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged_shape.cuh>
#include <shoal/gmm/statistics_layout.hpp>

namespace shoal::gmm::tensor_diagonal {

/// Of products [set][4 i + 2 half + e]: feature 64 set + 16 warp + 8 half + g, component 8 i + 2 t + e of the team.
template <class Shape>
struct staged_sums {
  using warps = staged_team<Shape>;

  const staged_arguments& a;
  staged_notes<Shape>& notes;
  float sums[Shape::sets][Shape::size];
  float totals[Shape::has_totals ? Shape::sets : 1][Shape::has_totals ? Shape::size : 1];
  float weights[Shape::sums_own_weights ? Shape::size / 2 : (Shape::reads_weights ? 8 : 1)];
  double likelihood;
  int counted;  // rows

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

  __device__ void add_to_totals() {
    if constexpr (Shape::has_totals) {
#pragma unroll
      for (int set = 0; set < Shape::sets; ++set) {
#pragma unroll
        for (int i = 0; i < Shape::size; ++i) totals[set][i] += sums[set][i];
      }
    }
  }

  // Of responsibilities in shared memory: eight threads have eight components, a row in eight each.
  __device__ void read_weights(const unsigned char* shares) {
    const int octet = warps::thread() / 8, part = warps::thread() % 8;
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
    const int warp = warps::thread() / 32, lane = warps::thread() % 32;
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
            const int k = warps::first_component() + 8 * i + 2 * t + e, place = 4 * i + 2 * half + e;
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
        const int k = warps::first_component() + i / 2 * 8 + 2 * t + i % 2;
        if (g == 0 && k < a.mixture.components) add(of_component(k) + 8 * Shape::features + warp, back * sum);
      }
    } else if constexpr (Shape::reads_weights) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        auto sum = static_cast<double>(weights[i]);
        for (int step = 1; step < 8; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
        const int k = warps::first_component() + warps::thread() / 8 * 8 + i;
        if (lane % 8 == 0 && warps::thread() / 8 < Shape::eights && k < a.mixture.components)
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
};

}  // namespace shoal::gmm::tensor_diagonal
