// What fits and predictions of k-means take, for choosing where to run them.
#pragma once

#include <cstddef>

#include <shoal/execution/automatic_device.hpp>
#include <shoal/kmeans/model.hpp>
#include <shoal/kmeans/options.hpp>

namespace shoal::kmeans {

/// Of a fit of so many rows and columns in scalars of `scalar_bytes` (4 or 8).
estimated_work work_of_fit(std::size_t rows, std::size_t columns, std::size_t scalar_bytes, const options& options);

/// Of predict() for so many rows.
estimated_work work_of_prediction(std::size_t rows, std::size_t scalar_bytes, const model& model);

}  // namespace shoal::kmeans
