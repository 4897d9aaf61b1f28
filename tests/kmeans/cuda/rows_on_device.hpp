// Rows on GPUs, as the tests of Lloyd's algorithm there have them.
#pragma once

#include <memory>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>

namespace kmeans_on_device {

// Rows on GPU 0, or on as many GPUs as are asked for, a shard on each.
template <class Scalar>
struct on_device {
  on_device(shoal::matrix_view<const Scalar> values, const std::vector<Scalar>* weights = nullptr,
            std::size_t device_memory = 0, std::vector<int> devices = {0})
      : source(values),
        weight_source(weights == nullptr ? nullptr
                                         : std::make_unique<shoal::view_source<Scalar>>(
                                               shoal::matrix_view<const Scalar>(weights->data(), weights->size(), 1))),
        workers(shoal::make_threads(2)),
        context{workers.get(), 0, {}},
        summary(shoal::check_data(context, source, weight_source.get())),
        scaled(source, weight_source.get(), summary),
        group(devices),
        rows(group, context, scaled.data(), device_memory, {.exactly = group.size()}) {}

  shoal::view_source<Scalar> source;
  std::unique_ptr<shoal::view_source<Scalar>> weight_source;
  std::unique_ptr<shoal::executor> workers;
  shoal::fold_context context;
  shoal::data_summary summary;
  shoal::scaled_rows<Scalar> scaled;
  shoal::cuda::device_group group;
  shoal::cuda::device_rows<Scalar> rows;
};

}  // namespace kmeans_on_device
