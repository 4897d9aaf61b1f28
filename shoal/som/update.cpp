// One batch step of a map on rows that come in parts.
#include <memory>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/som/accumulate.hpp>
#include <shoal/som/batch_training.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/move_units.hpp>
#include <shoal/som/options.hpp>
#include <shoal/som/som.hpp>

namespace shoal::som {
namespace {

template <class Scalar>
double update_rows(model& model, const row_source<Scalar>& rows, const update_options& options, std::int32_t* units,
                   const row_source<Scalar>* weights, const control& control) {
  check_model(model, rows.columns());
  check_options(options);
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  const fold_context context{workers.get(), options.memory_limit, control.stop};
  const data_summary summary = check_data(context, rows, weights);
  check_span<double>(summary);
  const scaled_rows<Scalar> scaled(rows, weights, summary);
  const std::vector<double> centre = centre_of<Scalar>(summary);
  codebook_index<Scalar> index;
  index.set(model.metric, model.codebook, model.units(), model.columns);
  const statistics folded = fold<Scalar>(context, scaled.data(), statistics_monoid{model.units(), model.columns},
                                         accumulate_body<Scalar>{&index, centre.data(), units});
  unit_mover mover(shape_of(model), model.columns);
  mover(*workers, {options.neighborhood, options.radius, options.cutoff}, folded, centre, options.rate, model.codebook);
  return folded.error * scaled.data().weight_scale / summary.total_weight;
}

}  // namespace

double update(model& model, const row_source<float>& rows, const update_options& options, std::int32_t* units,
              const row_source<float>* weights, const control& control) {
  return update_rows(model, rows, options, units, weights, control);
}

double update(model& model, const row_source<double>& rows, const update_options& options, std::int32_t* units,
              const row_source<double>* weights, const control& control) {
  return update_rows(model, rows, options, units, weights, control);
}

}  // namespace shoal::som
