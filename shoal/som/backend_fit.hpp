// The whole fit, and the whole update, by a backend that has the rows.
#pragma once

#include <cstdint>

#include <shoal/core/progress.hpp>
#include <shoal/estimation/batches_seen.hpp>
#include <shoal/som/backend.hpp>
#include <shoal/som/options.hpp>
#include <shoal/som/result.hpp>

namespace shoal::som {

/// The whole fit by a backend that has the rows: what the door's fit() does once it has made one. `options` have been
/// checked. `seconds` of the result are those since the call.
template <class Scalar>
fit_result fit(backend<Scalar>& on, const options& options, const control& control);
extern template fit_result fit(backend<float>&, const options&, const control&);
extern template fit_result fit(backend<double>&, const options&, const control&);

/// update() of som.hpp by a backend that has the rows. The model and the options have been checked.
template <class Scalar>
double update(backend<Scalar>& on, model& model, const update_options& options, std::int32_t* units,
              batches_seen* seen = nullptr);
extern template double update(backend<float>&, model&, const update_options&, std::int32_t*, batches_seen*);
extern template double update(backend<double>&, model&, const update_options&, std::int32_t*, batches_seen*);

}  // namespace shoal::som
