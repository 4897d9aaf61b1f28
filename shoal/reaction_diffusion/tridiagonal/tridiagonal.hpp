// Tridiagonal systems of linear equations, one or many, on the host. A second door of this room: usable by itself.
#pragma once

#include <cstddef>

#include <shoal/reaction_diffusion/tridiagonal/systems.hpp>

namespace shoal::reaction_diffusion::tridiagonal {

/// Writes x to `solution` [batch][rows], which may be `right`. `threads` 0: one for each hardware thread. The bits do
/// not depend on the threads. Throws numerical_error, which names system and row, when a pivot is zero.
void solve(const systems<double>& problem, double* solution, tridiagonal::method method = method::partition,
           std::size_t threads = 1);
void solve(const systems<float>& problem, float* solution, tridiagonal::method method = method::partition,
           std::size_t threads = 1);

}  // namespace shoal::reaction_diffusion::tridiagonal
