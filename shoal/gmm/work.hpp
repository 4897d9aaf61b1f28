// What fits and predictions of mixtures take, for choosing where to run them.
#pragma once

#include <cstddef>

#include <shoal/execution/automatic_device.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>

namespace shoal::gmm {

/// Of a fit of so many rows and columns in scalars of `scalar_bytes` (4 or 8).
estimated_work work_of_fit(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const options& options);

/// Of predict() for so many rows.
estimated_work work_of_prediction(std::size_t rows, std::size_t scalar_bytes, const model& model);

/// Of sample() for so many rows.
estimated_work work_of_sample(std::size_t rows, std::size_t scalar_bytes, const model& model);

}  // namespace shoal::gmm
