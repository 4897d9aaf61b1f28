// The masses of tiles of rows, and draws for many steps at once.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/estimation/cuda/ahead_rows.hpp>

namespace shoal {

/// Sums masses, and draws rows where too few are left.
template <class Scalar, class Work>
void draw_ahead(const ahead_rows<Scalar, Work>& of, cudaStream_t stream);

}  // namespace shoal
