// Stepwise expectation-maximisation: the statistics that a model stands for, mixed with those of a batch of rows.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {
namespace {

// The statistics per unit of weight, about `centres`, that maximise() turns into `model`.
statistics stood_for(const model& model, std::span<const double> centres, double regularization) {
  const std::size_t d = model.columns;
  const statistics_layout layout(model.covariance_type, model.components, d);
  statistics sums(layout);
  const std::span<double> values = sums.values();
  values[layout.total_weight()] = 1;
  for (std::size_t k = 0; k < model.components; ++k) {
    const double weight = model.weights[k];
    values[layout.weight(k)] = weight;
    const auto delta = [&](std::size_t j) { return model.means[k * d + j] - centres[k * d + j]; };
    const auto covariance = [&](std::size_t i, std::size_t j) {
      double element = 0;
      switch (model.covariance_type) {
        case covariance_type::full:
          element = model.covariances[(k * d + i) * d + j];
          break;
        case covariance_type::tied:
          element = model.covariances[i * d + j];
          break;
        case covariance_type::diag:
          element = model.covariances[k * d + i];
          break;
        case covariance_type::spherical:
          element = model.covariances[k];
          break;
      }
      return i == j ? std::max(element - regularization, 0.0) : element;
    };
    for (std::size_t i = 0; i < d; ++i) {
      values[layout.first(k, i)] = weight * delta(i);
      const std::size_t end = layout.has_matrices() ? d : i + 1;
      for (std::size_t j = i; j < end; ++j) {
        values[layout.second(k, i, j)] += weight * (covariance(i, j) + delta(i) * delta(j));
      }
    }
  }
  return sums;
}

void check_options(const update_options& options) {
  if (!(options.step_size > 0 && options.step_size <= 1)) {
    throw bad_argument(
        fmt::format("the step size must be greater than zero and at most one; got {}", options.step_size));
  }
  if (!(std::isfinite(options.regularization) && options.regularization >= 0)) {
    throw bad_argument(fmt::format("regularization must be finite and not negative; got {}", options.regularization));
  }
}

template <class Scalar>
double update_rows(model& model, const row_source<Scalar>& rows, const update_options& options,
                   const row_source<Scalar>* weights, const control& control) {
  check_options(options);
  validate_model(model);
  if (rows.columns() != model.columns) {
    throw bad_argument(fmt::format("the model has {} columns and the data have {}", model.columns, rows.columns()));
  }
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  const fold_context context{workers.get(), options.memory_limit, control.stop};
  const statistics batch = make_backend<Scalar>(options.device, {context, &rows, weights})->expectation(model);
  const std::vector<double> centres =
      prepare_centres<Scalar>(model.covariance_type, model.components, model.columns, model.means.data()).centres;

  statistics mixed = stood_for(model, centres, options.regularization);
  const double share = options.step_size / batch.total_weight();
  for (std::size_t i = 0; i < mixed.layout().size(); ++i) {
    mixed.values()[i] = (1 - options.step_size) * mixed.values()[i] + share * batch.values()[i];
  }
  gmm::model next = model;
  maximise(mixed, centres, options.regularization, next, workers.get());
  model = std::move(next);
  return batch.log_likelihood() / batch.total_weight();
}

}  // namespace

double update(model& model, const row_source<float>& rows, const update_options& options,
              const row_source<float>* weights, const control& control) {
  return update_rows(model, rows, options, weights, control);
}

double update(model& model, const row_source<double>& rows, const update_options& options,
              const row_source<double>* weights, const control& control) {
  return update_rows(model, rows, options, weights, control);
}

}  // namespace shoal::gmm
