#include <shoal/gmm/cuda/chunked/chunked_fit.hpp>

#include <algorithm>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/chunked/chunk_plan.hpp>
#include <shoal/gmm/saved_model.hpp>

namespace shoal::gmm {

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
    : device_fit<Scalar>(fit, sum_rows, false), plan_(plan) {}

template <class Scalar>
void device_chunked_fit<Scalar>::seed(std::size_t restart) {
  restart_ = restart;
  ordered_turn_ = static_cast<std::size_t>(-1);
  this->begin_restart(restart);
}

template <class Scalar>
std::vector<step_record> device_chunked_fit<Scalar>::advance(std::size_t most) {
  if (fit_.context.stop.stop_requested()) throw interrupted("stopped on request");
  this->make_ready();
  const cuda::device_scope scope(fit_.rows.group()[0].device);
  return advance_passes(most);
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
  steps_done_ = done.objectives.size();
  this->finish(done.reason, state.failure);
  return done;
}

template <class Scalar>
std::vector<step_record> device_chunked_fit<Scalar>::records_of(const steps_done& done, std::size_t pass_steps) {
  std::vector<step_record> records;
  const std::size_t steps = done.objectives.size();
  for (std::size_t end = pass_steps; end <= steps; end += pass_steps) {
    records.push_back({done.objectives[end - 1], 0.0, false});
  }
  if (steps % pass_steps != 0 && (done.reason == stop_reason::empty || done.reason == stop_reason::jumped)) {
    records.push_back({done.objectives.back(), 0.0, false});
  }
  if (records.empty()) this->refuse_present_model();
  return records;
}

// The GPU stopped before it changed the model, so the statistics are about its centres.
template <class Scalar>
statistics device_chunked_fit<Scalar>::stopped_statistics() {
  const cuda::gpu& first = fit_.rows.group()[0];
  const cuda::device_scope scope(first.device);
  statistics sums(layout_);
  cuda::check(cudaMemcpyAsync(sums.values().data(), total(), layout_.size() * sizeof(double), cudaMemcpyDeviceToHost,
                              first.compute),
              "copy from the device");
  first.compute.synchronize();
  return sums;
}

template <class Scalar>
std::vector<double> device_chunked_fit<Scalar>::save_model() const {
  std::vector<double> state{static_cast<double>(restart_), static_cast<double>(this->reseeded())};
  append_model(this->current(), state);
  return state;
}

template <class Scalar>
void device_chunked_fit<Scalar>::restore_model(state_reader& state) {
  restart_ = state.take_count("the restart");
  const std::size_t reseeded = state.take_count("the count of reseeded components");
  ordered_turn_ = static_cast<std::size_t>(-1);
  this->begin(take_model(state, layout_), reseeded);
}

template class device_chunked_fit<float>;
template class device_chunked_fit<double>;

}  // namespace shoal::gmm
