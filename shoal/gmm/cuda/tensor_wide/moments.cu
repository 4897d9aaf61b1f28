// Moments of wide rows in float64, Σ w r (x − c)(x − c)ᵀ, Σ w r (x − c) and Σ w r: each component goes through the rows
// that it holds in part alone, which are few of all where components lie apart.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>
#include <shoal/gmm/cuda/tensor_float64/triangle_tiles.cuh>
#include <shoal/gmm/cuda/tensor_wide/framed_jobs.hpp>
#include <shoal/gmm/cuda/tensor_wide/moments.hpp>
#include <shoal/gmm/cuda/tensor_wide/tuning.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

using tensor_float64::lane_sections;
using tensor_float64::padded;
using tensor_float64::step;

constexpr int threads = tensor_float64::threads;
constexpr int warps = threads / 32;
constexpr unsigned rows_of_warp = tensor_float64::most_section_rows / warps;

/// A block's rows of a section, and two steps of them.
template <int Tile>
struct moment_memory {
  struct {
    double scaled[step * padded(Tile)];  // w r (x − c) of the tile's rows, [row of the data][column]
    double plain[step * padded(Tile)];   // x − c of the tile's columns
  } stage[2];
  double weights[warps];
  unsigned held_by[warps];
  unsigned short rows[tensor_float64::most_section_rows];  // that the component holds, from the section's first
};

// Writes down the rows begin … end − 1 whose responsibility is not zero, in their order; returns how many they are. A
// warp looks at neighbouring rows.
template <int Tile>
__device__ unsigned list_rows(const double* responsibilities, std::size_t begin, std::size_t end,
                              moment_memory<Tile>& memory) {
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32;
  const auto count = static_cast<unsigned>(end - begin);
  constexpr unsigned looks = rows_of_warp / 32;
  unsigned held[looks];
  unsigned sum = 0;
#pragma unroll
  for (unsigned look = 0; look < looks; ++look) {
    const unsigned row = warp * rows_of_warp + look * 32 + thread;
    held[look] = __ballot_sync(~0U, row < count && responsibilities[begin + row] != 0);
    sum += __popc(held[look]);
  }
  if (thread == 0) memory.held_by[warp] = sum;
  __syncthreads();
  unsigned place = 0, all = 0;
  for (unsigned other = 0; other < warps; ++other) {
    if (other < warp) place += memory.held_by[other];
    all += memory.held_by[other];
  }
#pragma unroll
  for (unsigned look = 0; look < looks; ++look) {
    if ((held[look] >> thread & 1) != 0) {
      const unsigned row = warp * rows_of_warp + look * 32 + thread;
      memory.rows[place + __popc(held[look] & ((1U << thread) - 1))] = static_cast<unsigned short>(row);
    }
    place += __popc(held[look]);
  }
  __syncthreads();
  return all;
}

// What a thread has loaded of the next step: of two rows, a column in every 32 of both sides. Nothing is done with it
// before there is room for it, since that would wait for memory.
template <int Tile>
struct moment_loads {
  static constexpr int columns = Tile / 32;
  static constexpr int rows = step / warps;
  float down[rows][columns];
  float across[rows][columns];
  double responsibility[rows];
};

