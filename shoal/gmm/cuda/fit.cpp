#include <shoal/gmm/cuda/fit.hpp>

#include <utility>

#include <shoal/gmm/cuda/moments_about.hpp>
#include <shoal/gmm/cuda/worst_rows.hpp>
#include <shoal/gmm/first_model.hpp>
#include <shoal/gmm/jump.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/reseed.hpp>

namespace shoal::gmm {

template <class Scalar>
device_fit<Scalar>::device_fit(const device_fit_rows<Scalar>& fit, std::size_t sum_rows, bool again)
    : fit_(fit),
      layout_(fit.options.covariance_type, fit.options.components, fit.rows.columns()),
      parts_(fit.rows.group(), layout_, fit.options.regularization),
      expectation_(fit.rows, layout_, sum_rows, again) {}

template <class Scalar>
double device_fit<Scalar>::score() {
  make_ready();
  expectation_.sum_all_rows(parts_);
  const std::vector<double> sums = expectation_.download(layout_.component(0));
  return sums[statistics_layout::log_likelihood()] / sums[statistics_layout::total_weight()];
}

template <class Scalar>
const model& device_fit<Scalar>::current() const {
  if (!model_here_) {
    parts_.download_model(model_);
    model_here_ = true;
  }
  return model_;
}

template <class Scalar>
void device_fit<Scalar>::begin(model first, std::size_t reseeded) {
  model_ = std::move(first);
  model_here_ = true;
  prepared_ = false;
  failure_ = refusal::none;
  reseeded_ = reseeded;
  forget();
}

template <class Scalar>
void device_fit<Scalar>::begin_restart(std::size_t restart) {
  begin(fit_.first_model ? fit_.first_model(restart)
                         : initial_model(fit_.context, fit_.data, fit_.summary, fit_.options, restart),
        0);
}

template <class Scalar>
void device_fit<Scalar>::make_ready() {
  if (failure_ != refusal::none) refuse_present_model();
  if (prepared_) {
    if (stopped_) parts_.resume();
  } else {
    parts_.prepare(model_);
    prepared_ = true;
  }
  stopped_ = false;
}

template <class Scalar>
void device_fit<Scalar>::refuse_present_model() {
  refuse_model(failure_, current(), sizeof(Scalar));
}

template <class Scalar>
void device_fit<Scalar>::finish(stop_reason reason, refusal::code failure) {
  stopped_ = reason != stop_reason::none;
  model_here_ = false;
  if (reason == stop_reason::failed) failure_ = failure;
  if (reason == stop_reason::empty) fill_empty_components();
  if (reason == stop_reason::jumped) follow_jump();
}

template <class Scalar>
statistics device_fit<Scalar>::statistics_about(const model& /*start*/, std::span<const double> centres) {
  return moments_about(fit_.rows, parts_, centres);
}

// What the last step makes of the model that it began with, by the host.
template <class Scalar>
std::vector<std::size_t> device_fit<Scalar>::maximise_from(const model& start, model& next) {
  statistics sums = stopped_statistics();
  const parameters<Scalar> about =
      prepare_centres<Scalar>(start.covariance_type, start.components, start.columns, start.means.data());
  const auto again = [&](const parameters<Scalar>& centres) -> const statistics& {
    return sums = statistics_about(start, centres.centres);
  };
  next = start;
  return maximise_closely<Scalar>(sums, about.centres, fit_.options.regularization, next, fit_.context.workers, again);
}

// The GPU has replaced the model by one with a covariance that its sums could not tell.
template <class Scalar>
void device_fit<Scalar>::follow_jump() {
  model start = current(), next;
  parts_.download_model_before(start);
  parts_.prepare(start);
  maximise_from(start, next);
  begin(std::move(next), reseeded_);
}

// The GPU stopped before it changed anything, so model and statistics are those of the step's start.
template <class Scalar>
void device_fit<Scalar>::fill_empty_components() {
  model next;
  const std::vector<std::size_t> empty = maximise_from(current(), next);
  reseed(worst_rows_on_devices(fit_.rows, parts_, layout_, empty.size()), fit_.summary, fit_.options.regularization,
         empty, next);
  begin(std::move(next), reseeded_ + empty.size());
}

template class device_fit<float>;
template class device_fit<double>;

}  // namespace shoal::gmm
