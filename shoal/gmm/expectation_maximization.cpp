#include <shoal/gmm/expectation_maximization.hpp>

#include <utility>

#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/first_model.hpp>
#include <shoal/gmm/jump.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/reseed.hpp>
#include <shoal/gmm/saved_model.hpp>
#include <shoal/gmm/worst_rows.hpp>

namespace shoal::gmm {

template <class Scalar>
struct expectation_maximization<Scalar>::folds {
  folder<Scalar, statistics_group, accumulation<Scalar>> accumulate;
  folder<Scalar, score_monoid, prediction_body<Scalar>> score;
};

template <class Scalar>
expectation_maximization<Scalar>::expectation_maximization(const fold_context& context,
                                                           const weighted_rows<Scalar>& data,
                                                           const data_summary& summary, const options& options)
    : context_(context), data_(data), summary_(summary), options_(options) {
  const statistics_layout layout(options.covariance_type, options.components, data.rows->columns());
  folds_.reset(new folds{{data, statistics_group(layout)}, {data, score_monoid{}}});
}

template <class Scalar>
expectation_maximization<Scalar>::~expectation_maximization() = default;

template <class Scalar>
void expectation_maximization<Scalar>::seed(std::size_t restart) {
  model_ = initial_model(context_, data_, summary_, options_, restart);
  reseeded_ = 0;
}

template <class Scalar>
std::vector<step_record> expectation_maximization<Scalar>::advance(std::size_t) {
  const parameters<Scalar> prepared = prepare<Scalar>(model_, context_.workers);
  const statistics& sums = folds_->accumulate(context_, accumulation<Scalar>{&prepared});
  const step_record record{sums.log_likelihood() / sums.total_weight(), 0.0, false};
  model next = model_;
  const auto again = [&](const parameters<Scalar>& about) -> const statistics& {
    return folds_->accumulate(context_, accumulation<Scalar>{&prepared, nullptr, &about});
  };
  const std::vector<std::size_t> empty =
      maximise_closely<Scalar>(sums, prepared.centres, options_.regularization, next, context_.workers, again);
  if (!empty.empty()) {
    reseed(worst_rows(context_, data_, prepared, empty.size()), summary_, options_.regularization, empty, next);
  }
  model_ = std::move(next);
  reseeded_ += empty.size();
  return {record};
}

template <class Scalar>
double expectation_maximization<Scalar>::score() {
  const parameters<Scalar> prepared = prepare<Scalar>(model_, context_.workers);
  const gmm::score& sums = folds_->score(context_, prediction_body<Scalar>{&prepared, {}});
  return sums.log_likelihood / sums.weight;
}

template <class Scalar>
std::vector<double> expectation_maximization<Scalar>::save() const {
  std::vector<double> state{static_cast<double>(reseeded_)};
  append_model(model_, state);
  return state;
}

template <class Scalar>
void expectation_maximization<Scalar>::restore(std::span<const double> state) {
  state_reader words(state);
  const std::size_t reseeded = words.take_count("the count of reseeded components");
  model restored = take_model(words, {options_.covariance_type, options_.components, data_.rows->columns()});
  words.end();
  model_ = std::move(restored);
  reseeded_ = reseeded;
}

template class expectation_maximization<float>;
template class expectation_maximization<double>;

}  // namespace shoal::gmm
