// One step of stepwise expectation-maximisation for rows that come in batches.
#pragma once

#include <cstddef>

#include <shoal/core/progress.hpp>
#include <shoal/estimation/batches_seen.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal::gmm {

/// One step of stepwise EM (Cappé & Moulines 2009), for rows that come in batches: with s the expected
/// statistics per unit of weight that the model stands for, s ← (1 − η) s + η ŝ(rows), and the model is maximised over
/// s again. Statistics are complete: with η = 1 this is one iteration of EM on the rows. A component that has neither
/// weight in the model nor rows keeps its mean and covariance. With `seen`, η is options.step_size for the mean batch
/// of all so far, in proportion for these rows (batches_seen.hpp), which are then added to it. Returns the mean
/// log-likelihood of the rows under the model as it was given. Throws what fit() throws, and then leaves the model
/// unchanged.
double update(model& model, const row_source<float>& rows, const update_options& options, row_weights weights = {},
              const control& control = {}, batches_seen* seen = nullptr);
double update(model& model, const row_source<double>& rows, const update_options& options, row_weights weights = {},
              const control& control = {}, batches_seen* seen = nullptr);

}  // namespace shoal::gmm
