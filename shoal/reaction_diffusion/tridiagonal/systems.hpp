// Tridiagonal systems, and the ways to solve them.
#pragma once

#include <cstddef>

namespace shoal::reaction_diffusion::tridiagonal {

/// How the systems are solved. None of them pivots: they are for matrices that are diagonally dominant, or symmetric
/// and definite, as those of diffusion are.
enum class method {
  thomas,                     ///< Gaussian elimination from the first row to the last: O(n), one thread a system
  cyclic_reduction,           ///< halves the system until one row is left (Hockney 1965): O(n)
  parallel_cyclic_reduction,  ///< doubles the distance between neighbours in every row at once: O(n log n)
  partition,                  ///< chunks of rows, vectors of chunks at a time, in two passes (Wang 1981): O(n)
};

/// `batch` systems of `rows` equations, one behind the other in each array [batch][rows]: row i says
/// lower[i]·x[i − 1] + diagonal[i]·x[i] + upper[i]·x[i + 1] = right[i]. The first `lower` and the last `upper` of a
/// system are not used. Scalar is float or double.
template <class Scalar>
struct systems {
  const Scalar* lower = nullptr;
  const Scalar* diagonal = nullptr;
  const Scalar* upper = nullptr;
  const Scalar* right = nullptr;
  std::size_t rows = 0;
  std::size_t batch = 1;
};

}  // namespace shoal::reaction_diffusion::tridiagonal
