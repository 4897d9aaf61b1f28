// Full covariances of few columns and many components that lie near each other: log-densities are a product of
// coefficients with the rows' features, z and z zᵀ in a common frame, and moments are a product of responsibilities
// with the same features, on tensor cores, as in warp_product_kernel.cuh. More components than one warp has registers
// for are divided among the warps of a team, which have the same rows: each finds its components' densities once and
// keeps them in registers, and the warps tell each other what these sum to, through shared memory, once a stage of
// rows.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/circle_flush.cuh>
#include <shoal/gmm/cuda/few_columns/circle_rows.cuh>
#include <shoal/gmm/cuda/few_columns/circle_sums.cuh>

namespace shoal::gmm::few_columns {

/// Adds the rows of a group that belong to the warp's team. `turn` counts the stages that the team has read.
template <class Shape>
__device__ void add_team_rows(const circle_arguments& a, const circle_team<Shape>& team,
                              const circle_components<Shape>& components, const product_column* frame, unsigned* far,
                              const float* rows, unsigned count, unsigned& turn, row_sums& head, bool& any_far,
                              circle_moments<Shape>& sums) {
  const unsigned lane = threadIdx.x % 32, stride = a.teams * Shape::stage_rows;
  unsigned first = team.team * Shape::stage_rows;
  if (first >= count) return;
  team_columns<Shape> next;
  load_columns<Shape>(next, team, rows, a.columns, first, count);
  make_features<Shape>(next, team, team.stage_of(turn % 2), frame);
  load_columns<Shape>(next, team, rows, a.columns, first + stride, count);
  team.sync();
#pragma unroll 1
  for (bool begins = true; first < count; first += stride, begins = false, ++turn) {
    const unsigned buffer = turn % 2;
    unsigned char* const stage = team.stage_of(buffer);
    float* const row_sums_of = team.sums_of(buffer);
    circle_terms<Shape> terms;
    find_circle_scores<Shape>(terms, components, stage);
    exponentiate_terms<Shape>(terms);
    leave_of_rows<Shape>(terms, row_sums_of + team.part * Shape::stage_rows, add_floats());
    if (first + stride < count) {
      if (!begins) team.read->wait((turn - 1) % 2);
      make_features<Shape>(next, team, team.stage_of(buffer ^ 1), frame);
      load_columns<Shape>(next, team, rows, a.columns, first + 2 * stride, count);
    }
    team.sync();
    circle_row row;
    row.sum = combine_of_row<Shape>(row_sums_of, team.parts, add_floats());
    const unsigned own = first + lane % Shape::stage_rows;
    const bool inside = own < count;
    const bool plain = row.sum >= least_warp_sum && row.sum <= static_cast<float>(a.components);
    // Rows beyond the last are looked at, too: they may be what is left of a far one.
    if (__any_sync(~0U, !plain)) {
      circle_row_terms<Shape> again;  // whose place in memory no other terms need
      row = scale_terms_by_best<Shape>(again, team, components, stage, row_sums_of, a.components);
      again.copy_to(terms);
    }
    if (team.part == 0 && lane < Shape::stage_rows && inside) {
      if (row.far) {
        any_far = true;
        atomicOr(far + own / 32, 1U << own % 32);
      } else {
        head.log_likelihood +=
            static_cast<double>(row.best) + static_cast<double>(approximate_logarithm_of_two(row.sum));
        head.weight += 1;
      }
    }
    with_row_values<Shape>(terms, inside ? responsibility_scale * reciprocal(row.sum) : 0.0F,
                           [](float& term, float scale) { term *= scale; });
    add_circle_moments<Shape>(sums, terms, stage);
    team.read->arrive();
  }
}

/// Adds the groups of a piece that belong to the block's lane.
template <class Shape>
__global__ void __launch_bounds__(32 * Shape::sizes.warps(), 1)
    accumulate_by_circles(const __grid_constant__ circle_arguments a) {
  extern __shared__ __align__(128) unsigned char memory[];
  cuda::wait_for_predecessor();
  if (*a.parameters.stopped != 0) return;
  constexpr circle_sizes sizes = Shape::sizes;
  const circle_places places(sizes, a.parts, a.teams);
  auto* const frame = reinterpret_cast<product_column*>(memory + places.columns);
  auto* const constants = reinterpret_cast<float*>(memory + places.constants);
  auto* const far = reinterpret_cast<unsigned*>(memory + places.far);
  const circle_team<Shape> team(a, memory, places);
  if (threadIdx.x < most_columns) frame[threadIdx.x] = a.mixture.columns[threadIdx.x];
  for (unsigned k = threadIdx.x; k < a.parts * Shape::sizes.components(); k += blockDim.x) {
    constants[k] = a.mixture.constants[k].constant;
  }
  for (unsigned i = threadIdx.x; i < circle_places::far_words; i += blockDim.x) far[i] = 0;
  for (unsigned e = threadIdx.x; e < (a.columns + 1) * (a.columns + 2) / 2; e += blockDim.x) {
    constexpr warp_circle circle = Shape::circle;
    unsigned i = 0, j = 0;
    triangle_element(a.columns + 1, e, i, j);
    const unsigned own = j < a.columns ? circle.pair_place(i, j) : 0;
    reinterpret_cast<triangle_source*>(memory + places.elements)[e] = {
        static_cast<unsigned char>(i), static_cast<unsigned char>(j), static_cast<unsigned char>(own), 0};
  }
  // [tiles][steps][2 terms][32] there, and as many terms as there are products of here.
  for (unsigned i = threadIdx.x; i < a.parts * Shape::tiles * Shape::steps * Shape::terms * 32; i += blockDim.x) {
    const unsigned from = i / (32 * Shape::terms) * 64 + i % (32 * Shape::terms);
    reinterpret_cast<uint4*>(memory + places.coefficients)[i] =
        __ldg(reinterpret_cast<const uint4*>(a.mixture.operands) + from);
  }
  if (threadIdx.x < a.teams) {
    reinterpret_cast<phase_barrier*>(memory + places.barriers)[threadIdx.x].make(32 * a.parts);
  }
  __syncthreads();
  const circle_components<Shape> components(memory, places, team.part);
  lane_sums lane = lane_of_block(a);
  unsigned turn = 0;
  for_each_group(a, [&](std::size_t begin, std::size_t end) {
    const auto count = static_cast<unsigned>(end - begin);
    const float* const rows = a.rows + begin * a.columns;
    row_sums head;
    bool any_far = false;
    circle_moments<Shape> sums = {};
    add_team_rows<Shape>(a, team, components, frame, far, rows, count, turn, head, any_far, sums);
    any_far = __syncthreads_or(any_far ? 1 : 0) != 0;
    flush_circle<Shape>(a, team, memory, places, sums, lane);
    flush_circle_heads(a, reinterpret_cast<row_sums*>(memory + places.heads), head, lane);
    lane.empty = false;
    if (any_far) {
      __syncthreads();
      far_circle_rows(a, far, reinterpret_cast<double*>(memory + places.stages), rows, count, lane);
      __syncthreads();  // all have read the words behind the last far row
      for (unsigned i = threadIdx.x; i < circle_places::far_words; i += blockDim.x) far[i] = 0;
    }
    __syncthreads();
  });
  finish_lane(a, lane);
}

template <int Columns, bool Large>
const void* find_circle_kernel_of(unsigned terms) {
  return terms == 2 ? reinterpret_cast<const void*>(&accumulate_by_circles<circle_shape<Columns, 2, Large>>)
                    : reinterpret_cast<const void*>(&accumulate_by_circles<circle_shape<Columns, 1, Large>>);
}

}  // namespace shoal::gmm::few_columns
