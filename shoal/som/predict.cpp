#include <shoal/som/predict.hpp>

#include <memory>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/device_ranks.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/som/backend.hpp>
#include <shoal/som/check_model.hpp>
#include <shoal/som/quality_fold.hpp>

namespace shoal::som {
namespace {

// Calls what(backend) for a model and the rows that it is asked about.
template <class Scalar, class What>
auto with_backend(const model& model, const row_source<Scalar>& rows, std::size_t threads, std::size_t memory_limit,
                  row_weights weights, const control& control, const device_choice& device, const What& what) {
  check_model(model, rows.columns());
  const std::unique_ptr<executor> workers = make_threads(threads);
  const fold_context context = context_of(*workers, memory_limit, control);
  const std::unique_ptr<backend<Scalar>> on = make_backend<Scalar>(device, {context, &rows, weights});
  check_span<double>(on->summary(), model.codebook);
  return what(*on);
}

template <class Scalar>
double predict_rows(const model& model, const row_source<Scalar>& rows, std::int32_t* units, std::size_t threads,
                    std::size_t memory_limit, row_weights weights, const control& control,
                    const device_choice& device) {
  return with_backend(model, rows, threads, memory_limit, weights, control, device,
                      [&](backend<Scalar>& on) { return on.predict(model, units); });
}

template <class Scalar>
quality score_rows(const model& model, const row_source<Scalar>& rows, std::size_t threads, std::size_t memory_limit,
                   row_weights weights, const control& control, const device_choice& device) {
  return with_backend(model, rows, threads, memory_limit, weights, control, device,
                      [&](backend<Scalar>& on) { return on.score(model); });
}

}  // namespace

double predict(const model& model, const row_source<float>& rows, std::int32_t* units, std::size_t threads,
               std::size_t memory_limit, row_weights weights, const control& control, const device_choice& device) {
  return predict_rows(model, rows, units, threads, memory_limit, weights, control, device);
}
double predict(const model& model, const row_source<double>& rows, std::int32_t* units, std::size_t threads,
               std::size_t memory_limit, row_weights weights, const control& control, const device_choice& device) {
  return predict_rows(model, rows, units, threads, memory_limit, weights, control, device);
}

quality score(const model& model, const row_source<float>& rows, std::size_t threads, std::size_t memory_limit,
              row_weights weights, const control& control, const device_choice& device) {
  return score_rows(model, rows, threads, memory_limit, weights, control, device);
}
quality score(const model& model, const row_source<double>& rows, std::size_t threads, std::size_t memory_limit,
              row_weights weights, const control& control, const device_choice& device) {
  return score_rows(model, rows, threads, memory_limit, weights, control, device);
}

row_range predicted_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, communicator* ranks,
                         const device_choice& device) {
  if (!device.on_host()) return device_rows_of_rank(ranks, rows, model.columns * scalar_bytes);
  return rows_of_rank(ranks, {rows, model.columns, scalar_bytes, quality_monoid{model.units()}.bytes()});
}

}  // namespace shoal::som
