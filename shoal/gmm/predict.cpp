// Labels, responsibilities, log-density and score of rows under a mixture.
#include <shoal/gmm/predict.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/device_ranks.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/check_model.hpp>
#include <shoal/gmm/check_reach.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/prediction.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
double predict_all(const model& model, const row_source<Scalar>& rows, const prediction<Scalar>& out,
                   std::size_t threads, std::size_t memory_limit, row_weights weights, const control& control,
                   const device_choice& device) {
  validate_model(model);
  if (rows.columns() != model.columns) {
    throw bad_argument(fmt::format("the model has {} columns; the data have {}", model.columns, rows.columns()));
  }
  const auto workers = make_executor(threads);
  const fold_context context = context_of(*workers, memory_limit, control);
  const auto on = make_backend<Scalar>(device, {context, &rows, weights, false, true});
  check_reach<Scalar>(model, on->summary(), true);
  return on->predict(model, out);
}

}  // namespace

double predict(const model& model, const row_source<float>& rows, const prediction<float>& out, std::size_t threads,
               std::size_t memory_limit, row_weights weights, const control& control, const device_choice& device) {
  return predict_all(model, rows, out, threads, memory_limit, weights, control, device);
}

double predict(const model& model, const row_source<double>& rows, const prediction<double>& out, std::size_t threads,
               std::size_t memory_limit, row_weights weights, const control& control, const device_choice& device) {
  return predict_all(model, rows, out, threads, memory_limit, weights, control, device);
}

row_range predicted_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, communicator* ranks,
                         const device_choice& device) {
  if (!device.on_host()) return device_rows_of_rank(ranks, rows, model.columns * scalar_bytes);
  return rows_of_rank(ranks, {rows, model.columns, scalar_bytes, score_monoid{}.bytes()});
}

}  // namespace shoal::gmm
