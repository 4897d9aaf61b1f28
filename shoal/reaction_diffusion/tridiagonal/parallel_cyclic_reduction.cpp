// Parallel cyclic reduction (Hockney & Jesshope 1981): every row eliminates its neighbours at distance 1, 2, 4, … until
// each stands alone.
#include <utility>
#include <vector>

#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

namespace shoal::reaction_diffusion::tridiagonal {
namespace {

template <class Scalar>
struct equation {
  Scalar lower, diagonal, upper, right;
};

}  // namespace

template <class Scalar>
std::size_t solve_by_parallel_cyclic_reduction(const systems<Scalar>& system, Scalar* solution) {
  const std::size_t rows = system.rows;
  std::vector<equation<Scalar>> now(rows), next(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    now[i] = {i == 0 ? Scalar(0) : system.lower[i], system.diagonal[i], i + 1 == rows ? Scalar(0) : system.upper[i],
              system.right[i]};
  }
  for (std::size_t stride = 1; stride < rows; stride *= 2) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (now[i].diagonal == 0) return i;
    }
    for (std::size_t i = 0; i < rows; ++i) {
      equation<Scalar> row = now[i];
      if (i >= stride) {
        const equation<Scalar>& before = now[i - stride];
        const Scalar factor = now[i].lower / before.diagonal;
        row.diagonal -= factor * before.upper;
        row.right -= factor * before.right;
        row.lower = -factor * before.lower;
      }
      if (i + stride < rows) {
        const equation<Scalar>& after = now[i + stride];
        const Scalar factor = now[i].upper / after.diagonal;
        row.diagonal -= factor * after.lower;
        row.right -= factor * after.right;
        row.upper = -factor * after.upper;
      }
      next[i] = row;
    }
    std::swap(now, next);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    if (now[i].diagonal == 0) return i;
    solution[i] = now[i].right / now[i].diagonal;
  }
  return no_row;
}

template std::size_t solve_by_parallel_cyclic_reduction<double>(const systems<double>&, double*);
template std::size_t solve_by_parallel_cyclic_reduction<float>(const systems<float>&, float*);

}  // namespace shoal::reaction_diffusion::tridiagonal
