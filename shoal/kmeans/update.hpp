// One step of k-means on rows that come in batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/core/progress.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>
#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {

/// One step of k-means on rows that come in batches (Sculley 2010, a batch at a time): each centroid becomes the
/// weighted mean of all the rows that it was ever given. `seen` is [clusters], the weight given to each so far, and
/// grows by that of `rows`; labels[rows] takes the nearest of the centroids as given, unless it is null. Returns the
/// inertia about the centroids as given. `labels` is as for predict(). Throws what predict() throws, and
/// then leaves the model and `seen` unchanged.
double update(model& model, std::vector<double>& seen, const row_source<float>& rows, std::int32_t* labels,
              std::size_t threads = 0, std::size_t memory_limit = 0, row_weights weights = {},
              const control& control = {}, const device_choice& device = {});
double update(model& model, std::vector<double>& seen, const row_source<double>& rows, std::int32_t* labels,
              std::size_t threads = 0, std::size_t memory_limit = 0, row_weights weights = {},
              const control& control = {}, const device_choice& device = {});

}  // namespace shoal::kmeans
