#include <shoal/gmm/chunked/stepwise.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/step_for.hpp>
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

statistics mixture_of(const model& model, const statistics& rows, std::span<const double> centres, double step_size,
                      double regularization) {
  statistics mixed = stood_for(model, centres, regularization);
  const double share = step_size / rows.total_weight();
  for (std::size_t i = 0; i < mixed.values().size(); ++i) {
    mixed.values()[i] = (1 - step_size) * mixed.values()[i] + share * rows.values()[i];
  }
  return mixed;
}

template <class Scalar>
void mix(model& into, const statistics& rows, std::span<const double> centres, double step_size, double regularization,
         executor* workers, const sums_about<Scalar>& again) {
  statistics mixed = mixture_of(into, rows, centres, step_size, regularization);
  const auto mixed_again = [&](const parameters<Scalar>& about) -> const statistics& {
    return mixed = mixture_of(into, again(about), about.centres, step_size, regularization);
  };
  model next = into;
  maximise_closely<Scalar>(mixed, centres, regularization, next, workers, mixed_again);
  into = std::move(next);
}
template void mix(model&, const statistics&, std::span<const double>, double, double, executor*,
                  const sums_about<float>&);
template void mix(model&, const statistics&, std::span<const double>, double, double, executor*,
                  const sums_about<double>&);

double superchunk_weight(const data_summary& summary, std::size_t superchunk_rows) {
  return summary.total_weight / weight_scale(summary.largest_weight) * static_cast<double>(superchunk_rows) /
         static_cast<double>(summary.rows);
}

template <class Scalar>
void stepwise_fit<Scalar>::seed(std::size_t restart) {
  chunked_fit<Scalar>::seed(restart);
  position_ = 0;
  log_likelihood_ = 0;
  weight_ = 0;
}

template <class Scalar>
const statistics& stepwise_fit<Scalar>::sum_superchunk(const accumulation<Scalar>& body) {
  const std::span<statistics> sums = this->sum_chunks(this->chunks_of(position_), body);
  const statistics_group group(this->layout_);
  for (std::size_t i = 1; i < sums.size(); ++i) group.combine_into(sums[0], sums[i]);
  return sums[0];
}

template <class Scalar>
void stepwise_fit<Scalar>::step() {
  executor* const workers = this->rows_.context.workers;
  const options& options = this->rows_.options;
  const parameters<Scalar> prepared = prepare<Scalar>(this->model_, workers);
  const statistics& sums = sum_superchunk({&prepared});
  const double weight = sums.total_weight();
  if (weight > 0) {
    log_likelihood_ += sums.log_likelihood();
    weight_ += weight;
    const double done = static_cast<double>(this->pass_ * this->plan_.superchunks() + position_);
    const double whole = std::pow(done + options.step_delay, -options.step_exponent);
    const std::size_t rows = std::min(this->plan_.rows, this->plan_.superchunk * this->plan_.chunk_rows);
    const auto again = [&](const parameters<Scalar>& about) -> const statistics& {
      return sum_superchunk({&prepared, nullptr, &about});
    };
    mix<Scalar>(this->model_, sums, prepared.centres,
                step_for(whole, weight, superchunk_weight(this->rows_.summary, rows)), options.regularization, workers,
                again);
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
