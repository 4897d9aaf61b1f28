// The whole fit by a backend that has the rows.
#pragma once

#include <shoal/core/progress.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/result.hpp>

namespace shoal::gmm {

/// The whole fit by a backend that has the rows: what the door's fit() does once it has made one. `options` have been
/// checked. `seconds` of the result are those since the call.
template <class Scalar>
fit_result fit(backend<Scalar>& on, const options& options, const control& control);
extern template fit_result fit(backend<float>&, const options&, const control&);
extern template fit_result fit(backend<double>&, const options&, const control&);

}  // namespace shoal::gmm
