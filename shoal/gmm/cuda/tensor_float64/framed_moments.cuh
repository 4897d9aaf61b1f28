// Moments in the frame: Σ w r, Σ w r z and Σ w r z², products of responsibilities with rows; of spherical covariances
// Σ w r ‖z‖² instead of the last, and of tied ones the first two alone.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

/// The same pointer or number, of which the compiler knows nothing: it found the places of all sums before the rows
/// passed, and had no registers for them.
__device__ inline double* found_anew(double* pointer) {
  asm volatile("" : "+l"(pointer));
  return pointer;
}
__device__ inline unsigned found_anew(unsigned number) {
  asm volatile("" : "+r"(number));
  return number;
}

/// How a block divides its tile: warps down the components, and what each of them has. Where a tile is too small for
/// all warps, each of `Parts` parts of them has all of it, and takes its own eights of the rows.
template <int WarpsDown, int Sixteens, int Eights, int Resident, int Step, int Parts = 1>
struct moment_tile {
  static constexpr int parts = Parts;
  static constexpr int warps_down = WarpsDown;
  static constexpr int warps_across = threads / 32 / WarpsDown / Parts;
  static constexpr int sixteens = Sixteens;  // of components of a warp
  static constexpr int eights = Eights;      // of columns of a warp
  static constexpr int components = WarpsDown * Sixteens * 16;
  static constexpr int columns = warps_across * Eights * 8;
  static constexpr int resident = Resident;  // blocks of a multiprocessor
  static constexpr int step = Step;          // rows between two barriers
  static_assert(warps_across * WarpsDown * Parts * 32 == threads && Step % (8 * Parts) == 0);
};

template <class Scalar, class Term, class Tile>
struct framed_stage {
  static constexpr int responsibility_stride = padded(Tile::step);
  // Four rows that are read at once begin in banks of their own.
  static constexpr int row_stride = Tile::columns + (sizeof(Scalar) == 8 ? 4 : 8);
  Term responsibilities[Tile::components * responsibility_stride];
  double norms[Tile::step];
  Scalar rows[Tile::step * row_stride];
};

template <class Scalar, class Term, class Tile>
constexpr int framed_stages() {
  constexpr int room =
      (227 * 1024 / Tile::resident - 2048) / static_cast<int>(sizeof(framed_stage<Scalar, Term, Tile>));
  return room > 4 ? 4 : room;
}

// Copies a step's responsibilities; zeros beyond the last component and row.
template <class Term, class Tile, class Stage>
__device__ void fetch_responsibilities(const row_terms& terms, unsigned components, unsigned first, std::size_t begin,
                                       std::size_t end, Stage& stage) {
  constexpr unsigned width = 16 / sizeof(Term), per_component = Tile::step / width;
  const Term* const values = reinterpret_cast<const Term*>(terms.values);
  const unsigned own = threadIdx.x / per_component, r = threadIdx.x % per_component * width;
  // The last rows may have no neighbours.
  const std::size_t some = begin + r < end ? end - begin - r : 0;
  const unsigned bytes = (some < width ? static_cast<unsigned>(some) : width) * sizeof(Term);
  const Term* const from = values + (first + own) * terms.stride + begin + r;
#pragma unroll
  for (unsigned e = 0; e < Tile::components; e += threads / per_component) {
    if (Tile::components % (threads / per_component) != 0 && own + e >= Tile::components) break;
    const bool there = bytes != 0 && first + own + e < components;
    copy_async<16>(&stage.responsibilities[(own + e) * Stage::responsibility_stride + r],
                   there ? from + e * terms.stride : values, there ? bytes : 0);
  }
}

