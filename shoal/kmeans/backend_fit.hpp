// The whole fit by a backend that has the rows.
#pragma once

#include <shoal/core/progress.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/options.hpp>
#include <shoal/kmeans/result.hpp>

namespace shoal::kmeans {

/// The whole fit by a backend that has the rows: what the door's fit() does once it has made one. `options` have been
/// checked. `seconds` of the result are those since the call. Rows whose squared differences vanish are refused, unless
/// `may_vanish`: a mixture can begin with all of them in one cluster.
template <class Scalar>
fit_result fit(backend<Scalar>& on, const options& options, const control& control, bool may_vanish = false);
extern template fit_result fit(backend<float>&, const options&, const control&, bool);
extern template fit_result fit(backend<double>&, const options&, const control&, bool);

}  // namespace shoal::kmeans
