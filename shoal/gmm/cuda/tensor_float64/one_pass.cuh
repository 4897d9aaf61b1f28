// Float32 rows of at most 128 columns in the frame by products of float16 terms, read once: a group of four warps has a
// score tile of them in shared memory, finds log-densities and responsibilities, and multiplies these by the same rows.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/one_pass_thread.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

/// The score tiles of a lane, one after the other, as lane_sections has its sections; few registers say where it is.
struct lane_tiles {
  unsigned section;
  unsigned begin;

  __device__ lane_tiles(const lane_plan& plan, const row_chunk<float>& chunk, unsigned lane)
      : section(static_cast<unsigned>(lane_sections(plan, chunk, lane).begin)), begin(section) {}
  __device__ static unsigned count(const row_chunk<float>& chunk) { return static_cast<unsigned>(chunk.count); }
  __device__ static unsigned rows(const lane_plan& plan) { return static_cast<unsigned>(plan.section_rows); }
  __device__ bool valid(const row_chunk<float>& chunk) const { return begin < count(chunk); }
  __device__ bool ends_section(const lane_plan& plan, const row_chunk<float>& chunk) const {
    return begin + score_tile_rows >= min(section + rows(plan), count(chunk));
  }
  __device__ void next(const lane_plan& plan, const row_chunk<float>& chunk) {
    if (ends_section(plan, chunk)) {
      section += rows(plan) * plan.lanes;
      begin = section;
    } else {
      begin += score_tile_rows;
    }
  }
};

/// A lane is a group's. Rows that are beyond the grade make their score tile far: it is done again in float64.
template <class Shape>
__global__ void __launch_bounds__(Shape::groups* group_threads, 1)
    one_pass(const kernel_layout layout, const __grid_constant__ row_chunk<float> chunk, const component_frame frame,
             const row_terms terms, const lane_plan plan, const double* log_shift, const int* stopped) {
  if constexpr (cuda::has_warpgroup_products) {
    cuda::wait_for_predecessor();
    if (*stopped != 0 || *frame.near == 0) return;
    extern __shared__ __align__(128) unsigned char memory[];
    auto* const groups = reinterpret_cast<one_pass_memory<Shape>*>(memory);
    auto* const units = reinterpret_cast<float2*>(groups + Shape::groups);
    auto* const operands = reinterpret_cast<std::uint16_t*>(units + Shape::width);
    const int d = static_cast<int>(layout.columns);
    const int steps = (d + frame_step - 1) / frame_step;
    constexpr int threads_of_block = Shape::groups * group_threads;
    for (int i = static_cast<int>(threadIdx.x); i < Shape::width; i += threads_of_block) {
      units[i] = i < steps * frame_step ? frame.units[i] : make_float2(0, 0);
    }
    // In units of 16 bytes.
    constexpr int own = Shape::operand / 8;
    const int all = static_cast<int>(frame.eights) * 8 * frame_step / 8;
    for (int i = static_cast<int>(threadIdx.x); i < steps * Shape::terms * Shape::features * own;
         i += threads_of_block) {
      const int which = i / own, at = i % own;
      reinterpret_cast<uint4*>(operands)[i] =
          at < all ? reinterpret_cast<const uint4*>(frame.half_operands)[which * all + at] : make_uint4(0, 0, 0, 0);
    }
    __shared__ unsigned long long arrived[Shape::groups][2];
    if (threadIdx.x < 2 * Shape::groups) cuda::make_barrier(arrived[threadIdx.x / 2] + threadIdx.x % 2, 1);
    cuda::publish_barriers();
    cuda::publish_to_products();
    __syncthreads();

    const unsigned group = threadIdx.x / group_threads, lane = group * gridDim.x + blockIdx.x;
    if (lane >= plan.lanes) return;
    one_pass_thread<Shape> thread{groups[group], operands, units};
    double* const lane_sums = plan.sums + std::size_t{lane} * plan.size;
    const bool in_lines = d % 4 == 0;
    // All tiles but the last one of a chunk.
    const bool at_once = !in_lines && reinterpret_cast<std::uintptr_t>(chunk.rows) % 16 == 0;
    const auto is_whole = [&](const lane_tiles& tile) { return tile.begin + score_tile_rows <= chunk.count; };
    const auto fetch = [&](const lane_tiles& tile, int buffer) {
      if (tile.valid(chunk)) {
        float* const to = groups[group].rows[buffer];
        if (in_lines) {
          fetch_one_pass_lines<Shape>(chunk, layout.columns, tile.begin, to);
        } else if (!at_once || !is_whole(tile)) {
          fetch_one_pass_numbers<Shape>(chunk, layout.columns, tile.begin, to);
        } else if (threadIdx.x % group_threads == 0) {
          cuda::fetch(to, chunk.rows + std::size_t{tile.begin} * layout.columns,
                      score_tile_rows * layout.columns * sizeof(float), arrived[group] + buffer);
        }
      }
      end_copies();
    };
    lane_tiles fetched(plan, chunk, lane);
    fetch(fetched, 0);
    thread.begin_section();
    unsigned passed = 0;  // tiles
    for (lane_tiles tile = fetched; tile.valid(chunk); tile.next(plan, chunk), ++passed) {
      const int buffer = static_cast<int>(passed % 2);
      wait_for_copies<0>();
      if (at_once && is_whole(tile)) cuda::wait(arrived[group] + buffer, passed / 2 & 1);
      meet_group(static_cast<int>(group));  // all have fetched this tile, and are done with the one before
      fetched.next(plan, chunk);
      fetch(fetched, buffer ^ 1);
      const one_pass_rows rows{groups[group].rows[buffer], in_lines ? Shape::width : d, in_lines};
      float sums[one_pass_thread<Shape>::size], norm[2];
      thread.multiply_columns(rows, d, steps, sums, norm);
      const float back = thread.finish(chunk, layout.columns, tile.begin, frame, terms, *log_shift, sums, norm);
      if (back != 0) thread.multiply_rows(rows, layout.columns, back);
      if (tile.ends_section(plan, chunk)) {
        thread.add_to_lane(layout, lane_sums);
        thread.begin_section();
      }
    }
  }
}

