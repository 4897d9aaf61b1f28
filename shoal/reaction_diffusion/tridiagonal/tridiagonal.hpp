// Tridiagonal systems of linear equations, one or many, on the host or a GPU. A second door of this room: usable by
// itself.
#pragma once

#include <cstddef>

#include <shoal/execution/device_choice.hpp>
#include <shoal/reaction_diffusion/tridiagonal/systems.hpp>

namespace shoal::reaction_diffusion::tridiagonal {

/// Writes x to `solution` [batch][rows], which may be `right`. `threads` 0: one for each hardware thread. The bits do
/// not depend on the threads. Throws numerical_error, which names system and row, when a pivot is zero.
void solve(const systems<double>& problem, double* solution, tridiagonal::method method = method::partition,
           std::size_t threads = 1);
void solve(const systems<float>& problem, float* solution, tridiagonal::method method = method::partition,
           std::size_t threads = 1);

/// The same by the partition method on the first CUDA device that is chosen; the arrays are in the host's memory or in
/// that GPU's, `solution` where `right` is. Systems of at most 2048 rows take one pass over memory, a thread block
/// each. The bits are not those of the host. Throws bad_argument when no device is chosen, not_built where CUDA was not
/// built.
void solve(const systems<double>& problem, double* solution, const device_choice& device);
void solve(const systems<float>& problem, float* solution, const device_choice& device);

}  // namespace shoal::reaction_diffusion::tridiagonal
