// The kernels that turn rows into bytes, and that measure many points by them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/estimation/cuda/coarse_rows.hpp>
#include <shoal/estimation/cuda/seeding_kernels.hpp>

namespace shoal {

/// Fills in what `rows` [coarse.count][columns] are in bytes; `padded` rows are written, a multiple of coarse_unit.
template <class Scalar>
void coarsen(const Scalar* rows, const coarse_scale& scale, const coarse_rows& coarse, std::size_t padded,
             cudaStream_t stream);

/// apply_points() of seeding_kernels.hpp, to the bit; apply_range() where there is one. `coarse` has whole blocks of
/// block_rows rows, and `coarse_points` whole units of points from the first on that is applied.
template <class Scalar, class Work>
void apply_points_coarsely(const Scalar* rows, const coarse_rows& coarse, const coarse_scale& scale, const Work* points,
                           const coarse_rows& coarse_points, std::int32_t first, const point_range* range, Work* least,
                           std::int32_t* owner, cudaStream_t stream);

}  // namespace shoal