// The same of a tile of the rows' columns. Threads keep their columns from row to row, so that places are sums.
template <class Scalar, class Tile, int Width, class Stage>
__device__ void fetch_tile(const row_chunk<Scalar>& chunk, unsigned columns, unsigned first_column, std::size_t begin,
                           std::size_t end, Stage& stage) {
  constexpr unsigned per_row = std::min(32u, std::bit_ceil(unsigned{Tile::columns / Width}));
  constexpr unsigned at_once = threads / per_row;
  static_assert(Tile::step % at_once == 0);
  const unsigned r = threadIdx.x / per_row, own = threadIdx.x % per_row * Width;
  const Scalar* const from = chunk.rows + (begin + r) * columns + first_column + own;
  Scalar* const to = &stage.rows[r * Stage::row_stride + own];
  const unsigned rows = begin + r < end ? static_cast<unsigned>(end - begin) - r : 0;
#pragma unroll
  for (unsigned j = 0; j < Tile::columns; j += per_row * Width) {
    if (Tile::columns % (per_row * Width) != 0 && own + j >= Tile::columns) break;
    const bool inside = first_column + own + j < columns;
#pragma unroll
    for (unsigned e = 0; e < Tile::step; e += at_once) {
      const bool there = inside && e < rows;
      copy_async<Width * sizeof(Scalar)>(to + e * Stage::row_stride + j,
                                         there ? from + std::size_t{e} * columns + j : chunk.rows,
                                         there ? Width * sizeof(Scalar) : 0);
    }
  }
}

// What a thread multiplies of eight rows of a stage.
template <class Term, class Scalar, class Tile>
struct eight_rows {
  Term responsibilities[Tile::sixteens][4];
  Scalar rows[Tile::eights][2];

  __device__ void read(const framed_stage<Scalar, Term, Tile>& stage, int r_at, int x_at, int eight) {
    using stage_type = framed_stage<Scalar, Term, Tile>;
#pragma unroll
    for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        responsibilities[m][e] =
            stage.responsibilities[r_at + (16 * m + e % 2 * 8) * stage_type::responsibility_stride + eight + e / 2 * 4];
      }
    }
#pragma unroll
    for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) rows[n][e] = stage.rows[x_at + (eight + 4 * e) * stage_type::row_stride + 8 * n];
    }
  }
};

/// Adds the sums of all parts of a block's warps to those of the first part, one half of the parts to the other.
/// `memory` holds `Count` numbers for each thread of half of the parts.
template <class Tile, int Count>
__device__ __forceinline__ void add_parts(double (&sums)[Count], int part, double* memory) {
  constexpr int of_part = threads / Tile::parts;
  const int own = static_cast<int>(threadIdx.x) % of_part;
#pragma unroll
  for (int half = Tile::parts / 2; half > 0; half /= 2) {
    if (half <= part && part < 2 * half) {
#pragma unroll
      for (int i = 0; i < Count; ++i) memory[i * (half * of_part) + (part - half) * of_part + own] = sums[i];
    }
    __syncthreads();
    if (part < half) {
#pragma unroll
      for (int i = 0; i < Count; ++i) sums[i] += memory[i * (half * of_part) + part * of_part + own];
    }
    __syncthreads();  // read before others are written
  }
}

