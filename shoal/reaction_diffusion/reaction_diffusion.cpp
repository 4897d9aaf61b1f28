// The loop over time: states that are kept, checkpoints, progress and stops, whatever the scheme.
#include <shoal/reaction_diffusion/reaction_diffusion.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/core/word_hash.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/checkpoint.hpp>
#include <shoal/reaction_diffusion/check.hpp>
#include <shoal/reaction_diffusion/choose_stepper.hpp>
#include <shoal/reaction_diffusion/device_states.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

template <class Scalar>
class run {
 public:
  run(const problem& wave, const options& how, const observer<Scalar>& observe, const control& control)
      : wave_(wave),
        how_(how),
        observe_(observe),
        control_(control),
        nodes_(wave.grid.nodes()),
        executor_(make_executor(how.threads)),
        stepper_(choose_stepper<Scalar>(wave, how, *executor_)) {}

  void begin(const initial_state& begin) {
    now_.v.grow(nodes_);
    now_.w.grow(nodes_);
    const auto narrow = [](double value) { return static_cast<Scalar>(value); };
    std::transform(begin.v.begin(), begin.v.end(), now_.v.data(), narrow);
    std::transform(begin.w.begin(), begin.w.end(), now_.w.data(), narrow);
    for (std::size_t row = 1; row <= wave_.grid.rows && wave_.has_input(); ++row) {
      now_.v[row * wave_.grid.columns - 1] = narrow(wave_.input_at(0));
    }
    if (!how_.checkpoint.empty()) file_.emplace(how_.checkpoint, identity(begin));
  }

  // The first state that is kept has the room for it.
  void begin(const device_state<Scalar>& begin, Scalar* states) {
    states_there_ = states;
    stand_in(0);
    copy_values(begin.v, now_.there_v, nodes_);
    copy_values(begin.w, now_.there_w, nodes_);
    const auto input = static_cast<Scalar>(wave_.has_input() ? wave_.input_at(0) : 0);
    for (std::size_t row = 1; row <= wave_.grid.rows && wave_.has_input(); ++row) {
      copy_values(&input, now_.there_v + row * wave_.grid.columns - 1, 1);
    }
  }

  result<Scalar> go() {
    const clock::time_point start = clock::now();
    written_ = start;
    if (states_there_ == nullptr) found_.states.reserve(2 * nodes_ * how_.times.size());
    resume();
    const bool is_explicit = how_.scheme == scheme::explicit_steps || how_.scheme == scheme::adaptive;
    const std::size_t most = stepper_->steps_between_looks(nodes_, is_explicit);
    for (; kept_ < how_.times.size(); keep()) {
      const span over{kept_ == 0 ? 0 : how_.times[kept_ - 1], how_.times[kept_]};
      while (now_.time < over.end) {
        if (control_.stop.stop_requested()) stop();
        const std::size_t taken = stepper_->advance(now_, over, most);
        found_.steps += taken;
        found_.steps_here += taken;
        if (control_.report) {
          control_.report({"stepping", found_.steps, 0, std::numeric_limits<double>::quiet_NaN()});
        }
        if (!how_.checkpoint.empty() && seconds_since(written_) >= how_.checkpoint_seconds) remember();
      }
    }
    if (!how_.checkpoint.empty()) remember();
    found_.times = how_.times;
    found_.refused_steps = stepper_->refused_steps();
    found_.mean_nodes = stepper_->mean_nodes();
    found_.newton_iterations = stepper_->newton_iterations();
    found_.seconds = seconds_since(start);
    return std::move(found_);
  }

 private:
  void stand_in(std::size_t kept) {
    now_.there_v = states_there_ + 2 * kept * nodes_;
    now_.there_w = now_.there_v + nodes_;
  }

