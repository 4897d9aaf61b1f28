// Gaussian elimination without pivoting (Thomas 1949).
#include <vector>

#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

namespace shoal::reaction_diffusion::tridiagonal {

template <class Scalar>
std::size_t solve_by_thomas(const systems<Scalar>& system, Scalar* solution) {
  const std::size_t rows = system.rows;
  std::vector<Scalar> above(rows);  // upper / pivot
  Scalar upper = 0, right = 0;      // of the row before, divided by its pivot
  for (std::size_t i = 0; i < rows; ++i) {
    const Scalar lower = i == 0 ? Scalar(0) : system.lower[i];
    const Scalar pivot = system.diagonal[i] - lower * upper;
    if (pivot == 0) return i;
    right = (system.right[i] - lower * right) / pivot;
    upper = i + 1 == rows ? Scalar(0) : system.upper[i] / pivot;
    above[i] = upper;
    solution[i] = right;
  }
  for (std::size_t i = rows; i-- > 1;) solution[i - 1] -= above[i - 1] * solution[i];
  return no_row;
}

template std::size_t solve_by_thomas<double>(const systems<double>&, double*);
template std::size_t solve_by_thomas<float>(const systems<float>&, float*);

}  // namespace shoal::reaction_diffusion::tridiagonal
