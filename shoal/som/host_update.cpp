#include <shoal/som/host_update.hpp>

#include <memory>

#include <shoal/estimation/data_check.hpp>
#include <shoal/som/accumulate.hpp>
#include <shoal/som/backend.hpp>
#include <shoal/som/batch_training.hpp>
#include <shoal/som/check_model.hpp>
#include <shoal/som/check_options.hpp>
#include <shoal/som/maximise.hpp>

namespace shoal::som {
namespace {

template <class Scalar>
double update_rows(model& model, const row_source<Scalar>& rows, const update_options& options, std::int32_t* units,
                   const row_source<Scalar>* weights, const control& control) {
  check_model(model, rows.columns());
  check_options(options);
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  const fold_context context{workers.get(), options.memory_limit, control.stop};
  return update(*make_backend<Scalar>(options.device, {context, &rows, weights}), model, options, units);
}

}  // namespace

template <class Scalar>
double update(backend<Scalar>& on, model& model, const update_options& options, std::int32_t* units) {
  check_span<double>(on.summary(), model.codebook);
  return on.update(model, options, units);
}
template double update(backend<float>&, model&, const update_options&, std::int32_t*);
template double update(backend<double>&, model&, const update_options&, std::int32_t*);

template <class Scalar>
double update_on_host(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                      model& model, const update_options& options, std::int32_t* units) {
  const std::vector<double> centre = centre_of<Scalar>(summary);
  codebook_index<Scalar> index;
  index.set(model.metric, model.codebook, model.units(), model.columns);
  const statistics folded = fold<Scalar>(context, data, statistics_monoid{model.units(), model.columns},
                                         accumulate_body<Scalar>{&index, centre.data(), units});
  unit_mover mover(shape_of(model), model.columns);
  mover(*context.workers, {options.neighborhood, options.radius, options.cutoff}, folded, centre, options.rate,
        model.codebook);
  return folded.error * data.weight_scale / summary.total_weight;
}
template double update_on_host(const fold_context&, const weighted_rows<float>&, const data_summary&, model&,
                               const update_options&, std::int32_t*);
template double update_on_host(const fold_context&, const weighted_rows<double>&, const data_summary&, model&,
                               const update_options&, std::int32_t*);

double update(model& model, const row_source<float>& rows, const update_options& options, std::int32_t* units,
              const row_source<float>* weights, const control& control) {
  return update_rows(model, rows, options, units, weights, control);
}

double update(model& model, const row_source<double>& rows, const update_options& options, std::int32_t* units,
              const row_source<double>* weights, const control& control) {
  return update_rows(model, rows, options, units, weights, control);
}

}  // namespace shoal::som