  void keep() {
    if (states_there_ != nullptr) {
      // A stepper that took no step has no state yet.
      if (found_.steps == 0 && kept_ > 0) copy_values(states_there_, states_there_ + 2 * kept_ * nodes_, 2 * nodes_);
      stand_in(found_.steps == 0 ? 0 : kept_);
      stepper_->collect(now_);
    } else {
      stepper_->collect(now_);
      require_finite();
      found_.states.insert(found_.states.end(), now_.v.data(), now_.v.data() + nodes_);
      found_.states.insert(found_.states.end(), now_.w.data(), now_.w.data() + nodes_);
    }
    if (how_.scheme == scheme::adaptive) {
      found_.nodes_in_use.resize(kept_);
      found_.nodes_in_use.push_back(stepper_->nodes_in_use());
    }
    ++kept_;
    now_.done = 0;
    if (observe_) observe_(now_.time, now_.v.data(), now_.w.data());
  }

  // Noise, or a beginning far from 0 to 1, may outgrow the bound of explicit steps. The article's scheme is run to show
  // how it does.
  void require_finite() const {
    if (how_.scheme == scheme::source_2016) return;
    for (const Scalar* values : {now_.v.data(), now_.w.data()}) {
      const Scalar* const wrong = std::find_if(values, values + nodes_, [](Scalar x) { return !std::isfinite(x); });
      if (wrong == values + nodes_) continue;
      throw numerical_error(
          fmt::format("the state at time {} is {} at node {}: values have grown out of range; give a "
                      "shorter step, less noise, or choose an implicit scheme",
                      now_.time, std::isnan(*wrong) ? std::abs(*wrong) : *wrong, wrong - values));
    }
  }

  [[noreturn]] void stop() {
    if (!how_.checkpoint.empty()) remember();
    throw interrupted(fmt::format("stopped on request at time {}", now_.time));
  }

  // What a checkpoint and the run that resumes it must agree on.
  fit_identity identity(const initial_state& begin) const {
    const parameters& of = wave_.parameters;
    const adaptive_options& use = how_.adaptive;
    word_hash hash, fields;
    for (const auto* field : {&wave_.fields.a, &wave_.fields.gamma, &wave_.fields.epsilon, &wave_.fields.diffusion}) {
      fields.take(static_cast<double>(field->size()));
      for (const double value : *field) fields.take(value);
    }
    for (const double value : begin.v) hash.take(value);
    for (const double value : begin.w) hash.take(value);
    return {
        {"problem", "wave"},
        {"equations", fmt::format("a {}, gamma {}, epsilon {}, diffusion {}, recovery diffusion {}", of.a, of.gamma,
                                  of.epsilon, of.diffusion, of.recovery_diffusion)},
        {"grid", fmt::format("{} x {}, spacing {}", wave_.grid.rows, wave_.grid.columns, wave_.grid.spacing)},
        {"boundary", fmt::format("{}, input {}, period {}", static_cast<int>(wave_.boundary), wave_.input_level,
                                 wave_.input_period)},
        {"variants", fmt::format("fields {:016x}, noise {} of kind {} and seed {}, coupling {}", fields.value(),
                                 wave_.noise.strength, static_cast<int>(wave_.noise.kind), wave_.noise.seed,
                                 wave_.coupling ? fmt::format("{}", *wave_.coupling) : "none")},
        {"scheme", fmt::format("{} of order {}, pieces of {}, end rows {}", static_cast<int>(how_.scheme), how_.order,
                               how_.piece_nodes, static_cast<int>(how_.end_rows))},
        {"step",
         fmt::format("{}, tolerance {}, Newton's accuracy {}", how_.step, how_.tolerance, how_.newton_accuracy)},
        {"nodes in use", fmt::format("{}, stride {}, slope {}, rate {}, radius {}", static_cast<int>(use.differences),
                                     use.coarse_stride, use.slope, use.rate, use.inflection_radius)},
        {"times", fmt::format("{}", fmt::join(how_.times, ","))},
        {"scalar", std::is_same_v<Scalar, float> ? "float32" : "float64"},
        {"initial state", fmt::format("{:016x}", hash.value())}};
  }

