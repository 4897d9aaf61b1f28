#include <shoal/gmm/cuda/expectation_maximization.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/saved_model.hpp>

namespace shoal::gmm {
namespace {

using clock = std::chrono::steady_clock;

// Steps of one graph.
constexpr std::size_t graph_steps = 8;

// Graphs that wait for the GPU.
constexpr std::size_t graphs_in_flight = 2;

}  // namespace

template <class Scalar>
device_expectation_maximization<Scalar>::device_expectation_maximization(const device_fit_rows<Scalar>& fit)
    : device_fit<Scalar>(fit),
      many_steps_(fit.rows.resident() && alone(fit.context.ranks)),
      in_graphs_(many_steps_ && cuda::recordable(fit.rows.group())),
      recorded_(graph_steps),
      ahead_(graphs_in_flight) {}

template <class Scalar>
void device_expectation_maximization<Scalar>::seed(std::size_t restart) {
  this->begin_restart(restart);
  previous_ = previous_step::none;
}

// A step that only finds that an extrapolated model is none has nothing to report.
template <class Scalar>
std::vector<step_record> device_expectation_maximization<Scalar>::advance(std::size_t most) {
  std::vector<step_record> records;
  while (records.empty()) records = run_steps(most);
  return records;
}

template <class Scalar>
std::vector<double> device_expectation_maximization<Scalar>::save() const {
  std::vector<double> state{static_cast<double>(this->reseeded())};
  append_model(this->current(), state);
  return state;
}

template <class Scalar>
void device_expectation_maximization<Scalar>::restore(std::span<const double> state) {
  state_reader words(state);
  const std::size_t reseeded = words.take_count("the count of reseeded components");
  model restored = take_model(words, layout_);
  words.end();
  this->begin(std::move(restored), reseeded);
  // The loop may know an objective from before, and compare with it: only it can tell whether the next step is the
  // last.
  previous_ = previous_step::unknown;
}

template <class Scalar>
void device_expectation_maximization<Scalar>::forget() {
  if (between_ != nullptr) between_->model_replaced();
}

template <class Scalar>
std::vector<step_record> device_expectation_maximization<Scalar>::run_steps(std::size_t most) {
  if (fit_.context.stop.stop_requested()) throw interrupted("stopped on request");
  this->make_ready();
  const cuda::device_scope scope(fit_.rows.group()[0].device);
  if (in_graphs_ && !recorded_) recorded_.record(fit_.rows.group(), [&] { enqueue_step(); });
  const clock::time_point start = clock::now();
  // A fit with something between its steps stops by what its iterations gain, which the objectives alone do not say.
  parts_.begin_steps(previous_ == previous_step::known ? previous_objective_ : not_known,
                     between_ != nullptr ? 0 : fit_.options.tolerance);
  if (between_ != nullptr) between_->before_steps();
  try {
    if (in_graphs_) {
      cuda::launch_in_order(fit_.rows.group(), [&] { launch_some_steps(most); });
    } else {
      launch_some_steps(most);
    }
  } catch (const interrupted&) {
    if (between_ != nullptr) between_->after_steps();
    stream().synchronize();
    throw;
  }
  if (between_ != nullptr) between_->after_steps();
  const step_state& state = parts_.end_steps();
  const std::span<const double> objectives(state.objectives, state.steps);
  std::vector<step_record> records;
  if (between_ != nullptr) {
    records = between_->records(objectives);
  } else {
    for (const double objective : objectives) records.push_back({objective, 0.0, false});
  }
  this->finish(state.reason, state.failure);
  if (records.empty()) return records;
  step_seconds_ = std::chrono::duration<double>(clock::now() - start).count() / static_cast<double>(records.size());
  previous_ = previous_step::known;
  previous_objective_ = records.back().objective;
  return records;
}

template <class Scalar>
void device_expectation_maximization<Scalar>::launch_some_steps(std::size_t most) {
  if (many_steps_ && previous_ != previous_step::unknown && step_seconds_ > 0) {
    launch_steps(std::min<std::size_t>(most, most_steps));
  } else {
    enqueue_some_steps(1);
  }
}

// Up to `most` steps, fewer when the GPU stops them, the time of a batch is over, or the fit is to stop.
template <class Scalar>
void device_expectation_maximization<Scalar>::launch_steps(std::size_t most) {
  const bool quick = step_seconds_ * static_cast<double>(graph_steps * graphs_in_flight) < cuda::batch_seconds;
  ahead_.run(
      most, stream(), fit_.context.stop, [&] { return parts_.stopped(); },
      [&](std::size_t rest) { return enqueue_some_steps(quick ? rest : 1); });
}

// One, or as many as a graph has where there may be so many; returns how many.
template <class Scalar>
std::size_t device_expectation_maximization<Scalar>::enqueue_some_steps(std::size_t most) {
  if (in_graphs_) return recorded_.launch(most, stream());
  const std::size_t steps = most >= graph_steps ? graph_steps : 1;
  for (std::size_t i = 0; i < steps; ++i) enqueue_step();
  return steps;
}

template <class Scalar>
void device_expectation_maximization<Scalar>::enqueue_step() {
  if (many_steps_) {
    expectation_.sum_and_maximise(parts_);
  } else {
    expectation_.sum_all_rows(parts_);
    parts_.maximise(expectation_.sums());
  }
  if (between_ != nullptr) {
    between_->after_step();
  } else {
    parts_.broadcast();
  }
}

template <class Scalar>
statistics device_expectation_maximization<Scalar>::stopped_statistics() {
  return expectation_.download();
}

template class device_expectation_maximization<float>;
template class device_expectation_maximization<double>;

}  // namespace shoal::gmm
