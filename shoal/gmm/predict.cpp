// Labels, responsibilities, log-density and score of rows under a mixture.
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
double predict_all(const model& model, const row_source<Scalar>& rows, const prediction<Scalar>& out,
                   std::size_t threads, std::size_t memory_limit, const row_source<Scalar>* weights,
                   const control& control) {
  validate_model(model);
  if (rows.columns() != model.columns) {
    throw bad_argument(fmt::format("the model has {} columns and the data have {}", model.columns, rows.columns()));
  }
  const auto workers = make_executor(threads);
  const fold_context context{workers.get(), memory_limit, control.stop};
  const data_summary summary = check_data<Scalar>(context, rows, weights);
  const scaled_rows<Scalar> scaled(rows, weights, summary);
  const parameters<Scalar> components = prepare<Scalar>(model, workers.get());
  const score sums = fold<Scalar>(context, scaled.data(), score_monoid{}, prediction_body<Scalar>{&components, out});
  return sums.log_likelihood / sums.weight;
}

}  // namespace

double predict(const model& model, const row_source<float>& rows, const prediction<float>& out, std::size_t threads,
               std::size_t memory_limit, const row_source<float>* weights, const control& control) {
  return predict_all(model, rows, out, threads, memory_limit, weights, control);
}

double predict(const model& model, const row_source<double>& rows, const prediction<double>& out, std::size_t threads,
               std::size_t memory_limit, const row_source<double>* weights, const control& control) {
  return predict_all(model, rows, out, threads, memory_limit, weights, control);
}

}  // namespace shoal::gmm
