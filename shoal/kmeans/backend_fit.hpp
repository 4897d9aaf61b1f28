// The whole fit by a backend that has the rows.
#pragma once

#include <shoal/core/progress.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/options.hpp>
#include <shoal/kmeans/result.hpp>

namespace shoal::kmeans {

/// Rows whose squared differences vanish, which all go to one cluster: a mixture can begin there, a clustering says
/// nothing.
enum class vanishing_rows { refused, accepted };

/// The whole fit by a backend that has the rows: what the door's fit() does once it has made one. `options` have been
/// checked. `seconds` of the result are those since the call.
template <class Scalar>
fit_result fit(backend<Scalar>& on, const options& options, const control& control,
               vanishing_rows vanishing = vanishing_rows::refused);
extern template fit_result fit(backend<float>&, const options&, const control&, vanishing_rows);
extern template fit_result fit(backend<double>&, const options&, const control&, vanishing_rows);

}  // namespace shoal::kmeans
