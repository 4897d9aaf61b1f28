// The distance of each row to every centroid.
#pragma once

#include <cstddef>

#include <shoal/core/progress.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {

/// The distance ‖x − c‖ of each row to every centroid, in distances[rows][clusters], each from the differences
/// themselves in float64, rounded once: the same bits on every device. On CUDA devices `distances` may point to memory
/// of the host or of any CUDA device; it has been written when distances() returns.
void distances(const model& model, const row_source<float>& rows, float* distances, std::size_t threads = 0,
               std::size_t memory_limit = 0, const control& control = {}, const device_choice& device = {});
void distances(const model& model, const row_source<double>& rows, double* distances, std::size_t threads = 0,
               std::size_t memory_limit = 0, const control& control = {}, const device_choice& device = {});

}  // namespace shoal::kmeans
