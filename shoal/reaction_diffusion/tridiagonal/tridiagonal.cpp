// One system by all threads, or many systems by a thread each.
#include <shoal/reaction_diffusion/tridiagonal/tridiagonal.hpp>

#include <memory>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

namespace shoal::reaction_diffusion::tridiagonal {
namespace {

// From here on a system has work for several threads.
constexpr std::size_t large = std::size_t{1} << 15;

template <class Scalar>
std::size_t solve_one(const systems<Scalar>& system, Scalar* solution, tridiagonal::method method, executor& executor) {
  switch (method) {
    case method::thomas:
      return solve_by_thomas(system, solution);
    case method::cyclic_reduction:
      return solve_by_cyclic_reduction(system, solution);
    case method::parallel_cyclic_reduction:
      return solve_by_parallel_cyclic_reduction(system, solution);
    case method::partition:
      return solve_by_partition(system, solution, executor);
  }
  throw bad_argument("method must be one of the values of tridiagonal::method");
}

template <class Scalar>
void solve_one_of(const systems<Scalar>& problem, std::size_t which, Scalar* solution, tridiagonal::method method,
                  executor& executor) {
  const std::size_t first = which * problem.rows;
  const systems<Scalar> one{problem.lower + first, problem.diagonal + first, problem.upper + first,
                            problem.right + first, problem.rows};
  const std::size_t row = solve_one(one, solution + first, method, executor);
  if (row != no_row) refuse_pivot(which, problem.batch, row);
}

}  // namespace

void refuse_pivot(std::size_t which, std::size_t batch, std::size_t row) {
  throw numerical_error(fmt::format(
      "tridiagonal system {} of {}: the pivot of row {} is zero; these methods do not exchange rows, so the "
      "matrix must be diagonally dominant, or symmetric and definite",
      which, batch, row));
}

template <class Scalar>
void solve(const systems<Scalar>& problem, Scalar* solution, tridiagonal::method method, executor& executor) {
  if (problem.rows == 0) return;
  if (problem.batch == 1 || (method == method::partition && problem.rows >= large)) {
    for (std::size_t i = 0; i < problem.batch; ++i) solve_one_of(problem, i, solution, method, executor);
    return;
  }
  executor.run(problem.batch, 1, [&](std::size_t i, const team_member&) {
    const std::unique_ptr<shoal::executor> alone = make_sequential();
    solve_one_of(problem, i, solution, method, *alone);
  });
}

template void solve<double>(const systems<double>&, double*, tridiagonal::method, executor&);
template void solve<float>(const systems<float>&, float*, tridiagonal::method, executor&);

void solve(const systems<double>& problem, double* solution, tridiagonal::method method, std::size_t threads) {
  solve(problem, solution, method, *make_executor(threads));
}

void solve(const systems<float>& problem, float* solution, tridiagonal::method method, std::size_t threads) {
  solve(problem, solution, method, *make_executor(threads));
}

}  // namespace shoal::reaction_diffusion::tridiagonal
