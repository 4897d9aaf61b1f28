// What fits and predictions of maps take, for choosing where to run them.
#pragma once

#include <cstddef>

#include <shoal/execution/automatic_device.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// Of a fit of so many rows and columns in scalars of `scalar_bytes` (4 or 8).
estimated_work work_of_fit(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const options& options);

/// Of predict() or score() for so many rows.
estimated_work work_of_prediction(std::size_t rows, std::size_t scalar_bytes, const model& model);

}  // namespace shoal::som
