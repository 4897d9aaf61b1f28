// Units that no row can be near. With a mexican hat some leave the data, ever farther: where bounds and scales of a
// search had to hold for them too, all others would be in doubt.
//
// Of a row x′ and units c′ about the same point, ‖x′‖ ≤ X, and n′ the unit of the least norm: ‖x′ − n′‖ ≤ X + ‖n′‖, and
// ‖x′ − c′‖ ≥ ‖c′‖ − X. So where ‖c′‖ > 2X + ‖n′‖ the unit n′ is nearer to every row. With the farther one of two units
// for n′ both are, so that c′ is none of a row's two nearest either. A hundredth more is left for what float64 sums of
// squared differences, X and norms of rounded numbers are off by, which is less than 2⁻²⁰ of them.
#pragma once

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

template <class Scalar>
__device__ inline double far_norm(const device_units<Scalar>& units) {
  if (units.row_norm < 0) return static_cast<double>(INFINITY);
  const unsigned long long least = ~min(units.bounds->nearness[0], units.bounds->nearness[1]);
  return least == ~0ull ? static_cast<double>(INFINITY)  // a single unit
                        : 1.01 * (2 * units.row_norm + __longlong_as_double(static_cast<long long>(least)));
}

}  // namespace shoal::som
