// Moments of float32 rows in the frame by products of float16 terms, three for one of float32's grade. A score tile of
// rows is summed on tensor cores, sections in float32, and their sums in float64. With one product tensor cores go on
// from tile to tile and from section to section.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/framed_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_ring.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

/// Each group of four warps has 64 columns and all components of the block.
/// `Lines`: rows are not of a multiple of four columns.
template <bool Spherical, int Components, int Products, int Groups, bool Lines>
struct half_moment_shape {
  static constexpr bool lines = Lines;
  static constexpr bool spherical = Spherical;
  static constexpr int components = Components;
  static constexpr int products = Products;
  static constexpr int features = Spherical ? 1 : 2;
  static constexpr int terms = static_cast<int>(half_terms(Products));
  static constexpr int groups = Groups;
  static constexpr int columns = groups * static_cast<int>(half_group_columns);
  static constexpr int step = 32;                  // rows of a stage
  static constexpr int operand = Components * 16;  // numbers of one operand
  static constexpr int row_stride = columns + 4;   // four pairs of rows begin in banks of their own
  static constexpr bool goes_on = Products == 1;
};

/// Sums that go on are of so many rows of a lane at most, for tensor cores cut digits off. They end sooner where the
/// greatest weight of a tile is so many powers of two below that of those before, which float32 has no room for.
inline constexpr std::size_t most_kept_rows = 8192;
static_assert(most_kept_rows >= most_section_rows);
inline constexpr int most_kept_exponents = 40;

template <class Shape>
struct half_moment_stage {
  std::uint16_t responsibilities[Shape::step / 16][Shape::terms][Shape::operand];
  float rows[Shape::step * Shape::row_stride];
};

/// Copies a step of the rows' columns, of a multiple of four columns or of rows that are all there. These lie in memory
/// in lines of 16 bytes: a row begins as many numbers after its place as it does in its line. Beyond the last row that
/// row again, whose responsibilities are zero. Columns that nobody asks for are left as they are.
template <class Shape>
__device__ void fetch_half_rows(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                unsigned first_column, unsigned own_columns, half_moment_stage<Shape>& stage) {
  const unsigned warp = threadIdx.x % group_threads / 32, lane = threadIdx.x % 32;
  constexpr unsigned warps = group_threads / 32;
  static_assert(warps % 4 == 0);
  const unsigned shift = Shape::lines ? warp * columns % 4 : 0;  // of every fourth row from there on
  const unsigned past = own_columns + shift, rest = columns - first_column + shift;
  constexpr int turns = (Shape::columns + (Shape::lines ? 4 : 0) + 127) / 128;
  if (first_row + Shape::step <= chunk.count) {
    // One addition a row: whoever fetches is behind the products else.
    const float* from = chunk.rows + (first_row + warp) * columns + first_column - shift + lane * 4;
    const unsigned to = cuda::shared_address(stage.rows + warp * Shape::row_stride + lane * 4);
    unsigned there[turns];
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const unsigned j = (turn * 32 + lane) * 4;
      there[turn] = j >= past ? 0 : Shape::lines ? min(4U, rest - j) * sizeof(float) : 4 * sizeof(float);
    }
#pragma unroll
    for (unsigned k = 0; k < Shape::step / warps; ++k, from += warps * columns) {
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
        if (there[turn] == 0) continue;
        copy_16_async(to + (k * warps * Shape::row_stride + turn * 128) * sizeof(float), from + turn * 128,
                      Shape::lines ? there[turn] : 16);
      }
    }
    return;
  }
#pragma unroll 1
  for (unsigned r = warp; r < Shape::step; r += warps) {
    const float* const from = chunk.rows + min(first_row + r, chunk.count - 1) * columns + first_column - shift;
    float* const to = stage.rows + r * Shape::row_stride;
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const unsigned j = (turn * 32 + lane) * 4;
      const unsigned there = Shape::lines ? min(4U, rest - j) : 4;
      if (j < past) copy_async<4 * sizeof(float)>(to + j, from + j, there * sizeof(float));
    }
  }
}

