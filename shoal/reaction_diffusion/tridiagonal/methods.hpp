// One system by each method. What they return is the row whose pivot was zero, or no_row.
#pragma once

#include <cstddef>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/tridiagonal/systems.hpp>

namespace shoal::reaction_diffusion::tridiagonal {

inline constexpr std::size_t no_row = static_cast<std::size_t>(-1);

/// `solution` may be `system.right` for all of them; `system.batch` is not looked at.
template <class Scalar>
std::size_t solve_by_thomas(const systems<Scalar>& system, Scalar* solution);

template <class Scalar>
std::size_t solve_by_cyclic_reduction(const systems<Scalar>& system, Scalar* solution);

template <class Scalar>
std::size_t solve_by_parallel_cyclic_reduction(const systems<Scalar>& system, Scalar* solution);

std::size_t solve_by_partition(const systems<double>& system, double* solution, executor& executor);
std::size_t solve_by_partition(const systems<float>& system, float* solution, executor& executor);

/// Throws numerical_error that names the row.
[[noreturn]] void refuse_pivot(std::size_t which, std::size_t batch, std::size_t row);

/// tridiagonal::solve() on threads that are there already.
template <class Scalar>
void solve(const systems<Scalar>& problem, Scalar* solution, tridiagonal::method method, executor& executor);

}  // namespace shoal::reaction_diffusion::tridiagonal
