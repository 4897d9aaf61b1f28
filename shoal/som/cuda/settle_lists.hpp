// settle() for rows whose near units list_near_float16 listed.
#pragma once

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// As settle(), for the best-matching units alone, by the Euclidean metric or the cosine: to.shape is null.
template <class Scalar>
void settle_lists(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const settled_rows& to,
                  std::size_t multiprocessors, cudaStream_t stream);

}  // namespace shoal::som
