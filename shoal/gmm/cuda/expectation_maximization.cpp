#include <shoal/gmm/cuda/expectation_maximization.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/group_graph.hpp>
#include <shoal/gmm/cuda/expectation.hpp>
#include <shoal/gmm/cuda/launches_ahead.hpp>
#include <shoal/gmm/cuda/step/parts.hpp>
#include <shoal/gmm/cuda/step/squarem.hpp>
#include <shoal/gmm/cuda/step/worst_rows.hpp>
#include <shoal/gmm/first_model.hpp>
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

template <class Scalar>
class device_expectation_maximization final : public mixture_stepper {
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
        recorded_(many_steps_ && cuda::recordable(rows.group())) {
    if (options.acceleration == acceleration::none) return;
    const cuda::device_scope scope(rows.group()[0].device);
    squarem_.emplace(layout_, summary, options.tolerance, stream());
  }

  void seed(std::size_t restart) override {
    begin(first_model_ ? first_model_(restart) : initial_model(context_, data_, summary_, options_, restart), 0);
    previous_ = previous_step::none;
    if (!squarem_) return;
    const cuda::device_scope scope(rows_.group()[0].device);
    squarem_->begin(options_.previous_log_likelihood, stream());
  }

  // A step that only finds that an extrapolated model is none has nothing to report.
  std::vector<step_record> advance(std::size_t most) override {
    std::vector<step_record> records;
    while (records.empty()) records = run_steps(most);
    return records;
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
    if (!squarem_) return state;
    const cuda::device_scope scope(rows_.group()[0].device);
    const std::vector<double> cycle = squarem_->save(stream());
    state.insert(state.end(), cycle.begin(), cycle.end());
    state.push_back(in_cycle_ ? 1 : 0);
    return state;
  }

  void restore(std::span<const double> state) override {
    const std::size_t own = 1 + model_size(layout_);
    const std::size_t cycle = squarem_ ? squarem_->state_size() + 1 : 0;
    if (state.size() != own + cycle) throw bad_data("the state is of another size");
    model restored;
    restored.covariance_type = options_.covariance_type;
    restored.components = options_.components;
    restored.columns = layout_.columns();
    unpack_model(state.subspan(1, own - 1), restored);
    begin(std::move(restored), static_cast<std::size_t>(state[0]));
    if (squarem_) {
      const cuda::device_scope scope(rows_.group()[0].device);
      squarem_->restore(state.subspan(own, cycle - 1), stream());
      in_cycle_ = state.back() != 0;
      return;
    }
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
    in_cycle_ = false;
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

  std::vector<step_record> run_steps(std::size_t most) {
    if (context_.stop.stop_requested()) throw interrupted("stopped on request");
    make_ready();
    const cuda::device_scope scope(rows_.group()[0].device);
    if (squarem_ && !in_cycle_) {
      squarem_->begin_cycle(parts_.arguments(), stream());
      in_cycle_ = true;
    }
    if (recorded_ && !one_step_) record_graphs();
    const clock::time_point start = clock::now();
    // An accelerated fit stops by what its iterations gain, which the objectives alone do not say.
    parts_.begin_steps(previous_ == previous_step::known ? previous_objective_ : not_known,
                       squarem_ ? 0 : options_.tolerance);
    if (squarem_) extrapolate(squarem_work::begin);
    try {
      if (recorded_) {
        cuda::launch_in_order(rows_.group(), [&] { launch_some_steps(most); });
      } else {
        launch_some_steps(most);
      }
    } catch (const interrupted&) {
      end_extrapolation();
      stream().synchronize();
      throw;
    }
    end_extrapolation();
    const step_state& state = parts_.end_steps();
    const std::span<const double> objectives(state.objectives, state.steps);
    std::vector<step_record> records;
    if (squarem_) {
      records = squarem_->records(objectives);
    } else {
      for (const double objective : objectives) records.push_back({objective, 0.0, false});
    }
    finish(state.reason, state.failure);
    if (records.empty()) return records;
    step_seconds_ = std::chrono::duration<double>(clock::now() - start).count() / static_cast<double>(records.size());
    previous_ = previous_step::known;
    previous_objective_ = records.back().objective;
    return records;
  }

  const cuda::stream& stream() const { return rows_.group()[0].compute; }

  void record_graphs() {
    one_step_ = cuda::record(rows_.group(), [&] { enqueue_steps_apart(1); });
    some_steps_ = cuda::record(rows_.group(), [&] { enqueue_steps_apart(graph_steps); });
  }

  // The model that is left is the one that the last reported step led to.
  void end_extrapolation() {
    if (!squarem_) return;
    extrapolate(squarem_work::end);
    squarem_->enqueue_download(stream());
  }

  void launch_some_steps(std::size_t most) {
    if (many_steps_ && previous_ != previous_step::unknown && step_seconds_ > 0) {
      launch_steps(std::min<std::size_t>(most, most_steps));
    } else {
      enqueue_steps(1);
    }
  }

  // Up to `most` steps, fewer when the GPU stops them, the time of a batch is over, or the fit is to stop.
  void launch_steps(std::size_t most) {
    const bool quick = step_seconds_ * static_cast<double>(graph_steps * graphs_in_flight) < batch_seconds;
    ahead_.run(
        most, stream(), context_.stop, [&] { return parts_.stopped(); },
        [&](std::size_t rest) {
          const std::size_t steps = quick && rest >= graph_steps ? graph_steps : 1;
          enqueue_steps(steps);
          return steps;
        });
  }

  // One, or as many as a graph has.
  void enqueue_steps(std::size_t count) {
    if (recorded_) {
      (count == 1 ? one_step_ : some_steps_).launch(stream());
      return;
    }
    enqueue_steps_apart(count);
  }

  void enqueue_steps_apart(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      expectation_.sum_all_rows(parts_);
      parts_.maximise(expectation_.sums());
      if (squarem_) {
        extrapolate(squarem_work::go_on);
      } else {
        parts_.broadcast();
      }
    }
  }

