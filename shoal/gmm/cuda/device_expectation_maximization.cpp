#include <shoal/gmm/cuda/device_expectation_maximization.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/graph.hpp>
#include <shoal/gmm/cuda/device_expectation.hpp>
#include <shoal/gmm/cuda/device_parts.hpp>
#include <shoal/gmm/cuda/launches_ahead.hpp>
#include <shoal/gmm/cuda/worst_rows.hpp>
#include <shoal/gmm/initialize.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/reseed.hpp>

namespace shoal::gmm {
namespace {

using clock = std::chrono::steady_clock;

// Steps of one graph: one launch for several costs the host less, and the GPU goes on without a gap.
constexpr std::size_t graph_steps = 8;

// Graphs that wait for the GPU.
constexpr std::size_t graphs_in_flight = 2;

// Iterations whose models are kept without a look between them.
constexpr std::size_t most_kept = 2;

template <class Scalar>
class device_expectation_maximization final : public batch_stepper {
 public:
  device_expectation_maximization(cuda::device_rows<Scalar>& rows, const fold_context& context,
                                  const weighted_rows<Scalar>& data, const data_summary& summary,
                                  const options& options, first_model_function first_model)
      : rows_(rows),
        context_(context),
        data_(data),
        summary_(summary),
        options_(options),
        first_model_(std::move(first_model)),
        layout_(options.covariance_type, options.components, rows.columns()),
        parts_(rows.group(), layout_, options.regularization),
        expectation_(rows, layout_),
        many_steps_(rows.resident()),
        recorded_(many_steps_ && rows.group().size() == 1) {}

  void seed(std::size_t restart) override {
    begin(first_model_ ? first_model_(restart) : initial_model(context_, data_, summary_, options_, restart), 0);
    previous_ = previous_step::none;
  }

  std::vector<step_record> advance(std::size_t most) override {
    if (context_.stop.stop_requested()) throw interrupted("stopped on request");
    make_ready();
    const cuda::device_scope scope(rows_.group()[0].device);
    if (recorded_ && !one_step_) record_graphs();
    const clock::time_point start = clock::now();
    parts_.begin_steps(previous_ == previous_step::known ? previous_objective_ : not_known, options_.tolerance);
    if (many_steps_ && previous_ != previous_step::unknown && step_seconds_ > 0) {
      launch_steps(std::min<std::size_t>(most, most_steps));
    } else {
      enqueue_steps(1);
    }
    const step_state& state = parts_.end_steps();
    std::vector<step_record> records;
    for (unsigned i = 0; i < state.steps; ++i) records.push_back({state.objectives[i], 0.0, false});
    step_seconds_ = std::chrono::duration<double>(clock::now() - start).count() / static_cast<double>(state.steps);
    finish(state.reason, state.failure);
    previous_ = previous_step::known;
    previous_objective_ = records.back().objective;
    return records;
  }

  void place(const model& model) override { begin(model, reseeded_); }

  std::vector<batch_iteration> iterate(const batch_limits& limits) override {
    if (context_.stop.stop_requested()) throw interrupted("stopped on request");
    if (failure_ != refusal::none) refuse_model(failure_, current(), sizeof(Scalar));
    const cuda::device_scope scope(rows_.group()[0].device);
    for (cuda::pinned_buffer<double>& kept : kept_models_) kept.grow(model_size(layout_));
    // Rows that are streamed would come by for nothing once the steps have stopped.
    const std::size_t wanted = rows_.resident() ? std::min(limits.most, most_kept) : 1;
    const bool placed = !prepared_;
    parts_.stage_steps(limits.previous, limits.tolerance, limits.least);
    if (placed) {
      parts_.stage(model_);
    } else if (stopped_) {
      parts_.resume();
    }
    if (recorded_) {
      cuda::graph& graph = keeping_steps_[placed ? 1 : 0][wanted - 1];
      if (!graph) {
        graph = cuda::graph::record(rows_.group()[0].compute, [&] { enqueue_kept(placed, wanted); });
      }
      graph.launch(rows_.group()[0].compute);
    } else {
      enqueue_kept(placed, wanted);
    }
    const step_state& state = parts_.wait_for_end();
    if (state.steps == 0) refuse_model(state.failure, model_, sizeof(Scalar));
    std::vector<batch_iteration> done;
    for (unsigned i = 0; i < state.steps; ++i) {
      done.push_back({state.objectives[i], empty_model()});
      unpack_model({kept_models_[i].data(), model_size(layout_)}, done.back().model);
    }
    prepared_ = true;
    model_ = done.back().model;
    finish(state.reason, state.failure);
    model_here_ = true;
    done.back().model = model_;  // where components were empty they have rows now
    previous_ = previous_step::known;
    previous_objective_ = done.back().objective;
    return done;
  }