/// A block for each tile of the triangle, each component (all of them for tied) and each lane. Tiles have `width`
/// columns.
template <int Tile>
__global__ void __launch_bounds__(threads, tensor_float64::resident_blocks(Tile))
    listed_moments(const kernel_layout layout, const __grid_constant__ row_chunk chunk,
                   const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                   const held_sections held, const __grid_constant__ moment_plan plan, const int* stopped,
                   unsigned width) {
  using parts = tensor_float64::warp_tiles<Tile, Tile, 2>;
  using loads_type = moment_loads<Tile>;
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  extern __shared__ __align__(16) unsigned char bytes[];
  auto& memory = *reinterpret_cast<moment_memory<Tile>*>(bytes);

  parts part;
  // Neighbours share a scheduler: who has one more part across has one less down.
  part.warp_across = (part.warp_across + part.warp_down) % parts::warps_across;
  const unsigned d = layout.columns;
  const bool tied = layout.type == covariance_type::tied;
  const tensor_float64::tile_place place(blockIdx.x, (d + width - 1) / width);
  const bool diagonal = place.down == place.across;
  const unsigned first_row = place.down * width, first_column = place.across * width;
  const int rows_there = static_cast<int>(min(width, d - first_row));
  const int columns_there = static_cast<int>(min(width, d - first_column));
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32;
  const block_share share(layout, plan);
  double* const lane = share.lane;
  // Full: the triangle of (x − c, 1), whose last column holds the first moments. Tied: that of x − c, which all share.
  const unsigned order = tied ? d : d + 1;

  for (lane_sections section(plan.lanes, chunk, blockIdx.z); section.valid(); section.next()) {
    if (blockIdx.x == 0 && blockIdx.y == 0) tensor_float64::add_score(terms, section, lane);
    if (held.facts != nullptr &&
        held.of(share.first, static_cast<unsigned>(section.begin / plan.lanes.section_rows)).halves != 0) {
      continue;
    }
    double product[parts::down][parts::across][4] = {};
    bool any = false;
    for (unsigned k = share.first; k < share.past; ++k) {
      const double* const responsibilities = terms.values + k * terms.stride;
      const unsigned count = list_rows(responsibilities, section.begin, section.end, memory);
      if (count == 0) continue;
      any = true;
      // A centre is a float32 number.
      const double* const centre = parameters.centres + std::size_t{k} * d;
      float centre_down[loads_type::columns], centre_across[loads_type::columns];
#pragma unroll
      for (int c = 0; c < loads_type::columns; ++c) {
        const int column = static_cast<int>(thread) + 32 * c;
        centre_down[c] = column < rows_there ? static_cast<float>(centre[first_row + column]) : 0;
        centre_across[c] = column < columns_there ? static_cast<float>(centre[first_column + column]) : 0;
      }
      loads_type loads;
      const auto load = [&](unsigned begin) {
#pragma unroll
        for (int e = 0; e < loads_type::rows; ++e) {
          const unsigned at = begin + warp + static_cast<unsigned>(e * warps);
          // What is beyond the last row is read from it, and counts nothing.
          const std::size_t row = section.begin + memory.rows[min(at, count - 1)];
          loads.responsibility[e] = at < count ? responsibilities[row] : 0;
          const float* const from = chunk.rows + row * d;
#pragma unroll
          for (int c = 0; c < loads_type::columns; ++c) {
            const int column = static_cast<int>(thread) + 32 * c;
            loads.down[e][c] = column < rows_there ? from[first_row + column] : 0.0F;
            if (!diagonal) loads.across[e][c] = column < columns_there ? from[first_column + column] : 0.0F;
          }
        }
      };
      double weight = 0, first[loads_type::columns] = {};
      load(0);
      unsigned turn = 0;
      for (unsigned begin = 0; begin < count; begin += step, turn ^= 1) {
        auto& stage = memory.stage[turn];
#pragma unroll
        for (int e = 0; e < loads_type::rows; ++e) {
          const double responsibility = loads.responsibility[e];
          weight += responsibility;
          const unsigned to = (warp + static_cast<unsigned>(e * warps)) * padded(Tile) + thread;
#pragma unroll
          for (int c = 0; c < loads_type::columns; ++c) {
            const double plain = static_cast<double>(loads.down[e][c]) - static_cast<double>(centre_down[c]);
            const double scaled = responsibility * plain;
            stage.scaled[to + 32 * c] = scaled;
            first[c] += scaled;
            stage.plain[to + 32 * c] =
                diagonal ? plain : static_cast<double>(loads.across[e][c]) - static_cast<double>(centre_across[c]);
          }
        }
        __syncthreads();  // one barrier a step: the other stage was read before the last one
        if (begin + step < count) load(begin + step);
#pragma unroll 1  // for want of registers
        for (int half = 0; half < step; half += 8) {
          double a[parts::down][4];
#pragma unroll
          for (int m = 0; m < parts::down; ++m) {
            const double* const from = stage.scaled + (half + part.place) * padded(Tile) + part.row(m) + part.group;
            a[m][0] = from[0];
            a[m][1] = from[8];
            a[m][2] = from[4 * padded(Tile)];
            a[m][3] = from[4 * padded(Tile) + 8];
          }
#pragma unroll
          for (int n = 0; n < parts::across; ++n) {
            const double* const from = stage.plain + (half + part.place) * padded(Tile) + part.column(n) + part.group;
            const double b[2] = {from[0], from[4 * padded(Tile)]};
            if (part.column(n) >= columns_there) continue;
#pragma unroll
            for (int m = 0; m < parts::down; ++m) {
              if (part.row(m) >= rows_there) continue;
              if (diagonal && part.column(n) + 7 < part.row(m)) continue;  // below the diagonal
              tensor_float64::multiply_add(product[m][n], a[m], b);
            }
          }
        }
      }
      __syncthreads();  // the stages have been read
      if (diagonal) {
        auto* const kept = reinterpret_cast<double*>(&memory.stage);
#pragma unroll
        for (int c = 0; c < loads_type::columns; ++c) kept[warp * Tile + thread + 32 * c] = first[c];
        if (thread == 0) memory.weights[warp] = weight;
        __syncthreads();
        double* const component = lane + layout.header + k * layout.component_size;
        const auto column = static_cast<int>(threadIdx.x);
        if (column < rows_there) {
          double sum = 0;
          for (int w = 0; w < warps; ++w) sum += kept[w * Tile + column];
          const unsigned i = first_row + threadIdx.x;
          component[tied ? i : statistics_layout::triangle_row(order, i) + d] += sum;
        }
        if (threadIdx.x == 0 && place.down == 0) {
          double sum = 0;
          for (const double of_warp : memory.weights) sum += of_warp;
          component[layout.weight] += sum;
        }
        __syncthreads();  // what was kept has been read
      }
    }
    if (!any) continue;
    double* const triangle =
        lane + (tied ? layout.shared : layout.header + std::size_t{blockIdx.y} * layout.component_size);
#pragma unroll
    for (int m = 0; m < parts::down; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int in_tile = part.row(m) + 8 * half + part.group;
        if (in_tile >= rows_there) continue;
        const unsigned row = first_row + static_cast<unsigned>(in_tile);
        double* const to = triangle + statistics_layout::triangle_row(order, row);
#pragma unroll
        for (int n = 0; n < parts::across; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int across = part.column(n) + 2 * part.place + e;
            const unsigned column = first_column + static_cast<unsigned>(across);
            if (across >= columns_there || column < row) continue;
            to[column] += product[m][n][2 * half + e];
          }
        }
      }
    }
  }
}

