// Log-densities of float32 rows in the frame by products of float16 terms, three for one of float32's grade, and the
// rows' responsibilities. Sums of a few columns are taken on tensor cores, and go on in pairs of float32 numbers.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_density_rows.cuh>
#include <shoal/gmm/cuda/tensor_float64/left_out.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// So many stages are summed on tensor cores.
inline constexpr unsigned half_sums = 2;

/// As many blocks as there are multiprocessors go through the tiles of rows, or through a stretch of their columns.
/// Rows that are beyond the grade make their score tile far: it is done again in float64.
template <class Shape>
__global__ void __launch_bounds__(half_block<Shape::groups>::threads, 1)
    half_densities(const kernel_layout layout, const __grid_constant__ row_chunk<float> chunk,
                   const component_frame frame, const row_terms terms, const double* log_shift, const int* stopped,
                   half_pass pass) {
  if constexpr (cuda::has_warpgroup_products) {
    using stage_type = half_density_stage<Shape>;
    using block = half_block<Shape::groups>;
    constexpr int stages = half_stages<stage_type>();
    cuda::wait_for_predecessor();
    if (*stopped != 0 || *frame.near == 0) return;
    extern __shared__ __align__(128) unsigned char memory[];
    auto* const stage_of = reinterpret_cast<stage_type*>(memory);
    __shared__ ring_barriers ring;
    __shared__ half_density_notes<Shape> notes[Shape::groups];
    make_ring<Shape::groups, stages>(ring);
    const unsigned d = layout.columns;
    const unsigned steps = half_columns(d) / (half_steps * frame_step);
    const unsigned own_first = steps * blockIdx.z / frame.stretches;
    const unsigned own_past = steps * (blockIdx.z + 1) / frame.stretches;
    const std::size_t tiles = (chunk.count + Shape::rows - 1) / Shape::rows;
    ring_place<stages> at;
    if (threadIdx.x >= Shape::groups * group_threads) {
      cuda::give_registers<block::fetching_registers>();
      [[maybe_unused]] const bool begins_line = reinterpret_cast<std::uintptr_t>(chunk.rows) % 16 == 0;
      for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (unsigned index = own_first; index < own_past; ++index, at.next()) {
          stage_type& stage = stage_of[at.stage];
          unsigned long long* const full = ring.full + at.stage;
          cuda::wait(ring.empty + at.stage, at.round ^ 1);
          if (threadIdx.x % group_threads == 0) {
            cuda::expect(full, sizeof(stage.operands) + sizeof(stage.units));
            cuda::fetch_expected(stage.operands,
                                 reinterpret_cast<const unsigned char*>(frame.half_operands) +
                                     (blockIdx.y * steps + index) * sizeof(stage.operands),
                                 sizeof(stage.operands), full);
            cuda::fetch_expected(stage.units, frame.units + index * (half_steps * frame_step), sizeof(stage.units),
                                 full);
          }
          const unsigned first_column = index * (half_steps * frame_step);
          if constexpr (!Shape::lines) {
            fetch_half_columns<Shape>(chunk, d, tile * Shape::rows, first_column, stage);
          } else if (begins_line && (tile + 1) * Shape::rows <= chunk.count) {
            fetch_half_lines<Shape>(chunk, d, tile * Shape::rows, first_column, stage);
          } else {
            fetch_half_numbers<Shape>(chunk, d, tile * Shape::rows, first_column, stage);
          }
          arrive_after_copies(full);
        }
      }
    } else {
      cuda::take_registers<block::own_registers>();
      half_density_rows<Shape> rows(d);
      for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        rows.begin();
        constexpr bool goes_on = Shape::products == 1;
        // A stage is left once its products have ended, beside the first ones of the next.
        unsigned long long* before = nullptr;
        const auto multiply = [&](auto count) {
#pragma unroll
          for (unsigned step = 0; step < count(); ++step, at.next()) {
            cuda::wait(ring.full + at.stage, at.round);
            rows.multiply_stage(stage_of[at.stage], goes_on ? before == nullptr : step == 0, [&] {
              if (goes_on ? before != nullptr : step > 0) leave_stage(before);
            });
            before = ring.empty + at.stage;
          }
          if constexpr (!goes_on) {
            cuda::wait_for_products<0>();
            leave_stage(before);
            rows.flush();
          }
        };
        const unsigned own_steps = own_past - own_first;
        for (unsigned left = own_steps; left >= half_sums; left -= half_sums) {
          multiply(std::integral_constant<unsigned, half_sums>());
        }
        static_assert(half_sums == 2);
        if (own_steps % 2 != 0) multiply(std::integral_constant<unsigned, 1>());
        if constexpr (goes_on) {
          cuda::wait_for_products<0>();
          leave_stage(before);
          rows.flush();
        }
        half_density_notes<Shape>& own_notes = notes[rows.group];
        if constexpr (joins_stretches(Shape::components, Shape::products)) {
          if (frame.stretches > 1 && !rows.join(frame, tile * Shape::rows, chunk.count, own_notes)) continue;
        }
        rows.finish(d, chunk, tile * Shape::rows, frame, terms, *log_shift, pass, own_notes);
      }
    }
  }
}