/// The same number by number.
template <class Shape>
__device__ void fetch_half_row_numbers(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                       unsigned first_column, unsigned own_columns, half_moment_stage<Shape>& stage) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned r = threadIdx.x % group_threads / 32; r < Shape::step; r += group_threads / 32) {
    const float* const from = chunk.rows + min(first_row + r, chunk.count - 1) * columns + first_column;
    float* const to = stage.rows + r * Shape::row_stride + r * columns % 4;
    for (unsigned j = lane; j < own_columns; j += 32) copy_async<sizeof(float)>(to + j, from + j, sizeof(float));
  }
}

/// Adds to a number of global memory, or begins it, and waits for nothing.
__device__ inline void add_unasked(double* to, double value) {
  asm volatile("red.global.add.f64 [%0], %1;" ::"l"(to), "d"(value) : "memory");
}
__device__ inline void add_unasked(double* to, double value, bool begins) {
  if (begins) {
    *to = value;
  } else {
    add_unasked(to, value);
  }
}

/// Sums of a thread: of its group's columns 16 warp + lane / 4 + 8 part, components 8 n + 2 place + e at
/// 4 n + 2 part + e.
template <class Shape>
struct half_moment_sums {
  static constexpr int size = Shape::components / 2;

  int warp = static_cast<int>(threadIdx.x) % group_threads / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
  int place = static_cast<int>(threadIdx.x) % 4;
  int own_column = static_cast<int>(threadIdx.x) / group_threads * half_group_columns + warp * 16 + lane / 4;

  int row_place;   // of the step's row 2 place: where the thread's first column lies
  int next_place;  // of the row that follows
  float2 units[2];
  split_rows<Shape::products> split[2];
  float sums[Shape::features][size] = {};
  float totals[Shape::goes_on ? 1 : Shape::features][Shape::goes_on ? 1 : size];

  __device__ explicit half_moment_sums(unsigned columns) {
    const int row = 2 * place;
    const auto shift = [&](int of) {
      return Shape::lines ? static_cast<int>(static_cast<unsigned>(of) * columns % 4) : 0;
    };
    row_place = row * Shape::row_stride + shift(row) + own_column;
    next_place = row_place + Shape::row_stride + (shift(row + 1) - shift(row));
  }

  __device__ void begin_section() {
    if constexpr (!Shape::goes_on) {
#pragma unroll
      for (int feature = 0; feature < Shape::features; ++feature) {
#pragma unroll
        for (int i = 0; i < size; ++i) totals[feature][i] = 0;
      }
    }
  }

  /// Gives sums that go on another scale.
  __device__ void rescale(float factor) {
#pragma unroll
    for (int feature = 0; feature < Shape::features; ++feature) {
#pragma unroll
      for (int i = 0; i < size; ++i) sums[feature][i] *= factor;
    }
  }

  /// Calls use(number, its place in the memory that a block's sums wait in for the next chunk).
  template <class Use>
  __device__ void for_each_kept(float* memory, const Use& use) {
#pragma unroll
    for (int feature = 0; feature < Shape::features; ++feature) {
#pragma unroll
      for (int i = 0; i < size; ++i) {
        use(sums[feature][i], memory[(feature * size + i) * Shape::groups * group_threads + threadIdx.x]);
      }
    }
  }

