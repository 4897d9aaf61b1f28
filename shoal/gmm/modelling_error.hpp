// The modelling error of a fitted mixture against the one that the rows came from. A second door, like gmm.hpp.
#pragma once

#include <cstddef>

#include <shoal/gmm/model.hpp>
#include <shoal/metrics/modelling_error.hpp>

namespace shoal::gmm {

/// metrics::modelling_error_of the responsibilities of the rows under `desired`, the true mixture, and `found`, the
/// fitted one. A pass of predict() under each, a piece of the rows at a time. Throws what predict() throws.
metrics::modelling_error modelling_error(const model& desired, const model& found, matrix_view<const float> rows,
                                         std::size_t threads = 0);
metrics::modelling_error modelling_error(const model& desired, const model& found, matrix_view<const double> rows,
                                         std::size_t threads = 0);

}  // namespace shoal::gmm
