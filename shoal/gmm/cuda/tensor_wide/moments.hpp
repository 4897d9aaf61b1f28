// The moments of wide rows, after their responsibilities.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_wide/held_rows.hpp>

namespace shoal::gmm::tensor_wide {

/// How blocks share the moments of a shape. It depends on the shape alone, for the bits do.
struct moment_plan {
  tensor_float64::lane_plan lanes;  ///< of one group
  unsigned groups = 1;  ///< of components that are tied; each has lanes of its own, one group's after another's

  __host__ __device__ unsigned group_components(unsigned components) const {
    return (components + groups - 1) / groups;
  }
  /// The lanes of all groups.
  tensor_float64::lane_plan all() const {
    tensor_float64::lane_plan every = lanes;
    every.lanes *= groups;
    return every;
  }
};
moment_plan plan_moments(const accumulator_shape& shape, const kernel_layout& layout);

/// Whether tied components are summed about one origin (tied_sums.hpp), but where they are too far apart.
bool shares_origin(const accumulator_shape& shape);

#ifdef __CUDACC__
/// What a block of (tile, component or group, lane) sums: components first … past − 1, in its lane.
struct block_share {
  unsigned first, past;
  double* lane;

  __device__ block_share(const kernel_layout& layout, const moment_plan& plan)
      : first(blockIdx.y), past(blockIdx.y + 1) {
    unsigned number = blockIdx.z;
    if (layout.type == covariance_type::tied) {
      const unsigned share = plan.group_components(layout.components);
      first = blockIdx.y * share;
      past = first + share < layout.components ? first + share : layout.components;
      number += blockIdx.y * plan.lanes.lanes;
    }
    lane = plan.lanes.sums + std::size_t{number} * plan.lanes.size;
  }
};
#endif

/// Blocks of a launch: tiles of `width` columns, components or groups of them, lanes.
dim3 moment_blocks(const kernel_layout& layout, const moment_plan& plan, unsigned width);

/// Adds a chunk's moments under its responsibilities to the lanes, in float64: of those sections for which float16
/// terms are too coarse, and the score of all.
void moments(const kernel_layout& layout, const tensor_float64::row_chunk<float>& chunk,
             const prepared_parameters<float>& parameters, const tensor_float64::row_terms& terms,
             const held_sections& held, const moment_plan& plan, cudaStream_t stream);
/// The moments of the other sections, by products of float16 terms.
void half_moments(const problem& mixture, const row_chunk& chunk, const held_sections& held, const moment_plan& plan,
                  cudaStream_t stream);

}  // namespace shoal::gmm::tensor_wide