  /// Adds a stage's rows, to sums that are begun anew if `keep` is 0 and not 1. Terms are made beside the products of
  /// those before, which may still run in the end; `leave` is called when those of the stage before have ended.
  template <class Leave>
  __device__ void multiply_stage(const half_moment_stage<Shape>& stage, int keep, const Leave& leave) {
#pragma unroll
    for (int step = 0; step < Shape::step / 16; ++step) {
      float z[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const row =
            stage.rows + (16 * step + i / 2 * 8) * Shape::row_stride + (i % 2 == 0 ? row_place : next_place);
        z[0][i] = fmaf(row[0], units[0].x, units[0].y);
        z[1][i] = fmaf(row[8], units[1].x, units[1].y);
      }
#pragma unroll
      for (int feature = 0; feature < Shape::features; ++feature) {
        split_rows<Shape::products>& own = split[Shape::features == 2 ? feature : step];
        // Those before the last read what is now made again.
        cuda::wait_for_products<1>();
        if (step * Shape::features + feature == 1) leave();
        own.make(z);
        const auto operand = [&](int term) {
          return cuda::describe(cuda::shared_address(stage.responsibilities[step][term]), tensor::row_stride);
        };
        multiply_terms<Shape::products>(sums[feature], own, operand(0), operand(Shape::terms - 1),
                                        step == 0 ? keep : 1);
        if (feature == 0) square(z);
      }
    }
  }

  /// From the tensor cores' sums on; `back` takes their scale out.
  __device__ void flush(float back) {
    if constexpr (!Shape::goes_on) {
#pragma unroll
      for (int feature = 0; feature < Shape::features; ++feature) {
#pragma unroll
        for (int i = 0; i < size; ++i) totals[feature][i] = fmaf(sums[feature][i], back, totals[feature][i]);
      }
    }
  }

  /// Adds a section's sums to its lane, S and Q of a component. No other thread adds to the same numbers: the order is
  /// kept. `first` is the thread's first component. Sums that go on are multiplied by `back`, and may begin the lane.
  __device__ void add_to_lane(const kernel_layout& layout, double* lane_sums, unsigned first, unsigned first_column,
                              double back = 1, bool begins = false) const {
#pragma unroll
    for (int feature = 0; feature < Shape::features; ++feature) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const unsigned column = first_column + static_cast<unsigned>(own_column + 8 * part);
        if (column >= layout.columns) continue;
        double unit = 1 / static_cast<double>(units[part].x);
        if (feature == 1) unit *= unit;
        if constexpr (Shape::goes_on) unit *= back;
        // Component by component from there on, so that no places are known before they are needed.
        double* to = found_anew(lane_sums + layout.header + first * layout.component_size + 1 +
                                (feature == 1 ? layout.columns : 0) + column);
        unsigned left = layout.components > first ? layout.components - first : 0;
#pragma unroll
        for (int n = 0; n < Shape::components / 8; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            if (e < static_cast<int>(left)) {
              const int i = 4 * n + 2 * part + e;
              const float sum =
                  Shape::goes_on ? sums[feature][i] : totals[Shape::goes_on ? 0 : feature][Shape::goes_on ? 0 : i];
              add_unasked(to + e * layout.component_size, unit * static_cast<double>(sum), begins);
            }
          }
          to = found_anew(to + 8 * layout.component_size);
          left = left > 8 ? left - 8 : 0;
        }
      }
    }
  }
};

/// What a section's tiles say beside rows and responsibilities, read a tile ahead: whether a tile is far, its scale,
/// and, by one thread for each component of a block, Σ w r.
template <bool Spherical>
struct tile_notes {
  int far = 0;
  int exponent = 0;
  float weight = 0;
  float norm = 0;

  __device__ tile_notes(const component_frame& frame, std::size_t tile, bool sums_weights, unsigned component) {
    far = __ldg(frame.far + tile);
    exponent = __ldg(frame.exponents + tile);
    if (sums_weights) {
      weight = __ldg(frame.half_weights + tile * frame.eights * 8 + component);
      if constexpr (Spherical) norm = __ldg(frame.half_norms + tile * frame.eights * 8 + component);
    }
  }
};

