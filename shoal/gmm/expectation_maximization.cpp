#include <shoal/gmm/expectation_maximization.hpp>

#include <algorithm>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/first_model.hpp>
#include <shoal/gmm/jump.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/reseed.hpp>
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
  for (const auto* part : {&model_.weights, &model_.means, &model_.covariances})
    state.insert(state.end(), part->begin(), part->end());
  return state;
}

template <class Scalar>
void expectation_maximization<Scalar>::restore(std::span<const double> state) {
  const std::size_t components = options_.components, columns = data_.rows->columns();
  model_.covariance_type = options_.covariance_type;
  model_.components = components;
  model_.columns = columns;
  const std::size_t covariances = covariance_size(options_.covariance_type, components, columns);
  if (state.size() != 1 + components + components * columns + covariances)
    throw bad_data("the checkpoint holds a state of the wrong size");
  reseeded_ = static_cast<std::size_t>(state[0]);
  auto at = state.begin() + 1;
  for (auto [part, size] : {std::pair{&model_.weights, components}, std::pair{&model_.means, components * columns},
                            std::pair{&model_.covariances, covariances}}) {
    part->assign(at, at + static_cast<std::ptrdiff_t>(size));
    at += static_cast<std::ptrdiff_t>(size);
  }
}

template class expectation_maximization<float>;
template class expectation_maximization<double>;

}  // namespace shoal::gmm
