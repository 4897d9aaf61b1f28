#include <shoal/gmm/chunked/chunked_fit.hpp>

#include <algorithm>
#include <utility>

#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/first_model.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/reseed.hpp>
#include <shoal/gmm/saved_model.hpp>
#include <shoal/gmm/worst_rows.hpp>

namespace shoal::gmm {

template <class Scalar>
chunked_fit<Scalar>::chunked_fit(const host_rows<Scalar>& rows)
    : rows_(rows),
      layout_(rows.options.covariance_type, rows.options.components, rows.data.rows->columns()),
      plan_(make_chunk_plan(rows.data.rows->rows(), layout_, sizeof(Scalar), rows.options)),
      readers_(make_chunk_readers(rows.context, rows.data, plan_)) {}

template <class Scalar>
void chunked_fit<Scalar>::seed(std::size_t restart) {
  model_ = initial_model(rows_.context, rows_.data, rows_.summary, rows_.options, restart);
  restart_ = restart;
  reseeded_ = 0;
  pass_ = 0;
  ordered_turn_ = static_cast<std::size_t>(-1);
}

template <class Scalar>
double chunked_fit<Scalar>::score() {
  const parameters<Scalar> prepared = prepare<Scalar>(model_, rows_.context.workers);
  const gmm::score sums =
      fold<Scalar>(rows_.context, rows_.data, score_monoid{}, prediction_body<Scalar>{&prepared, {}});
  return sums.log_likelihood / sums.weight;
}

template <class Scalar>
std::span<const std::size_t> chunked_fit<Scalar>::chunks_of(std::size_t superchunk) {
  const std::size_t turn = reorders() ? pass_ : 0;
  if (ordered_turn_ != turn) {
    order_ = chunk_order(plan_, rows_.options.seed, restart_, turn);
    ordered_turn_ = turn;
  }
  const std::size_t first = superchunk * plan_.superchunk;
  return std::span<const std::size_t>(order_).subspan(first, std::min(plan_.superchunk, plan_.chunks - first));
}

template <class Scalar>
std::span<statistics> chunked_fit<Scalar>::sum_chunks(std::span<const std::size_t> chunks,
                                                      const accumulation<Scalar>& body) {
  while (fresh_.size() < chunks.size()) fresh_.emplace_back(layout_);
  rows_.context.workers->run(chunks.size(), 1, [&](std::size_t i, const team_member& member) {
    readers_[member.team()].sum(plan_, chunks[i], body, fresh_[i]);
  });
  return std::span<statistics>(fresh_).first(chunks.size());
}

template <class Scalar>
bool chunked_fit<Scalar>::reseed_empty() {
  std::vector<std::size_t> empty;
  for (std::size_t k = 0; k < model_.components; ++k) {
    if (!(model_.weights[k] > least_weight)) empty.push_back(k);
  }
  if (empty.empty()) return false;
  const parameters<Scalar> prepared = prepare<Scalar>(model_, rows_.context.workers);
  reseed(worst_rows(rows_.context, rows_.data, prepared, empty.size()), rows_.summary, rows_.options.regularization,
         empty, model_);
  reseeded_ += empty.size();
  return true;
}

template <class Scalar>
std::vector<double> chunked_fit<Scalar>::save_model() const {
  std::vector<double> state{static_cast<double>(restart_), static_cast<double>(pass_), static_cast<double>(reseeded_)};
  append_model(model_, state);
  return state;
}

template <class Scalar>
void chunked_fit<Scalar>::restore_model(state_reader& state) {
  restart_ = state.take_count("the restart");
  pass_ = state.take_count("the pass");
  reseeded_ = state.take_count("the count of reseeded components");
  ordered_turn_ = static_cast<std::size_t>(-1);
  model_ = take_model(state, layout_);
}

template <class Scalar>
std::vector<double> chunked_fit<Scalar>::rounded_means() const {
  return prepare_centres<Scalar>(model_.covariance_type, model_.components, model_.columns, model_.means.data())
      .centres;
}

template class chunked_fit<float>;
template class chunked_fit<double>;

}  // namespace shoal::gmm