  double score() override {
    make_ready();
    expectation_.sum_all_rows(parts_);
    const std::vector<double> sums = expectation_.download(layout_.component(0));
    return sums[statistics_layout::log_likelihood()] / sums[statistics_layout::total_weight()];
  }

  std::vector<double> save() const override {
    std::vector<double> state{static_cast<double>(reseeded_)};
    const std::vector<double> values = pack_model(current());
    state.insert(state.end(), values.begin(), values.end());
    return state;
  }

  void restore(std::span<const double> state) override {
    if (state.size() != 1 + model_size(layout_)) throw bad_data("the state is of another size");
    model restored = empty_model();
    unpack_model(state.subspan(1), restored);
    begin(std::move(restored), static_cast<std::size_t>(state[0]));
    // The loop may know an objective from before, and compare with it: only it can tell whether the next step is the
    // last.
    previous_ = previous_step::unknown;
  }

  const model& current() const override {
    if (!model_here_) {
      parts_.download_model(model_);
      model_here_ = true;
    }
    return model_;
  }
  std::size_t reseeded() const override { return reseeded_; }

 private:
  enum class previous_step { none, known, unknown };

  void begin(model first, std::size_t reseeded) {
    model_ = std::move(first);
    model_here_ = true;
    prepared_ = false;
    failure_ = refusal::none;
    reseeded_ = reseeded;
  }

  // The present model on all GPUs, prepared; throws when it cannot be.
  void make_ready() {
    if (failure_ != refusal::none) refuse_model(failure_, current(), sizeof(Scalar));
    if (prepared_) {
      if (stopped_) parts_.resume();
    } else {
      parts_.prepare(model_);
      prepared_ = true;
    }
    stopped_ = false;
  }

  void record_graphs() {
    const cuda::stream& stream = rows_.group()[0].compute;
    one_step_ = cuda::graph::record(stream, [&] { enqueue_step(); });
    some_steps_ = cuda::graph::record(stream, [&] {
      for (std::size_t i = 0; i < graph_steps; ++i) enqueue_step();
    });
  }

  // What the host has staged, and steps, each followed by a copy of its model to the host: all that is between two
  // looks of the host, since every launch and copy that is asked for by itself keeps the GPU waiting.
  void enqueue_kept(bool placed, std::size_t count) {
    parts_.enqueue_begin();
    if (placed) parts_.enqueue_prepare();
    for (std::size_t i = 0; i < count; ++i) {
      enqueue_step();
      parts_.enqueue_download(kept_models_[i].data());
    }
    parts_.enqueue_end();
  }

  model empty_model() const {
    model made;
    made.covariance_type = options_.covariance_type;
    made.components = options_.components;
    made.columns = layout_.columns();
    return made;
  }

  // Up to `most` steps, fewer when the GPU stops them, the time of a batch is over, or the fit is to stop.
  void launch_steps(std::size_t most) {
    const bool quick = step_seconds_ * static_cast<double>(graph_steps * graphs_in_flight) < batch_seconds;
    ahead_.run(
        most, rows_.group()[0].compute, context_.stop, [&] { return parts_.stopped(); },
        [&](std::size_t rest) {
          const std::size_t steps = quick && rest >= graph_steps ? graph_steps : 1;
          enqueue_steps(steps);
          return steps;
        });
  }