// Columns of a tile: as few as so many tiles need, of which the products take eight at a time.
unsigned tile_width(unsigned columns) {
  constexpr unsigned most = 128;
  const unsigned tiles = (columns + most - 1) / most;
  return ((columns + tiles - 1) / tiles + 7) / 8 * 8;
}

constexpr std::size_t ceiling_of(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Of listed rows: lanes and sections by what they cost where all components hold all rows. Blocks that are more than
// multiprocessors, since components hold rows in unequal parts.
tensor_float64::lane_plan plan_listed(const accumulator_shape& shape, std::size_t blocks, std::size_t turns) {
  tensor_float64::lane_plan plan;
  plan.size = shape.layout.size();
  const std::size_t processors = shape.multiprocessors;
  const std::size_t affordable =
      std::max<std::size_t>(1, tensor_float64::most_lane_bytes / (plan.size * sizeof(double)));
  const std::size_t least = ceiling_of(turns * processors, blocks);
  const std::size_t own_section_cost = std::min(section_cost, component_section_cost * shape.layout.components());
  std::size_t least_cost = 0;
  for (std::size_t rows = tensor_float64::most_section_rows; rows >= tensor_float64::least_section_rows; rows /= 2) {
    const std::size_t sections = ceiling_of(shape.share_rows, rows);
    const std::size_t most = std::min({2 * least, sections, affordable, tensor_float64::most_lanes});
    for (std::size_t lanes = std::min(least, most); lanes <= most; ++lanes) {
      const std::size_t cost =
          ceiling_of(blocks * lanes, processors) * ceiling_of(sections, lanes) * (rows + own_section_cost);
      if (least_cost != 0 && cost >= least_cost) continue;
      least_cost = cost;
      plan.section_rows = rows;
      plan.lanes = static_cast<unsigned>(lanes);
    }
  }
  return plan;
}

template <int Tile>
void launch(const kernel_layout& layout, const row_chunk& chunk, const prepared_parameters<float>& parameters,
            const row_terms& terms, const held_sections& held, const moment_plan& plan, cudaStream_t stream) {
  constexpr int bytes = sizeof(moment_memory<Tile>);
  const unsigned width = tile_width(layout.columns);
  cuda::launch_in_turn(listed_moments<Tile>, moment_blocks(layout, plan, width), threads, bytes, stream, layout, chunk,
                       parameters.in_double, terms, held, plan, parameters.stopped, width);
}

}  // namespace

