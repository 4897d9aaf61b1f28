#include <shoal/core/error.hpp>

#include "grid_rows.hpp"

namespace grid {

template <class Scalar>
const Scalar* values_on(int, std::size_t, const clusters&) {
  throw shoal::not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON");
}
template const float* values_on(int, std::size_t, const clusters&);
template const double* values_on(int, std::size_t, const clusters&);

}  // namespace grid