  // One, or as many as a graph has.
  void enqueue_steps(std::size_t count) {
    if (recorded_) {
      (count == 1 ? one_step_ : some_steps_).launch(rows_.group()[0].compute);
    } else {
      for (std::size_t i = 0; i < count; ++i) enqueue_step();
    }
  }

  void enqueue_step() {
    expectation_.sum_all_rows(parts_);
    parts_.maximise(expectation_.sums());
    parts_.broadcast();
  }

  // Does for the last step what the GPU leaves to the host.
  void finish(stop_reason reason, refusal::code failure) {
    stopped_ = reason != stop_reason::none;
    model_here_ = false;
    if (reason == stop_reason::failed) failure_ = failure;
    if (reason == stop_reason::empty) fill_empty_components();
  }

  // The GPU stopped before it changed anything, so model and statistics are those of the step's start.
  void fill_empty_components() {
    const model& start = current();
    if (rows_.group().size() > 1) {
      // Steps that were asked for already have added the shares of the other GPUs to the sums once more.
      parts_.resume();
      expectation_.sum_all_rows(parts_);
    }
    const statistics sums = expectation_.download();
    const parameters<Scalar> prepared = gmm::prepare<Scalar>(start, context_.workers);
    model next = start;
    const std::vector<std::size_t> empty =
        gmm::maximise(sums, prepared.centres, options_.regularization, next, context_.workers);
    reseed(worst_rows_on_devices(rows_, parts_, layout_, empty.size()), summary_, options_.regularization, empty, next);
    begin(std::move(next), reseeded_ + empty.size());
  }

  cuda::device_rows<Scalar>& rows_;
  fold_context context_;
  const weighted_rows<Scalar>& data_;
  const data_summary& summary_;
  const options& options_;
  first_model_function first_model_;
  statistics_layout layout_;
  device_parts<Scalar> parts_;
  device_expectation<Scalar> expectation_;
  bool many_steps_;  // steps may wait for the GPU, since no rows have to be fetched for them
  bool recorded_;    // and are in graphs, which hold the work of one GPU
  cuda::graph one_step_;
  cuda::graph some_steps_;
  cuda::graph keeping_steps_[2][most_kept];  // without and with a model that is placed first; of one step, of two
  cuda::pinned_buffer<double> kept_models_[most_kept];
  launches_ahead ahead_{graphs_in_flight};

  mutable model model_;
  mutable bool model_here_ = true;  // model_ is the present one, not only the GPU's
  bool prepared_ = false;           // the GPUs hold the present model
  bool stopped_ = false;            // and have been told to do nothing
  refusal::code failure_ = refusal::none;
  std::size_t reseeded_ = 0;
  previous_step previous_ = previous_step::none;
  double previous_objective_ = 0;
  double step_seconds_ = 0;  // of the last batch; 0: not known
};

}  // namespace

template <class Scalar>
std::unique_ptr<batch_stepper> make_device_expectation_maximization(cuda::device_rows<Scalar>& rows,
                                                                    const fold_context& context,
                                                                    const weighted_rows<Scalar>& data,
                                                                    const data_summary& summary, const options& options,
                                                                    first_model_function first_model) {
  return std::make_unique<device_expectation_maximization<Scalar>>(rows, context, data, summary, options,
                                                                   std::move(first_model));
}
template std::unique_ptr<batch_stepper> make_device_expectation_maximization(cuda::device_rows<float>&,
                                                                             const fold_context&,
                                                                             const weighted_rows<float>&,
                                                                             const data_summary&, const options&,
                                                                             first_model_function);
template std::unique_ptr<batch_stepper> make_device_expectation_maximization(cuda::device_rows<double>&,
                                                                             const fold_context&,
                                                                             const weighted_rows<double>&,
                                                                             const data_summary&, const options&,
                                                                             first_model_function);

}  // namespace shoal::gmm
