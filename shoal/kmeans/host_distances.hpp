// The distance of every row to every centroid, on the host.
#pragma once

#include <shoal/execution/fold.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {

/// distances() of kmeans.hpp, for rows and a model that have been checked.
template <class Scalar>
void distances_on_host(const fold_context& context, const row_source<Scalar>& rows, const model& model,
                       Scalar* distances);
extern template void distances_on_host(const fold_context&, const row_source<float>&, const model&, float*);
extern template void distances_on_host(const fold_context&, const row_source<double>&, const model&, double*);

}  // namespace shoal::kmeans