/// A block for each tile of columns, tile of components and lane. Responsibilities are Terms.
template <class Scalar, class Term, covariance_type Type, class Tile>
__global__ void __launch_bounds__(threads, Tile::resident)
    framed_moments(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                   const component_frame frame, const row_terms terms, const lane_plan plan, const int* stopped) {
  constexpr bool spherical = Type == covariance_type::spherical;
  constexpr int features = Type == covariance_type::diag ? 2 : 1;
  constexpr unsigned first_sum = Type == covariance_type::tied ? 0 : 1;  // of a component
  using stage_type = framed_stage<Scalar, Term, Tile>;
  constexpr int stages = framed_stages<Scalar, Term, Tile>();
  static_assert(stages >= 2);
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.together == 0) return;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;
  if (blockIdx.x == 0 && blockIdx.y == 0) add_scores(terms, lane_sections(plan, chunk, blockIdx.z), lane);
  if constexpr (sizeof(Scalar) == 4) {
    const std::size_t first_row = lane_sections(plan, chunk, blockIdx.z).begin;
    if (!any_far(frame, first_row, plan.section_rows, plan.section_rows * plan.lanes, chunk.count)) return;
  }
  extern __shared__ __align__(128) unsigned char memory[];
  auto* const stage_of = reinterpret_cast<stage_type*>(memory);
  const unsigned d = layout.columns;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  const int part = static_cast<int>(threadIdx.x) / (threads / Tile::parts);
  const int down = static_cast<int>(threadIdx.x) / 32 / Tile::warps_across % Tile::warps_down;
  const int across = static_cast<int>(threadIdx.x) / 32 % Tile::warps_across;
  const unsigned first_column = blockIdx.x * Tile::columns, first = blockIdx.y * Tile::components;
  const bool aligned = d % (16 / sizeof(Scalar)) == 0;
  // One of the warps that have the same components sums what needs no columns.
  const bool sums_weights = blockIdx.x == 0 && across == 0;

  const int r_at = (down * Tile::sixteens * 16 + static_cast<int>(group)) * stage_type::responsibility_stride +
                   static_cast<int>(place);
  const int x_at =
      static_cast<int>(place) * stage_type::row_stride + across * Tile::eights * 8 + static_cast<int>(group);

  double origin[Tile::eights];
#pragma unroll
  for (int n = 0; n < Tile::eights; ++n) {
    const unsigned column = first_column + (across * Tile::eights + n) * 8 + group;
    origin[n] = column < d ? frame.origin[column] : 0;
  }
  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    if constexpr (sizeof(Scalar) == 4) {
      if (!any_far(frame, section.begin, section.end)) continue;
    }
    const auto fetch = [&](std::size_t index) {
      const std::size_t begin = section.begin + index * Tile::step;
      if (begin < section.end) {
        stage_type& stage = stage_of[index % stages];
        std::size_t end = section.end;
        if constexpr (sizeof(Scalar) == 4) {
          if (!is_far(frame, begin)) end = begin;  // no rows of this tile
        }
        fetch_responsibilities<Term, Tile>(terms, layout.components, first, begin, end, stage);
        if (spherical && threadIdx.x < Tile::step) {
          const bool inside = begin + threadIdx.x < end;
          copy_async<8>(&stage.norms[threadIdx.x], inside ? frame.norms + begin + threadIdx.x : frame.norms,
                        inside ? 8 : 0);
        }
        if (aligned) {
          fetch_tile<Scalar, Tile, 16 / sizeof(Scalar)>(chunk, d, first_column, begin, end, stage);
        } else {
          fetch_tile<Scalar, Tile, 1>(chunk, d, first_column, begin, end, stage);
        }
      }
      end_copies();
    };
    double product[features][Tile::sixteens][Tile::eights][4] = {};
    double weight[Tile::sixteens][2] = {}, norm[Tile::sixteens][2] = {};
    const std::size_t steps = (section.end - section.begin + Tile::step - 1) / Tile::step;
    for (std::size_t index = 0; index < stages - 1; ++index) fetch(index);
    for (std::size_t index = 0; index < steps; ++index) {
      wait_for_copies<stages - 2>();
      __syncthreads();  // all have fetched this step, and read the one before
      fetch(index + stages - 1);
      const stage_type& stage = stage_of[index % stages];
      // What the next eight rows need is read beside the products of these.
      eight_rows<Term, Scalar, Tile> next;
      next.read(stage, r_at, x_at, 8 * part);
#pragma unroll
      for (int turn = 0; turn < Tile::step; turn += 8 * Tile::parts) {
        const int eight = turn + 8 * part;
        const eight_rows<Term, Scalar, Tile> own = next;
        if (turn + 8 * Tile::parts < Tile::step) next.read(stage, r_at, x_at, eight + 8 * Tile::parts);
        double r[Tile::sixteens][4];
#pragma unroll
        for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
          for (int e = 0; e < 4; ++e) r[m][e] = static_cast<double>(own.responsibilities[m][e]);
        }
        if (sums_weights) {
          const double near = spherical ? stage.norms[eight + place] : 0;
          const double far = spherical ? stage.norms[eight + place + 4] : 0;
#pragma unroll
          for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
            for (int side = 0; side < 2; ++side) {
              weight[m][side] += r[m][side] + r[m][2 + side];
              if constexpr (spherical) {
                norm[m][side] = fma(r[m][side], near, fma(r[m][2 + side], far, norm[m][side]));
              }
            }
          }
        }
