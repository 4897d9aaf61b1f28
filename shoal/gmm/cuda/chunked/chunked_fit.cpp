#include <shoal/gmm/cuda/chunked/chunked_fit.hpp>

#include <algorithm>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/chunked/chunk_plan.hpp>
#include <shoal/gmm/cuda/worst_rows.hpp>
#include <shoal/gmm/first_model.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/reseed.hpp>

namespace shoal::gmm {

std::span<const double> take(std::span<const double>& state, std::size_t count) {
  if (state.size() < count) throw bad_data("the state is of another size");
  const std::span<const double> taken = state.first(count);
  state = state.subspan(count);
  return taken;
}

namespace {

template <class Scalar>
statistics_layout layout_of(const device_fit_rows<Scalar>& fit) {
  return {fit.options.covariance_type, fit.options.components, fit.rows.columns()};
}

template <class Scalar>
chunk_plan plan_of(const device_fit_rows<Scalar>& fit) {
  return make_device_chunk_plan(fit.rows.most_shard_rows(), fit.rows.shards().count(), layout_of(fit), fit.options);
}

}  // namespace

template <class Scalar>
device_chunked_fit<Scalar>::device_chunked_fit(const device_fit_rows<Scalar>& fit)
    : device_chunked_fit(fit, plan_of(fit), plan_of(fit).superchunk * plan_of(fit).chunk_rows) {}

template <class Scalar>
device_chunked_fit<Scalar>::device_chunked_fit(const device_fit_rows<Scalar>& fit, const chunk_plan& plan,
                                               std::size_t sum_rows)
    : fit_(fit),
      layout_(layout_of(fit)),
      plan_(plan),
      parts_(fit.rows.group(), layout_, fit.options.regularization),
      expectation_(fit.rows, layout_, sum_rows) {}

template <class Scalar>
void device_chunked_fit<Scalar>::seed(std::size_t restart) {
  restart_ = restart;
  ordered_turn_ = static_cast<std::size_t>(-1);
  begin(fit_.first_model ? fit_.first_model(restart)
                         : initial_model(fit_.context, fit_.data, fit_.summary, fit_.options, restart),
        0);
}

template <class Scalar>
std::vector<step_record> device_chunked_fit<Scalar>::advance(std::size_t most) {
  if (fit_.context.stop.stop_requested()) throw interrupted("stopped on request");
  make_ready();
  const cuda::device_scope scope(fit_.rows.group()[0].device);
  return advance_passes(most);
}

template <class Scalar>
double device_chunked_fit<Scalar>::score() {
  make_ready();
  expectation_.sum_all_rows(parts_);
  const std::vector<double> sums = expectation_.download(layout_.component(0));
  return sums[statistics_layout::log_likelihood()] / sums[statistics_layout::total_weight()];
}

template <class Scalar>
const model& device_chunked_fit<Scalar>::current() const {
  if (!model_here_) {
    parts_.download_model(model_);
    model_here_ = true;
  }
  return model_;
}

template <class Scalar>
std::vector<cuda::shard_range> device_chunked_fit<Scalar>::ranges(std::size_t superchunk, std::size_t turn) {
  if (ordered_turn_ != turn) {
    order_ = chunk_order(plan_, fit_.options.seed, restart_, turn);
    ordered_turn_ = turn;
  }
  const std::size_t first = superchunk * plan_.superchunk;
  return ranges_of(
      plan_, std::span<const std::size_t>(order_).subspan(first, std::min(plan_.superchunk, plan_.chunks - first)));
}

template <class Scalar>
typename device_chunked_fit<Scalar>::steps_done device_chunked_fit<Scalar>::end_steps() {
  const step_state& state = parts_.end_steps();
  const steps_done done{{state.objectives, state.objectives + state.steps}, state.reason};
  stopped_ = done.reason != stop_reason::none;
  model_here_ = false;
  if (done.reason == stop_reason::failed) failure_ = state.failure;
  if (done.reason == stop_reason::empty) fill_empty_components();
  return done;
}

template <class Scalar>
std::vector<step_record> device_chunked_fit<Scalar>::records_of(const steps_done& done, std::size_t pass_steps) {
  std::vector<step_record> records;
  const std::size_t steps = done.objectives.size();
  for (std::size_t end = pass_steps; end <= steps; end += pass_steps) {
    records.push_back({done.objectives[end - 1], 0.0, false});
  }
  if (steps % pass_steps != 0 && done.reason == stop_reason::empty) {
    records.push_back({done.objectives.back(), 0.0, false});
  }
  if (records.empty()) refuse_present_model();
  return records;
}

template <class Scalar>
void device_chunked_fit<Scalar>::refuse_present_model() {
  refuse_model(failure_, current(), sizeof(Scalar));
}

template <class Scalar>
void device_chunked_fit<Scalar>::begin(model first, std::size_t reseeded) {
  model_ = std::move(first);
  model_here_ = true;
  prepared_ = false;
  failure_ = refusal::none;
  reseeded_ = reseeded;
  forget();
}

template <class Scalar>
void device_chunked_fit<Scalar>::make_ready() {
  if (failure_ != refusal::none) refuse_present_model();
  if (prepared_) {
    if (stopped_) parts_.resume();
  } else {
    parts_.prepare(model_);
    prepared_ = true;
  }
  stopped_ = false;
}

// The GPU stopped before it changed the model, so the statistics are about its centres.
template <class Scalar>
void device_chunked_fit<Scalar>::fill_empty_components() {
  const cuda::gpu& first = fit_.rows.group()[0];
  const model& start = current();
  cuda::device_scope scope(first.device);
  statistics sums(layout_);
  std::vector<double> values(layout_.size());
  cuda::check(
      cudaMemcpyAsync(values.data(), total(), values.size() * sizeof(double), cudaMemcpyDeviceToHost, first.compute),
      "copy from the device");
  first.compute.synchronize();
  std::copy(values.begin(), values.end(), sums.values().begin());
  const parameters<Scalar> prepared = gmm::prepare<Scalar>(start, fit_.context.workers);
  model next = start;
  const std::vector<std::size_t> empty =
      gmm::maximise(sums, prepared.centres, fit_.options.regularization, next, fit_.context.workers);
  reseed(worst_rows_on_devices(fit_.rows, parts_, layout_, empty.size()), fit_.summary, fit_.options.regularization,
         empty, next);
  begin(std::move(next), reseeded_ + empty.size());
}

template <class Scalar>
std::vector<double> device_chunked_fit<Scalar>::save_model() const {
  std::vector<double> state{static_cast<double>(restart_), static_cast<double>(reseeded_)};
  const std::vector<double> values = pack_model(current());
  state.insert(state.end(), values.begin(), values.end());
  return state;
}

template <class Scalar>
void device_chunked_fit<Scalar>::restore_model(std::span<const double>& state) {
  const std::span<const double> counters = take(state, 2);
  model restored;
  restored.covariance_type = fit_.options.covariance_type;
  restored.components = fit_.options.components;
  restored.columns = layout_.columns();
  unpack_model(take(state, model_size(layout_)), restored);
  restart_ = static_cast<std::size_t>(counters[0]);
  ordered_turn_ = static_cast<std::size_t>(-1);
  begin(std::move(restored), static_cast<std::size_t>(counters[1]));
}

template class device_chunked_fit<float>;
template class device_chunked_fit<double>;

}  // namespace shoal::gmm
