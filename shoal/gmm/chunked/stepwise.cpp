#include <shoal/gmm/chunked/stepwise.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {
namespace {

// The statistics per unit of weight, about `centres`, that maximise() turns into `model`.
statistics stood_for(const model& model, std::span<const double> centres, double regularization) {
  const std::size_t d = model.columns;
  const statistics_layout layout(model.covariance_type, model.components, d);
  statistics sums(layout);
  const std::span<double> values = sums.values();
  values[layout.total_weight()] = 1;
  for (std::size_t k = 0; k < model.components; ++k) {
    const double weight = model.weights[k];
    values[layout.weight(k)] = weight;
    const auto delta = [&](std::size_t j) { return model.means[k * d + j] - centres[k * d + j]; };
    const auto covariance = [&](std::size_t i, std::size_t j) {
      double element = 0;
      switch (model.covariance_type) {
        case covariance_type::full:
          element = model.covariances[(k * d + i) * d + j];
          break;
        case covariance_type::tied:
          element = model.covariances[i * d + j];
          break;
        case covariance_type::diag:
          element = model.covariances[k * d + i];
          break;
        case covariance_type::spherical:
          element = model.covariances[k];
          break;
      }
      return i == j ? std::max(element - regularization, 0.0) : element;
    };
    for (std::size_t i = 0; i < d; ++i) {
      values[layout.first(k, i)] = weight * delta(i);
      const std::size_t end = layout.has_matrices() ? d : i + 1;
      for (std::size_t j = i; j < end; ++j) {
        values[layout.second(k, i, j)] += weight * (covariance(i, j) + delta(i) * delta(j));
      }
    }
  }
  return sums;
}

}  // namespace

void mix(model& into, const statistics& rows, std::span<const double> centres, double step_size, double regularization,
         executor* workers) {
  statistics mixed = stood_for(into, centres, regularization);
  const double share = step_size / rows.total_weight();
  for (std::size_t i = 0; i < mixed.values().size(); ++i) {
    mixed.values()[i] = (1 - step_size) * mixed.values()[i] + share * rows.values()[i];
  }
  model next = into;
  maximise(mixed, centres, regularization, next, workers);
  into = std::move(next);
}

template <class Scalar>
void stepwise_fit<Scalar>::seed(std::size_t restart) {
  chunked_fit<Scalar>::seed(restart);
  position_ = 0;
  log_likelihood_ = 0;
  weight_ = 0;
}

template <class Scalar>
void stepwise_fit<Scalar>::step() {
  executor* const workers = this->rows_.context.workers;
  const options& options = this->rows_.options;
  const parameters<Scalar> prepared = prepare<Scalar>(this->model_, workers);
  const std::span<const std::size_t> chunks = this->chunks_of(position_);
  const std::span<statistics> sums = this->sum_chunks(chunks, {&prepared});
  const statistics_group group(this->layout_);
  for (std::size_t i = 1; i < chunks.size(); ++i) group.combine_into(sums[0], sums[i]);
  if (sums[0].total_weight() > 0) {
    const double done = static_cast<double>(this->pass_ * this->plan_.superchunks() + position_);
    mix(this->model_, sums[0], prepared.centres, std::pow(done + options.step_delay, -options.step_exponent),
        options.regularization, workers);
    log_likelihood_ += sums[0].log_likelihood();
    weight_ += sums[0].total_weight();
  }
  ++position_;
}

template <class Scalar>
std::vector<step_record> stepwise_fit<Scalar>::advance(std::size_t) {
  while (position_ < this->plan_.superchunks()) step();
  this->reseed_empty();
  const double objective = log_likelihood_ / weight_;
  this->end_pass();
  position_ = 0;
  log_likelihood_ = 0;
  weight_ = 0;
  return {{objective, 0.0, false}};
}

template <class Scalar>
std::vector<double> stepwise_fit<Scalar>::save() const {
  std::vector<double> state = this->save_model();
  state.insert(state.end(), {static_cast<double>(position_), log_likelihood_, weight_});
  return state;
}

template <class Scalar>
void stepwise_fit<Scalar>::restore(std::span<const double> state) {
  state_reader words(state);
  this->restore_model(words);
  position_ = words.take_count("the superchunks done", this->plan_.superchunks());
  log_likelihood_ = words.take_finite("the log-likelihood");
  weight_ = words.take_finite("the weight of the rows visited");
  words.end();
  if (weight_ < 0 || (weight_ == 0 && position_ == this->plan_.superchunks())) {
    throw bad_data(fmt::format("the weight of the rows visited is {} in its state", weight_));
  }
}

template class stepwise_fit<float>;
template class stepwise_fit<double>;

}  // namespace shoal::gmm
