#include <shoal/som/host_training.hpp>

#include <utility>

#include <shoal/estimation/saved_state.hpp>

namespace shoal::som {

template <class Scalar>
host_training<Scalar>::host_training(const fold_context& context, const weighted_rows<Scalar>& data,
                                     double total_weight, const options& options, seed_function seed)
    : context_(context),
      data_(data),
      total_weight_(total_weight),
      options_(options),
      shape_(shape_of(options)),
      seed_(std::move(seed)) {}

template <class Scalar>
void host_training<Scalar>::seed(std::size_t) {
  codebook_ = seed_();
  epoch_ = 0;
}

template <class Scalar>
quality host_training<Scalar>::quality() {
  if (measured_ != codebook_) {
    measured_.clear();  // nothing is known if the fold is interrupted
    index_.set(options_.metric, codebook_, shape_.units(), data_.rows->columns());
    quality_ =
        quality_of(fold<Scalar>(context_, data_, quality_monoid{shape_.units()}, quality_body<Scalar>{&index_, shape_}),
                   total_weight_, data_.weight_scale);
    measured_ = codebook_;
  }
  return quality_;
}

template <class Scalar>
std::vector<double> host_training<Scalar>::save() const {
  std::vector<double> state = codebook_;
  state.push_back(static_cast<double>(epoch_));
  return state;
}

template <class Scalar>
void host_training<Scalar>::restore(std::span<const double> state) {
  state_reader words(state);
  const std::span<const double> codebook = words.take_finite(shape_.units() * data_.rows->columns(), "the codebook");
  epoch_ = words.take_count("the epochs done", options_.epochs);
  words.end();
  codebook_.assign(codebook.begin(), codebook.end());
}

template class host_training<float>;
template class host_training<double>;

}  // namespace shoal::som