#pragma unroll
        for (int n = 0; n < Tile::eights; ++n) {
          double z[2];
#pragma unroll
          for (int e = 0; e < 2; ++e) z[e] = static_cast<double>(own.rows[n][e]) - origin[n];
#pragma unroll
          for (int feature = 0; feature < features; ++feature) {
#pragma unroll
            for (int m = 0; m < Tile::sixteens; ++m) multiply_add(product[feature][m][n], r[m], z);
#pragma unroll
            for (double& value : z) value *= value;
          }
        }
      }
    }
    wait_for_copies<0>();
    __syncthreads();  // the stages have been read
    if constexpr (Tile::parts > 1) {
      constexpr int products = features * Tile::sixteens * Tile::eights * 4;
      static_assert((products + 4 * Tile::sixteens) * threads / 2 * sizeof(double) <= stages * sizeof(stage_type));
      auto* const rest = reinterpret_cast<double*>(memory);
      add_parts<Tile>(reinterpret_cast<double(&)[products]>(product), part, rest);
      add_parts<Tile>(reinterpret_cast<double(&)[2 * Tile::sixteens]>(weight), part, rest);
      if constexpr (spherical) add_parts<Tile>(reinterpret_cast<double(&)[2 * Tile::sixteens]>(norm), part, rest);
      if (part != 0) continue;
    }
    const unsigned own_group = found_anew(group), own_place = found_anew(place);
#pragma unroll
    for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const unsigned k = first + (down * Tile::sixteens + m) * 16 + 8 * side + own_group;
        double weights = weight[m][side], norms = norm[m][side];
        weights += __shfl_xor_sync(~0U, weights, 1);
        weights += __shfl_xor_sync(~0U, weights, 2);
        norms += __shfl_xor_sync(~0U, norms, 1);
        norms += __shfl_xor_sync(~0U, norms, 2);
        if (k >= layout.components) continue;
        // W, S and Q of a component; Q of a spherical one has its sum in its first place.
        double* const component = found_anew(lane) + layout.header + k * layout.component_size;
        if (sums_weights && own_place == 0) {
          component[layout.weight] += weights;
          if constexpr (spherical) component[1 + d] += norms;
        }
#pragma unroll
        for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const unsigned column = first_column + (across * Tile::eights + n) * 8 + 2 * own_place + e;
            if (column >= d) continue;
#pragma unroll
            for (int feature = 0; feature < features; ++feature) {
              component[first_sum + feature * d + column] += product[feature][m][n][2 * side + e];
            }
          }
        }
      }
    }
  }
}

template <class Scalar, class Term, covariance_type Type, class Tile>
void launch_framed_moments(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const component_frame& frame,
                           const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                           cudaStream_t stream) {
  constexpr int bytes =
      framed_stages<Scalar, Term, Tile>() * static_cast<int>(sizeof(framed_stage<Scalar, Term, Tile>));
  const auto kernel = framed_moments<Scalar, Term, Type, Tile>;
  const dim3 blocks((layout.columns + Tile::columns - 1) / Tile::columns,
                    (layout.components + Tile::components - 1) / Tile::components, plan.lanes);
  cuda::launch_in_turn(kernel, blocks, threads, bytes, stream, layout, chunk, frame, terms, plan, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
