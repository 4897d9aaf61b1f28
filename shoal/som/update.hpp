// One batch step of a map on rows that come in parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/core/progress.hpp>
#include <shoal/estimation/batches_seen.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// One batch step on rows that come in parts: each unit goes `rate` of the way that an epoch over these rows alone
/// would take it. units[rows] takes the best-matching units of the codebook as given, unless it is null; it is as for
/// predict(). With `seen`, the rate is for the mean batch of all so far, in proportion for these rows
/// (batches_seen.hpp), which are then added to it. Returns the quantization error of the codebook as given. Throws what
/// predict() throws, and then leaves the model unchanged.
double update(model& model, const row_source<float>& rows, const update_options& options, std::int32_t* units = nullptr,
              row_weights weights = {}, const control& control = {}, batches_seen* seen = nullptr);
double update(model& model, const row_source<double>& rows, const update_options& options,
              std::int32_t* units = nullptr, row_weights weights = {}, const control& control = {},
              batches_seen* seen = nullptr);

}  // namespace shoal::som
