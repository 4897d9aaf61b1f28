// Cyclic reduction (Hockney 1965): every other unknown is eliminated, until one is left, and then found again.
#include <vector>

#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

namespace shoal::reaction_diffusion::tridiagonal {

template <class Scalar>
std::size_t solve_by_cyclic_reduction(const systems<Scalar>& system, Scalar* solution) {
  const std::size_t rows = system.rows;
  if (rows == 0) return no_row;
  std::vector<Scalar> lower(system.lower, system.lower + rows), diagonal(system.diagonal, system.diagonal + rows),
      upper(system.upper, system.upper + rows), right(system.right, system.right + rows);
  lower.front() = 0;
  upper.back() = 0;
  std::size_t stride = 1;
  for (; 2 * stride <= rows; stride *= 2) {
    for (std::size_t i = 2 * stride - 1; i < rows; i += 2 * stride) {
      const std::size_t before = i - stride, after = i + stride;
      if (diagonal[before] == 0) return before;
      const Scalar from_before = lower[i] / diagonal[before];
      diagonal[i] -= from_before * upper[before];
      right[i] -= from_before * right[before];
      lower[i] = -from_before * lower[before];
      if (after >= rows) {
        upper[i] = 0;
        continue;
      }
      if (diagonal[after] == 0) return after;
      const Scalar from_after = upper[i] / diagonal[after];
      diagonal[i] -= from_after * lower[after];
      right[i] -= from_after * right[after];
      upper[i] = -from_after * upper[after];
    }
  }
  for (; stride > 0; stride /= 2) {
    for (std::size_t i = stride - 1; i < rows; i += 2 * stride) {
      if (diagonal[i] == 0) return i;
      Scalar value = right[i];
      if (i >= stride) value -= lower[i] * solution[i - stride];
      if (i + stride < rows) value -= upper[i] * solution[i + stride];
      solution[i] = value / diagonal[i];
    }
  }
  return no_row;
}

template std::size_t solve_by_cyclic_reduction<double>(const systems<double>&, double*);
template std::size_t solve_by_cyclic_reduction<float>(const systems<float>&, float*);

}  // namespace shoal::reaction_diffusion::tridiagonal
