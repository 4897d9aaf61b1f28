// A block takes a tile of the plane through all steps of a pass in its registers: a warp has some rows of it, a lane
// consecutive columns. Neighbours in a row come by shuffles, the rows of other warps through shared memory. What went
// wrong at the tile's edges is thrown away.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/reaction_diffusion/cuda/explicit_kernels.hpp>
#include <shoal/reaction_diffusion/cuda/fused.cuh>
#include <shoal/reaction_diffusion/cuda/lane_exchange.cuh>

namespace shoal::reaction_diffusion {
namespace {

// Rows of a warp, warps of a block, and blocks that a multiprocessor holds.
constexpr int warp_rows = 8;
constexpr int warps = 8;
constexpr int blocks_at_once = 2;
constexpr int tile_rows = warp_rows * warps;

template <class Scalar>
struct plane_pass {
  const Scalar* v;
  const Scalar* w;
  Scalar* new_v;
  Scalar* new_w;
  int rows, columns;
  long long pitch;
  int steps;
  bool top_mirrors, bottom_mirrors, around;
  explicit_coefficients<Scalar> by;
};

// Where a warp's part of a tile lies in the plane.
struct place {
  int row, column;  // of a lane's first node
};

template <class Scalar, int rows>
struct strip {
  static constexpr int width = node_vector<Scalar>::size;
  Scalar nodes[rows][width];

  // Zeros stand for nodes that do not exist. Where all do (`inside`), no branch lies between the loads.
  __device__ void load(const Scalar* from, const plane_pass<Scalar>& pass, const place& at, bool inside) {
    if (inside) {
      node_vector<Scalar> read[rows];
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        read[i] = *reinterpret_cast<const node_vector<Scalar>*>(from + (at.row + i) * pass.pitch + at.column);
      }
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int k = 0; k < width; ++k) nodes[i][k] = read[i].values[k];
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = at.row + i;
      const Scalar* const line = from + row * pass.pitch;
      node_vector<Scalar> read{};
      if (row >= 0 && row < pass.rows) {
        if (at.column >= 0 && at.column + width <= pass.columns) {
          read = *reinterpret_cast<const node_vector<Scalar>*>(line + at.column);
        } else {
#pragma unroll
          for (int k = 0; k < width; ++k) {
            const int column = at.column + k;
            if (pass.around) {
              read.values[k] = line[(column % pass.columns + pass.columns) % pass.columns];
            } else if (column >= 0 && column < pass.columns) {
              read.values[k] = line[column];
            }
          }
        }
      }
#pragma unroll
      for (int k = 0; k < width; ++k) nodes[i][k] = read.values[k];
    }
  }

  // Rows [first, end) alone.
  __device__ void store(Scalar* to, const plane_pass<Scalar>& pass, const place& at, int first, int end) const {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = at.row + i;
      if (row < first || row >= end) continue;
      Scalar* const line = to + row * pass.pitch;
      if (at.column + width <= pass.columns) {
        node_vector<Scalar> mine;
#pragma unroll
        for (int k = 0; k < width; ++k) mine.values[k] = nodes[i][k];
        *reinterpret_cast<node_vector<Scalar>*>(line + at.column) = mine;
      } else {
#pragma unroll
        for (int k = 0; k < width; ++k) {
          if (at.column + k < pass.columns) line[at.column + k] = nodes[i][k];
        }
      }
    }
  }
};

// The rows of a tile that warps show each other: the first and the last of each.
template <class Scalar>
struct shown_rows {
  node_vector<Scalar> rows[warps][2][lanes];
};

// Adds up the four neighbours of a lane's nodes in one row.
template <bool at_wall, class Scalar, int width>
__device__ void add_neighbours(const plane_pass<Scalar>& pass, const place& at, const Scalar (&above)[width],
                               const Scalar (&here)[width], const Scalar (&below)[width], Scalar (&sum)[width]) {
  const Scalar left = __shfl_up_sync(every_lane, here[width - 1], 1);
  const Scalar right = __shfl_down_sync(every_lane, here[0], 1);
#pragma unroll
  for (int k = 0; k < width; ++k) {
    Scalar before = k > 0 ? here[k > 0 ? k - 1 : 0] : left;
    Scalar behind = k + 1 < width ? here[k + 1 < width ? k + 1 : 0] : right;
    Scalar over = above[k], under = below[k];
    if constexpr (at_wall) {
      if (!pass.around && at.column + k == 0) before = behind;
      if (!pass.around && at.column + k == pass.columns - 1) behind = before;
      if (pass.top_mirrors && at.row == 0) over = under;
      if (pass.bottom_mirrors && at.row == pass.rows - 1) under = over;
    }
    sum[k] = sum_of(sum_of(before, behind), sum_of(over, under));
  }
}