/// A block for each tile of columns, tile of components and lane; rows of far tiles are left out.
template <class Shape>
__global__ void __launch_bounds__(half_block<Shape::groups>::threads, 1)
    half_moments_kernel(const kernel_layout layout, const __grid_constant__ row_chunk<float> chunk,
                        const component_frame frame, const lane_plan plan, const unsigned columns_of_block,
                        const int* stopped) {
  if constexpr (cuda::has_warpgroup_products) {
    using stage_type = half_moment_stage<Shape>;
    using block = half_block<Shape::groups>;
    constexpr int stages = half_stages<stage_type>();
    constexpr int tile_steps = static_cast<int>(score_tile_rows) / Shape::step;
    cuda::wait_for_predecessor();
    if (*stopped != 0 || *frame.near == 0) return;
    extern __shared__ __align__(128) unsigned char memory[];
    auto* const stage_of = reinterpret_cast<stage_type*>(memory);
    __shared__ ring_barriers ring;
    // Read by all before one of them writes.
    const std::size_t own_block = (std::size_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    float* const sums_there = frame.kept_sums + own_block * (Shape::columns * Shape::components * Shape::features);
    kept_state kept;
    if constexpr (Shape::goes_on) kept = frame.kept[own_block];
    make_ring<Shape::groups, stages>(ring);
    const unsigned d = layout.columns;
    const unsigned first_column = blockIdx.x * columns_of_block;
    const unsigned own_columns = min(columns_of_block, d - first_column);
    const unsigned first_component = blockIdx.y * Shape::components;
    ring_place<stages> at;
    if (threadIdx.x >= Shape::groups * group_threads) {
      cuda::give_registers<block::fetching_registers>();
      const unsigned char* const all = reinterpret_cast<const unsigned char*>(frame.half_responsibilities);
      const bool begins_line = reinterpret_cast<std::uintptr_t>(chunk.rows) % 16 == 0;
      for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
        for (std::size_t begin = section.begin; begin < section.end; begin += score_tile_rows) {
          const std::size_t operands = (begin / score_tile_rows * (frame.eights * 8 / Shape::components) + blockIdx.y) *
                                       (tile_steps * sizeof(stage_type::responsibilities));
          for (int step = 0; step < tile_steps; ++step, at.next()) {
            stage_type& stage = stage_of[at.stage];
            unsigned long long* const full = ring.full + at.stage;
            cuda::wait(ring.empty + at.stage, at.round ^ 1);
            if (threadIdx.x % group_threads == 0) {
              cuda::fetch(stage.responsibilities, all + operands + step * sizeof(stage.responsibilities),
                          sizeof(stage.responsibilities), full);
            }
            const std::size_t first_row = begin + static_cast<std::size_t>(step * Shape::step);
            if (!Shape::lines || (begins_line && first_row + Shape::step <= chunk.count)) {
              fetch_half_rows<Shape>(chunk, d, first_row, first_column, own_columns, stage);
            } else {
              fetch_half_row_numbers<Shape>(chunk, d, first_row, first_column, own_columns, stage);
            }
            arrive_after_copies(full);
          }
        }
      }
    } else {
      cuda::take_registers<block::own_registers>();
      half_moment_sums<Shape> own(d);
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const unsigned column = first_column + static_cast<unsigned>(own.own_column + 8 * part);
        own.units[part] = column < d ? frame.units[column] : make_float2(0, 0);
      }
      const bool multiplies = threadIdx.x / group_threads * half_group_columns < own_columns;
      const bool sums_weights = blockIdx.x == 0 && threadIdx.x < Shape::components;
      const unsigned component = first_component + threadIdx.x;
      double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;
      if (!multiplies) kept.any = 0;
      if (kept.any != 0) own.for_each_kept(sums_there, [](float& sum, const float& there) { sum = there; });
      const auto add_kept = [&](double back) {
        cuda::wait_for_products<0>();
        own.add_to_lane(layout, lane, first_component + 2 * own.place, first_column, back, kept.begun == 0);
        kept.begun = 1;
      };
      const auto end_kept = [&] {
        add_kept(1 / static_cast<double>(half_scale(kept.exponent)));
        kept.any = 0;
      };
      unsigned long long* before = nullptr;
      [[maybe_unused]] bool any_far = false;
      for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
        using notes_type = tile_notes<Shape::spherical>;
        double weight = 0, norm = 0;
        own.begin_section();
        // Whether sums end: by the section's place among all, for chunks may end anywhere.
        bool due = (chunk.share_first + section.begin) / plan.section_rows / plan.lanes %
                       (most_kept_rows / plan.section_rows) ==
                   0;
        notes_type next(frame, section.begin / score_tile_rows, sums_weights, component);
        for (std::size_t begin = section.begin; begin < section.end; begin += score_tile_rows) {
          const notes_type notes = next;
          if (begin + score_tile_rows < section.end) {
            next = notes_type(frame, begin / score_tile_rows + 1, sums_weights, component);
          }
          const bool counts = multiplies && notes.far == 0;
          if constexpr (Shape::goes_on) {
            any_far = any_far || notes.far != 0;
            if (counts) {
              if (kept.any != 0 && (due || notes.exponent < kept.greatest - most_kept_exponents)) end_kept();
              if (kept.any != 0 && notes.exponent != kept.exponent) {
                cuda::wait_for_products<0>();
                own.rescale(half_scale(notes.exponent) / half_scale(kept.exponent));
              }
              due = false;
              kept.greatest = kept.any != 0 ? max(kept.greatest, notes.exponent) : notes.exponent;
              kept.exponent = notes.exponent;
            }
          }
          // A stage is left once its products have ended, beside the first ones of the next.
#pragma unroll
          for (int step = 0; step < tile_steps; ++step, at.next()) {
            cuda::wait(ring.full + at.stage, at.round);
            const auto leave = [&] {
              if (Shape::goes_on ? before != nullptr : step > 0) leave_stage(before);
            };
            if (counts) {
              own.multiply_stage(stage_of[at.stage], step > 0 ? 1 : Shape::goes_on ? kept.any : 0, leave);
            } else {
              if constexpr (Shape::goes_on) cuda::wait_for_products<0>();
              leave();
            }
            before = ring.empty + at.stage;
            if (counts) kept.any = 1;
          }
          if constexpr (!Shape::goes_on) {
            cuda::wait_for_products<0>();
            leave_stage(before);
            if (counts) own.flush(1 / half_scale(notes.exponent));
          }
          if (sums_weights && notes.far == 0) {
            weight += static_cast<double>(notes.weight);
            if constexpr (Shape::spherical) norm += static_cast<double>(notes.norm);
          }
        }
        if (multiplies && !Shape::goes_on) {
          own.add_to_lane(layout, lane, first_component + 2 * own.place, first_column);
        }
        if (sums_weights && component < layout.components) {
          double* const to = lane + layout.header + component * layout.component_size;
          to[layout.weight] += weight;
          // Q of a spherical component has its sum in its first place.
          if constexpr (Shape::spherical) {
            const double unit = static_cast<double>(frame.units[0].x);
            to[1 + d] += norm / (unit * unit);
          }
        }
      }
      if constexpr (Shape::goes_on) {
        cuda::wait_for_products<0>();
        if (multiplies && kept.any != 0) {
          own.for_each_kept(sums_there, [](const float& sum, float& there) { there = sum; });
        }
        // Far tiles are added to the lane after this.
        if (multiplies && any_far && kept.begun == 0) add_kept(0);
        if (threadIdx.x == 0) frame.kept[own_block] = kept;
      }
    }
  }
}

template <class Shape>
void launch_half_moments(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                         const prepared_parameters<float>& parameters, const lane_plan& plan, cudaStream_t stream) {
  using stage_type = half_moment_stage<Shape>;
  constexpr int bytes = half_stages<stage_type>() * static_cast<int>(sizeof(stage_type));
  const unsigned across = half_column_blocks(layout, frame.products);
  const dim3 blocks(across, (layout.components + Shape::components - 1) / Shape::components, plan.lanes);
  cuda::launch_in_turn(half_moments_kernel<Shape>, blocks, half_block<Shape::groups>::threads, bytes, stream, layout,
                       chunk, frame, plan, half_block_columns(layout, frame.products), parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
