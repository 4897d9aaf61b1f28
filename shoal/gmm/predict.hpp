// Labels, responsibilities and log-density of rows under a mixture.
#pragma once

#include <cstddef>

#include <shoal/core/progress.hpp>
#include <shoal/execution/communicator.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/prediction.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal::gmm {

/// Labels, responsibilities and log-density of rows under the model. Returns the mean log-likelihood, Σ w ln p(x) / Σ
/// w.
double predict(const model& model, const row_source<float>& rows, const prediction<float>& out, std::size_t threads = 0,
               std::size_t memory_limit = 0, row_weights weights = {}, const control& control = {},
               const device_choice& device = {});
double predict(const model& model, const row_source<double>& rows, const prediction<double>& out,
               std::size_t threads = 0, std::size_t memory_limit = 0, row_weights weights = {},
               const control& control = {}, const device_choice& device = {});

/// Rows [first, end) that predict() writes on this rank of several, each of which writes its own; `rows` are all.
row_range predicted_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, communicator* ranks,
                         const device_choice& device = {});

}  // namespace shoal::gmm
