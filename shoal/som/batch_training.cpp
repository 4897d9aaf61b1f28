#include <shoal/som/batch_training.hpp>

#include <utility>

#include <shoal/som/schedule.hpp>

namespace shoal::som {

template <class Scalar>
batch_training<Scalar>::batch_training(const fold_context& context, const weighted_rows<Scalar>& data,
                                       const data_summary& summary, const options& options,
                                       typename host_training<Scalar>::seed_function seed)
    : host_training<Scalar>(context, data, summary.total_weight, options, std::move(seed)),
      centre_(centre_of<Scalar>(summary)),
      folder_(data, statistics_monoid{options.width * options.height, summary.columns}),
      mover_(shape_of(options), summary.columns) {}

template <class Scalar>
std::vector<step_record> batch_training<Scalar>::advance(std::size_t) {
  const options& options = this->options_;
  this->index_.set(options.metric, this->codebook_, this->shape_.units(), centre_.size());
  const statistics& folded = folder_(this->context_, {&this->index_, centre_.data(), nullptr});
  const double radius = decayed(options.radius_decay, radius_range(options), this->epoch_, options.epochs);
  mover_(*this->context_.workers, {options.neighborhood, radius, options.cutoff}, folded, centre_, 1, this->codebook_);
  ++this->epoch_;
  step_record record;
  record.objective = folded.error * this->data_.weight_scale / this->total_weight_;
  return {record};
}

template class batch_training<float>;
template class batch_training<double>;

}  // namespace shoal::som