  void extrapolate(squarem_work work) {
    const cuda::device_scope scope(rows_.group()[0].device);
    rows_.group().hold_for_broadcast(stream());
    squarem_->extrapolate(parts_.arguments(), work, stream());
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
  std::optional<device_squarem<Scalar>> squarem_;
  bool many_steps_;  // steps may wait for the GPU, since no rows have to be fetched for them
  bool recorded_;    // and are in graphs
  cuda::graph one_step_;
  cuda::graph some_steps_;
  launches_ahead ahead_{graphs_in_flight};

  mutable model model_;
  mutable bool model_here_ = true;  // model_ is the present one, not only the GPU's
  bool prepared_ = false;           // the GPUs hold the present model
  bool in_cycle_ = false;           // and squarem_ knows it
  bool stopped_ = false;            // and have been told to do nothing
  refusal::code failure_ = refusal::none;
  std::size_t reseeded_ = 0;
  previous_step previous_ = previous_step::none;
  double previous_objective_ = 0;
  double step_seconds_ = 0;  // of the last batch; 0: not known
};

}  // namespace

template <class Scalar>
std::unique_ptr<mixture_stepper> make_device_expectation_maximization(
    cuda::device_rows<Scalar>& rows, const fold_context& context, const weighted_rows<Scalar>& data,
    const data_summary& summary, const options& options, first_model_function first_model) {
  return std::make_unique<device_expectation_maximization<Scalar>>(rows, context, data, summary, options,
                                                                   std::move(first_model));
}
template std::unique_ptr<mixture_stepper> make_device_expectation_maximization(cuda::device_rows<float>&,
                                                                               const fold_context&,
                                                                               const weighted_rows<float>&,
                                                                               const data_summary&, const options&,
                                                                               first_model_function);
template std::unique_ptr<mixture_stepper> make_device_expectation_maximization(cuda::device_rows<double>&,
                                                                               const fold_context&,
                                                                               const weighted_rows<double>&,
                                                                               const data_summary&, const options&,
                                                                               first_model_function);

}  // namespace shoal::gmm
