// Tridiagonal systems in the memory of a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/reaction_diffusion/tridiagonal/systems.hpp>

namespace shoal::reaction_diffusion::tridiagonal {

/// Systems of at most so many rows are solved by one block each, in one pass over memory.
inline constexpr std::size_t most_rows_of_block = 2048;

/// Values that solve_on() needs beside the systems.
template <class Scalar>
std::size_t scratch_values(std::size_t rows);

/// Solves the systems in the order of `stream`; `solution` may be `problem.right`. Lowers `refused` to the place, in
/// the arrays, of the first row whose pivot is zero.
template <class Scalar>
void solve_on(cudaStream_t stream, const systems<Scalar>& problem, Scalar* solution, Scalar* scratch,
              unsigned long long* refused);

}  // namespace shoal::reaction_diffusion::tridiagonal
