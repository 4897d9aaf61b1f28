// Sizes of the kernels that move rows to one origin, and where things lie in shared memory while float64 ones are
// there.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <shoal/gmm/cuda/few_columns/kernels.hpp>

namespace shoal::gmm::few_columns {

/// Columns that there is room for; fewer are filled up with zeros. Components and rows of one product.
inline constexpr unsigned origin_columns = 8, origin_components = 8, origin_rows = 8;
/// Of components, that a warp has registers for.
inline constexpr unsigned most_origin_tiles = 2;
inline constexpr unsigned most_origin_components = most_origin_tiles * origin_components;

/// Components of which a warp's threads 4 g + q have one each at a time, q, of row g. A product's columns 2 q and 2 q +
/// 1 are y 2 p and 2 p + 1 of component q; p = 0 and 1 take one number of each thread, the others two.
inline constexpr unsigned quad = 4, quad_factors = 3;

/// Of a row in shared memory: four rows lie in other banks. The same for components' offsets.
inline constexpr unsigned origin_row_stride = 12, origin_offset_stride = 10;

/// Powers of two in a table.
inline constexpr unsigned origin_power_bits = 10, origin_powers = 1U << origin_power_bits;

/// Rows that a warp takes at a time.
inline constexpr unsigned origin_tile_rows = 32;

/// Numbers of a thread that go on from one launch to the next, at most.
inline constexpr unsigned origin_kept = 28;

/// What a launch is told where rows may be moved to one origin: sums about it stay in registers for all of a launch.
struct origin_arguments : kernel_arguments<double> {
  double* states = nullptr;  ///< [shards][lanes][origin_kept][threads] what a launch leaves to the next one
  bool whole = false;        ///< there is no next one
};

/// What stands for compiled_kernel::origin_function where there are more than origin_components.
const void* find_many_origin_kernel(std::size_t columns);

/// In elements.
struct origin_places {
  unsigned factors = 0;  ///< [quads][quad_factors][32 threads][2], as a warp's threads hold them
  unsigned offsets;      ///< [quads][quad][origin_offset_stride]
  unsigned constants;    ///< [most_origin_components]
  unsigned origin;       ///< [8]
  unsigned shifts;       ///< [components][columns] of components' centres from there
  unsigned heads;        ///< [warps][2]
  unsigned powers;       ///< [origin_powers] of two
  unsigned totals;       ///< [components][sums]
  unsigned warps;        ///< [warps][warp_size]: 32 rows and their responsibilities, then the warps' sums
  unsigned share_stride;
  unsigned warp_size;
  unsigned size;

  __host__ __device__ origin_places(unsigned columns, unsigned components, unsigned warp_count) {
    const unsigned quads = (components + quad - 1) / quad;
    offsets = 64 * quad_factors * quads;
    constants = offsets + quad * origin_offset_stride * quads;
    origin = constants + most_origin_components;
    shifts = origin + 8;
    heads = shifts + (columns * components + 1) / 2 * 2;
    powers = heads + 2 * warp_count;
    totals = powers + origin_powers;
    warps = totals + ((columns + 1) * (columns + 2) / 2 * components + 1) / 2 * 2;
    share_stride = components <= 8 ? 12 : 20;
    warp_size = 32 * (origin_row_stride + share_stride);
    size = warps + warp_count * warp_size;
  }
};

}  // namespace shoal::gmm::few_columns