bool shares_origin(const accumulator_shape& shape) {
  const std::size_t components = shape.layout.components();
  return shape.layout.type() == covariance_type::tied && components >= least_origin_components &&
         (components - 1) * shape.share_rows >= least_origin_pairs;
}

moment_plan plan_moments(const accumulator_shape& shape, const kernel_layout& layout) {
  const bool tied = layout.type == covariance_type::tied;
  const std::size_t tiles = tensor_float64::triangle_tiles(layout.columns, tile_width(layout.columns));
  const std::size_t blocks = tiles * (tied ? 1 : layout.components);
  moment_plan plan;
  if (shape.share_rows < least_share_rows) {
    plan.lanes = tensor_float64::plan_lanes(shape, blocks, turns_of_blocks);
  } else if (tied) {
    plan.lanes = plan_listed(shape, blocks, turns_of_listed_blocks);
  } else {
    plan.lanes = plan_listed(shape, std::size_t{jobs_of(layout.columns)} * layout.components, turns_of_framed_blocks);
  }
  if (tied && !shares_origin(shape)) {
    const std::size_t affordable = tensor_float64::most_lane_bytes / (plan.lanes.size * sizeof(double));
    const std::size_t wanted = turns_of_groups * shape.multiprocessors / (tiles * plan.lanes.lanes);
    plan.groups = static_cast<unsigned>(
        std::max<std::size_t>(1, std::min({std::size_t{layout.components}, wanted, affordable / plan.lanes.lanes})));
    // As many as have components.
    plan.groups = ceiling(layout.components, plan.group_components(layout.components));
  }
  return plan;
}

dim3 moment_blocks(const kernel_layout& layout, const moment_plan& plan, unsigned width) {
  return {static_cast<unsigned>(tensor_float64::triangle_tiles(layout.columns, width)),
          layout.type == covariance_type::tied ? plan.groups : layout.components, plan.lanes.lanes};
}

void moments(const kernel_layout& layout, const row_chunk& chunk, const prepared_parameters<float>& parameters,
             const row_terms& terms, const held_sections& held, const moment_plan& plan, cudaStream_t stream) {
  const auto kernel = tile_width(layout.columns) <= 96 ? launch<96> : launch<128>;
  kernel(layout, chunk, parameters, terms, held, plan, stream);
}

}  // namespace shoal::gmm::tensor_wide
