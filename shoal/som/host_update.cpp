#include <shoal/som/host_update.hpp>

#include <shoal/som/accumulate.hpp>
#include <shoal/som/batch_training.hpp>
#include <shoal/som/maximise.hpp>

namespace shoal::som {
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

}  // namespace shoal::som