  // [kept][2][nodes], v, w, time, done, steps, and what the scheme remembers.
  void remember() {
    stepper_->collect(now_);
    checkpoint point;
    point.restart = kept_;
    std::vector<double>& out = point.state;
    out.assign(found_.states.begin(), found_.states.end());
    out.insert(out.end(), now_.v.data(), now_.v.data() + nodes_);
    out.insert(out.end(), now_.w.data(), now_.w.data() + nodes_);
    out.insert(out.end(), {now_.time, static_cast<double>(now_.done), static_cast<double>(found_.steps)});
    const std::vector<double> memory = stepper_->memory();
    out.insert(out.end(), memory.begin(), memory.end());
    file_->write(point);
    written_ = clock::now();
  }

  void resume() {
    if (!file_) return;
    const std::optional<checkpoint> point = file_->read();
    if (!point) return;
    const std::size_t kept = 2 * nodes_ * point->restart;
    if (point->restart > how_.times.size() || point->state.size() < kept + 2 * nodes_ + 3) {
      file_->refuse("it is cut short");
    }
    kept_ = point->restart;
    auto from = point->state.begin();
    const auto take = [&](Scalar* to, std::size_t count) {
      std::transform(from, from + static_cast<std::ptrdiff_t>(count), to,
                     [](double value) { return static_cast<Scalar>(value); });
      from += static_cast<std::ptrdiff_t>(count);
    };
    found_.states.resize(kept);
    take(found_.states.data(), kept);
    take(now_.v.data(), nodes_);
    take(now_.w.data(), nodes_);
    now_.time = *from++;
    const bool finite = std::all_of(point->state.begin(), from, [](double value) { return std::isfinite(value); });
    if (!finite || now_.time < 0 || (kept_ < how_.times.size() && now_.time > how_.times[kept_])) {
      file_->refuse("it holds a state that no run reaches");
    }
    try {
      now_.done = count_in(*from++);
      found_.steps = count_in(*from++);
      stepper_->restore({from, point->state.end()});
    } catch (const foreign_memory&) {
      file_->refuse("it holds what no run saves");
    }
  }

  problem wave_;
  options how_;
  const observer<Scalar>& observe_;
  const control& control_;
  std::size_t nodes_;
  std::unique_ptr<executor> executor_;
  std::unique_ptr<stepper<Scalar>> stepper_;
  state<Scalar> now_;
  Scalar* states_there_ = nullptr;  // on a CUDA device, in place of the result's
  std::size_t kept_ = 0;
  result<Scalar> found_;
  std::optional<checkpoint_file> file_;
  clock::time_point written_;
};

}  // namespace

template <class Scalar>
result<Scalar> solve(const problem& wave, const initial_state& begin, const options& how,
                     const observer<Scalar>& observe, const control& control) {
  check(wave, how);
  check(wave, begin);
  run<Scalar> all(wave, how, observe, control);
  all.begin(begin);
  return all.go();
}

template <class Scalar>
result<Scalar> solve(const problem& wave, const device_state<Scalar>& begin, const options& how, Scalar* states,
                     const control& control) {
  check(wave, how);
  if (how.device.on_host()) {
    throw bad_argument(fmt::format(
        "the initial state lies on CUDA device {}, and the computation is to run on the cpu: move the state "
        "to the host, or name a CUDA device",
        begin.device));
  }
  if (!how.checkpoint.empty()) {
    throw bad_argument("a checkpoint holds states of the host's memory; move the initial state there, or leave it out");
  }
  require_on_device(begin);
  for (const auto& [name, values] : {std::pair{'v', begin.v}, std::pair{'w', begin.w}}) {
    const std::size_t at = first_not_finite(values, wave.grid.nodes(), begin.device);
    if (at < wave.grid.nodes()) {
      throw bad_data(fmt::format("the initial {}[{}] is not finite; every value must be", name, at));
    }
  }
  const observer<Scalar> nobody;
  run<Scalar> all(wave, how, nobody, control);
  all.begin(begin, states);
  return all.go();
}

template result<double> solve<double>(const problem&, const initial_state&, const options&, const observer<double>&,
                                      const control&);
template result<float> solve<float>(const problem&, const initial_state&, const options&, const observer<float>&,
                                    const control&);
template result<double> solve<double>(const problem&, const device_state<double>&, const options&, double*,
                                      const control&);
template result<float> solve<float>(const problem&, const device_state<float>&, const options&, float*, const control&);

}  // namespace shoal::reaction_diffusion
