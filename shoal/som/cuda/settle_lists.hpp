// settle() for rows whose near units list_near_float16 listed.
#pragma once

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// As settle(), by the Euclidean metric or the cosine. With to.shape the lists are of the two nearest units.
template <class Scalar>
void settle_lists(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const settled_rows& to,
                  std::size_t multiprocessors, cudaStream_t stream);

/// Decides rows.doubtful, whose labels are in to.labels, by the Euclidean metric. Adds nothing to sums.
template <class Scalar>
void settle_doubtful(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const settled_rows& to,
                     std::size_t multiprocessors, cudaStream_t stream);

}  // namespace shoal::som