template <bool recovery_spreads, bool at_wall, class Scalar, int rows>
__device__ void step_strip(const plane_pass<Scalar>& pass, const place& at, int warp, int lane,
                           shown_rows<Scalar> (*shown)[2], strip<Scalar, rows>& v, strip<Scalar, rows>& w) {
  constexpr int width = strip<Scalar, rows>::width;
  const explicit_coefficients<Scalar>& by = pass.by;
  const auto show = [&](const strip<Scalar, rows>& from, shown_rows<Scalar>& to) {
    node_vector<Scalar> first, last;
#pragma unroll
    for (int k = 0; k < width; ++k) {
      first.values[k] = from.nodes[0][k];
      last.values[k] = from.nodes[rows - 1][k];
    }
    to.rows[warp][0][lane] = first;
    to.rows[warp][1][lane] = last;
  };
  const auto look = [&](const shown_rows<Scalar>& from, Scalar(&above)[width], Scalar(&below)[width]) {
    const node_vector<Scalar> over = from.rows[warp > 0 ? warp - 1 : 0][1][lane];
    const node_vector<Scalar> under = from.rows[warp + 1 < warps ? warp + 1 : warp][0][lane];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      above[k] = over.values[k];
      below[k] = under.values[k];
    }
  };
  for (int step = 0; step < pass.steps; ++step) {
    show(v, shown[0][step % 2]);
    if constexpr (recovery_spreads) show(w, shown[1][step % 2]);
    __syncthreads();
    Scalar above_v[width], below_v[width], above_w[width], below_w[width];
    look(shown[0][step % 2], above_v, below_v);
    if constexpr (recovery_spreads) look(shown[1][step % 2], above_w, below_w);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const place here{at.row + i, at.column};
      Scalar old_v[width], old_w[width], sides_v[width], sides_w[width];
#pragma unroll
      for (int k = 0; k < width; ++k) {
        old_v[k] = v.nodes[i][k];
        old_w[k] = w.nodes[i][k];
      }
      if (i + 1 < rows) {
        add_neighbours<at_wall>(pass, here, above_v, old_v, v.nodes[i + 1 < rows ? i + 1 : i], sides_v);
        if constexpr (recovery_spreads) {
          add_neighbours<at_wall>(pass, here, above_w, old_w, w.nodes[i + 1 < rows ? i + 1 : i], sides_w);
        }
      } else {
        add_neighbours<at_wall>(pass, here, above_v, old_v, below_v, sides_v);
        if constexpr (recovery_spreads) add_neighbours<at_wall>(pass, here, above_w, old_w, below_w, sides_w);
      }
#pragma unroll
      for (int k = 0; k < width; ++k) {
        const Scalar slope = fused(old_v[k], fused(-by.step, old_v[k], by.quadratic), by.rest);
        const Scalar flow = fused(-by.step, old_w[k], product_of(by.spread, sides_v[k]));
        v.nodes[i][k] = fused(slope, old_v[k], flow);
        w.nodes[i][k] = fused(by.decay, old_w[k], product_of(by.gain, old_v[k]));
        if constexpr (recovery_spreads) w.nodes[i][k] = fused(by.recovery_spread, sides_w[k], w.nodes[i][k]);
        above_v[k] = old_v[k];
        above_w[k] = old_w[k];
      }
    }
  }
}

template <bool recovery_spreads, class Scalar>
__global__ void __launch_bounds__(warps* lanes, blocks_at_once)
    step_plane_kernel(const __grid_constant__ plane_pass<Scalar> pass, int halo) {
  constexpr int width = node_vector<Scalar>::size, tile_columns = width * lanes;
  __shared__ shown_rows<Scalar> shown[recovery_spreads ? 2 : 1][2];
  const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
  const int tile_row = static_cast<int>(blockIdx.y) * (tile_rows - 2 * pass.steps) - pass.steps;
  const int tile_column = static_cast<int>(blockIdx.x) * (tile_columns - 2 * halo) - halo;
  const place at{tile_row + warp * warp_rows, tile_column + lane * width};
  strip<Scalar, warp_rows> v, w;
  const bool at_wall = tile_row <= 0 || tile_column <= 0 || tile_row + tile_rows >= pass.rows ||
                       tile_column + tile_columns >= pass.columns;
  v.load(pass.v, pass, at, !at_wall);
  w.load(pass.w, pass, at, !at_wall);
  if (at_wall) {
    step_strip<recovery_spreads, true>(pass, at, warp, lane, shown, v, w);
  } else {
    step_strip<recovery_spreads, false>(pass, at, warp, lane, shown, v, w);
  }
  const int local = lane * width;
  if (local < halo || local >= tile_columns - halo || at.column >= pass.columns) return;
  const int first = tile_row + pass.steps;
  const int end = min(tile_row + tile_rows - pass.steps, pass.rows);
  v.store(pass.new_v, pass, at, first, end);
  w.store(pass.new_w, pass, at, first, end);
}

}  // namespace

template <class Scalar>
void step_plane(const field<const Scalar>& from, const field<Scalar>& to, const plane_part& part, int steps,
                const explicit_coefficients<Scalar>& by, cudaStream_t stream) {
  constexpr int width = node_vector<Scalar>::size;
  const int halo = (steps + width - 1) / width * width;
  const plane_pass<Scalar> pass{from.v,
                                from.w,
                                to.v,
                                to.w,
                                static_cast<int>(part.rows),
                                static_cast<int>(part.columns),
                                static_cast<long long>(part.pitch),
                                steps,
                                part.top == window_end::mirror,
                                part.bottom == window_end::mirror,
                                part.around,
                                by};
  const std::size_t own_rows = static_cast<std::size_t>(tile_rows - 2 * steps);
  const std::size_t own_columns = static_cast<std::size_t>(width * lanes - 2 * halo);
  const dim3 blocks(static_cast<unsigned>((part.columns + own_columns - 1) / own_columns),
                    static_cast<unsigned>((part.rows + own_rows - 1) / own_rows));
  if (by.recovery_spread == 0) {
    step_plane_kernel<false><<<blocks, warps * lanes, 0, stream>>>(pass, halo);
  } else {
    step_plane_kernel<true><<<blocks, warps * lanes, 0, stream>>>(pass, halo);
  }
  cuda::check_launch("step_plane");
}

template void step_plane(const field<const double>&, const field<double>&, const plane_part&, int,
                         const explicit_coefficients<double>&, cudaStream_t);
template void step_plane(const field<const float>&, const field<float>&, const plane_part&, int,
                         const explicit_coefficients<float>&, cudaStream_t);

}  // namespace shoal::reaction_diffusion
