// What the tests of mixtures on a GPU share: one to run on, and the same problem for it and for the CPU.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/devices.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/cuda/expectation_maximization.hpp>
#include <shoal/gmm/cuda/step/parts.hpp>
#include <shoal/gmm/cuda/step/squarem.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/expectation_maximization.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/io/row_source.hpp>

#include "../../cuda_devices.hpp"
#include "../kernel_checks.hpp"
#include "../reference.hpp"

// After SHOAL_NEEDS_DEVICES: skips where the first GPU lacks the kernels that only Hopper's tensor cores run.
#define SHOAL_NEEDS_PRODUCTS() \
  if (!shoal::gmm::tensor::has_products()) GTEST_SKIP() << "this GPU is not of the Hopper generation"

namespace device_checks {

using shoal::gmm::covariance_type;

template <class Scalar>
const char* name() {
  return sizeof(Scalar) == 4 ? "float32" : "float64";
}

/// Rows, perhaps weights, and everything that a fit of them on either processor needs. Stays where it is made.
template <class Scalar>
class problem {
 public:
  problem(std::vector<Scalar> values, std::size_t columns, std::vector<Scalar> weights = {})
      : values_(std::move(values)),
        weights_(std::move(weights)),
        rows_({values_.data(), values_.size() / columns, columns}),
        weight_rows_({weights_.data(), weights_.size(), 1}),
        workers_(shoal::make_sequential()),
        context_{workers_.get(), 0, stop.get_token()},
        summary_(shoal::check_data<Scalar>(context_, rows_, weights_.empty() ? nullptr : &weight_rows_)),
        scaled_(rows_, weights_.empty() ? nullptr : &weight_rows_, summary_) {}
  problem(const problem&) = delete;
  problem& operator=(const problem&) = delete;

  shoal::gmm::options options;
  std::stop_source stop;

  shoal::matrix_view<const Scalar> rows() const { return {values_.data(), rows_.rows(), rows_.columns()}; }
  const shoal::fold_context& context() const { return context_; }
  const shoal::weighted_rows<Scalar>& data() const { return scaled_.data(); }
  const shoal::data_summary& summary() const { return summary_; }
  /// The weights as kernels see them; empty for none.
  std::vector<Scalar> scaled_weights() const {
    std::vector<Scalar> scaled = weights_;
    for (Scalar& weight : scaled) weight = static_cast<Scalar>(weight * scaled_.data().weight_scale);
    return scaled;
  }

  std::unique_ptr<shoal::gmm::batch_stepper> on_cpu() const {
    return std::make_unique<shoal::gmm::expectation_maximization<Scalar>>(context_, data(), summary_, options);
  }

 private:
  std::vector<Scalar> values_;
  std::vector<Scalar> weights_;
  shoal::view_source<Scalar> rows_;
  shoal::view_source<Scalar> weight_rows_;
  std::unique_ptr<shoal::executor> workers_;
  shoal::fold_context context_;
  shoal::data_summary summary_;
  shoal::scaled_rows<Scalar> scaled_;
};

/// That problem's rows on GPUs, a shard on each; `memory` as for device_rows.
template <class Scalar>
class on_devices {
 public:
  explicit on_devices(const problem<Scalar>& of, std::size_t memory = 0, std::size_t devices = 1)
      : of_(of),
        group_(cuda_devices::first(devices)),
        rows_(group_, of.context(), of.data(), memory, {.exactly = devices}) {}

  shoal::cuda::device_group& group() { return group_; }
  shoal::cuda::device_rows<Scalar>& rows() { return rows_; }

  /// Batch, whatever the algorithm of the options.
  std::unique_ptr<shoal::gmm::mixture_stepper> stepper() {
    auto batch = std::make_unique<shoal::gmm::device_expectation_maximization<Scalar>>(
        shoal::gmm::device_fit_rows<Scalar>{rows_, of_.context(), of_.data(), of_.summary(), of_.options, {}});
    if (of_.options.acceleration == shoal::gmm::acceleration::none) return batch;
    return std::make_unique<shoal::gmm::device_squarem_fit<Scalar>>(std::move(batch), of_.summary(), of_.options);
  }

  /// The statistics under a model, by one GPU.
  template <class MakeAccumulator>
  shoal::gmm::statistics sums(const shoal::gmm::model& model, const MakeAccumulator& make) {
    const shoal::gmm::statistics_layout layout(model.covariance_type, model.components, model.columns);
    shoal::gmm::device_parts<Scalar> parts(group_, layout, 1e-6);
    parts.prepare(model);
    const shoal::cuda::device_scope scope(group_[0].device);
    const cudaStream_t stream = group_[0].compute;
    const auto accumulator = make(shoal::gmm::accumulator_shape{layout, rows_.share_rows(0), group_[0].multiprocessors,
                                                                group_[0].shared_bytes, rows_.weighted()});
    const auto parameters = parts.parameters(0);
    accumulator->clear(parameters, stream);
    rows_.for_each_piece([&](std::size_t, const auto& piece) { accumulator->add(piece, parameters, stream); });
    shoal::cuda::device_buffer<double> merged(layout.size());
    accumulator->merge(merged.data(), parameters, stream);
    shoal::gmm::statistics result(layout);
    const std::vector<double> values = merged.download(layout.size(), stream);
    std::copy(values.begin(), values.end(), result.values().begin());
    return result;
  }

 private:
  const problem<Scalar>& of_;
  shoal::cuda::device_group group_;
  shoal::cuda::device_rows<Scalar> rows_;
};

/// Positive weights of different sizes, none a power of two.
template <class Scalar>
std::vector<Scalar> some_weights(std::size_t rows) {
  std::vector<Scalar> weights;
  for (std::size_t r = 0; r < rows; ++r)
    weights.push_back(static_cast<Scalar>(0.3 + 0.1 * static_cast<double>(r % 13)));
  return weights;
}

}  // namespace device_checks