// What all tiles of components, and those that the frame leaves out, know of each row.
static __global__ void join_parts(std::size_t count, const component_frame frame, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.near == 0) return;
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= count) return;
  const unsigned tiles = frame.half_tiles();
  const float2* const parts = frame.half_parts + frame.part_rows + row;
  float greatest = -INFINITY, sum = 0;
#pragma unroll 4
  for (unsigned tile = 0; tile < tiles; ++tile) greatest = fmaxf(greatest, parts[tile * frame.part_rows].x);
  const unsigned left_out = *frame.left_out.count;
  const double* const terms = frame.left_out.terms + row;
  for (unsigned l = 0; l < left_out; ++l) greatest = fmaxf(greatest, static_cast<float>(terms[l * frame.part_rows]));
#pragma unroll 4
  for (unsigned tile = 0; tile < tiles; ++tile) {
    const float2 part = parts[tile * frame.part_rows];
    if (part.y > 0) sum = fmaf(part.y, expf(part.x - greatest), sum);
  }
  for (unsigned l = 0; l < left_out; ++l) {
    const auto ratio = static_cast<float>(terms[l * frame.part_rows] - static_cast<double>(greatest));
    if (ratio >= -static_cast<float>(negligible_log_ratio<float>)) sum += expf(ratio);
  }
  frame.half_parts[row] = make_float2(greatest, sum);
}

template <class Shape>
void launch_half_densities(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                           const prepared_parameters<float>& parameters, const row_terms& terms, cudaStream_t stream) {
  using stage_type = half_density_stage<Shape>;
  constexpr int bytes = half_stages<stage_type>() * static_cast<int>(sizeof(stage_type));
  const auto tiles = static_cast<unsigned>((chunk.count + Shape::rows - 1) / Shape::rows);
  const unsigned of_components = frame.half_tiles();
  const unsigned at_once = std::max(1U, frame.multiprocessors / (of_components * frame.stretches));
  const dim3 blocks(std::min(tiles, at_once), of_components, frame.stretches);
  const auto launch = [&](half_pass pass) {
    cuda::launch_in_turn(half_densities<Shape>, blocks, half_block<Shape::groups>::threads, bytes, stream, layout,
                         chunk, frame, terms, parameters.in_double.log_shift, parameters.stopped, pass);
  };
  if (of_components == 1) return launch(half_pass::whole);
  launch(half_pass::parts);
  left_out_densities(layout, chunk, frame, parameters, stream);
  constexpr unsigned join_threads = 128;
  cuda::launch_in_turn(join_parts, static_cast<unsigned>((chunk.count + join_threads - 1) / join_threads), join_threads,
                       0, stream, chunk.count, frame, parameters.stopped);
  launch(half_pass::responsibilities);
  left_out_moments(layout, chunk, frame, parameters, stream);
}

}  // namespace shoal::gmm::tensor_float64
