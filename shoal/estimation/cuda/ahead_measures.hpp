// Which rows are nearer to rows that were drawn than to all points before.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/estimation/cuda/ahead_rows.hpp>

namespace shoal {

/// Rows of fewer columns are measured as soon as bytes would rule them out.
inline constexpr unsigned least_coarse_ahead_columns = 5;

/// Lists them, and measures the rows that were drawn against each other, where they are new.
template <class Scalar, class Work>
void measure_ahead(const ahead_rows<Scalar, Work>& of, std::size_t multiprocessors, cudaStream_t stream);

}  // namespace shoal