template <class Shape>
std::size_t one_pass_bytes(const kernel_layout& layout) {
  const std::size_t steps = (layout.columns + frame_step - 1) / frame_step;
  return Shape::groups * sizeof(one_pass_memory<Shape>) + Shape::width * sizeof(float2) +
         steps * Shape::terms * Shape::features * Shape::operand * sizeof(std::uint16_t);
}

template <class Shape>
void launch_one_pass(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                     const prepared_parameters<float>& parameters, const row_terms& terms, const lane_plan& plan,
                     cudaStream_t stream) {
  cuda::launch_in_turn(one_pass<Shape>, std::min(plan.lanes, frame.multiprocessors), Shape::groups * group_threads,
                       one_pass_bytes<Shape>(layout), stream, layout, chunk, frame, terms, plan,
                       parameters.in_double.log_shift, parameters.stopped);
}

/// Which shape of the kernel for which mixture.
template <bool Spherical>
void launch_some_pass(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                      const prepared_parameters<float>& parameters, const row_terms& terms, const lane_plan& plan,
                      cudaStream_t stream) {
  const auto with_shape = [&]<class Shape>() {
    launch_one_pass<Shape>(layout, chunk, frame, parameters, terms, plan, stream);
  };
  const auto with_width = [&]<int Components, int Products>() {
    switch (one_pass_width(layout.columns)) {
      case 32:
        return with_shape.template operator()<one_pass_shape<Spherical, Components, Products, 32>>();
      case 64:
        return with_shape.template operator()<one_pass_shape<Spherical, Components, Products, 64>>();
      default:
        return with_shape.template operator()<one_pass_shape<Spherical, Components, Products, 128>>();
    }
  };
  const auto with_components = [&]<int Products>() {
    switch (one_pass_components(layout.components)) {
      case 16:
        return with_width.template operator()<16, Products>();
      case 40:
        return with_width.template operator()<40, Products>();
      default:
        return with_width.template operator()<64, Products>();
    }
  };
  if (frame.products == 3) return with_components.template operator()<3>();
  with_components.template operator()<1>();
}

}  // namespace shoal::gmm::tensor_float64
