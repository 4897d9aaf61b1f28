#include <shoal/estimation/fit_loop.hpp>

#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/shared_place.hpp>
#include <shoal/execution/communicator.hpp>

namespace shoal {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

class loop {
 public:
  loop(stepper& fit, const loop_options& options, const control& control)
      : fit_(fit), options_(options), control_(control) {
    if (!options.checkpoint.empty() && speaks(control.ranks)) file_.emplace(options.checkpoint, options.identity);
  }

  loop_result run() {
    resume();
    while (!place_.finished) {
      if (!seeded_) begin_restart();
      iterate();
      end_restart();
    }
    const finished_restart& best = *place_.best;
    fit_.restore(best.state);
    return {best.history,  best.history.size(), best.converged,  best.score,
            loop_seconds_, loop_iterations_,    seeding_seconds_};
  }

 private:
  void resume() {
    if (options_.checkpoint.empty()) return;
    std::optional<checkpoint> found;
    if (file_) found = file_->read();
    if (found) check_place(*found);
    found = shared_place(control_.ranks, std::move(found));
    if (!found) return;
    place_ = *std::move(found);
    for (std::size_t i = 0; i < place_.objectives.size(); ++i) {
      steps_.push_back({place_.objectives[i], place_.changes[i], false});
    }
    try {
      // The best restart is looked at now, and not when all others have been done.
      if (place_.best) fit_.restore(place_.best->state);
      seeded_ = !place_.state.empty();
      if (seeded_) fit_.restore(place_.state);
    } catch (const bad_data& failure) {
      if (!file_) throw;  // rank 0 finds the same, and names the file
      file_->refuse(failure.what());
    }
  }

  // What the loop itself has saved; the stepper looks at its own words.
  void check_place(const checkpoint& place) const {
    if (place.finished ? place.restart != options_.restarts : place.restart >= options_.restarts) {
      file_->refuse(fmt::format("it is {} restart {} of {}", place.finished ? "finished with" : "in", place.restart,
                                options_.restarts));
    }
    if (place.restart > 0 && !place.best) file_->refuse("it holds no result of its finished restarts");
    if (place.restart == 0 && place.best) file_->refuse("it holds a result before a restart was finished");
    if (place.state.empty() && !place.objectives.empty()) file_->refuse("it holds steps of a restart, but no state");
    if (place.finished && !place.state.empty()) file_->refuse("it is finished, but holds a restart that is not");
    check_steps(place.objectives, "the objective");
    check_steps(place.changes, "the change");
    if (!place.best) return;
    check_steps(place.best->history, "the best objective");
    if (std::isnan(place.best->score)) file_->refuse("the score of its best restart is nan");
  }

  void check_steps(const std::vector<double>& values, std::string_view what) const {
    if (values.size() > options_.max_iterations) {
      file_->refuse(
          fmt::format("it holds {} steps of a restart, more than {}", values.size(), options_.max_iterations));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) file_->refuse(fmt::format("{} of its step {} is nan", what, i));
    }
  }

  void begin_restart() {
    steps_.clear();
    place_.objectives.clear();
    place_.changes.clear();
    converged_ = false;
    const clock::time_point start = clock::now();
    fit_.seed(place_.restart);
    seeding_seconds_ += seconds_since(start);
    seeded_ = true;
    remember();
  }

  void iterate() {
    try {
      while (!converged_ && steps_.size() < options_.max_iterations) {
        advance();
        converged_ = steps_.back().settled || options_.stop(steps_);
        // A step that ends the restart is not checkpointed: resuming before it repeats it and ends in the same way.
        if (!converged_ && seconds_since(last_written_) >= options_.checkpoint_seconds) remember();
        if (control_.report && speaks(control_.ranks)) {
          control_.report({options_.phase, place_.restart * options_.max_iterations + steps_.size(),
                           options_.restarts * options_.max_iterations, steps_.back().objective});
        }
        if (control_.stop.stop_requested()) throw interrupted("stopped on request");
      }
    } catch (const interrupted&) {
      if (!converged_) remember();
      throw;
    }
  }

  void advance() {
    const clock::time_point start = clock::now();
    const std::vector<step_record> done = fit_.advance(options_.max_iterations - steps_.size());
    loop_seconds_ += seconds_since(start);
    loop_iterations_ += done.size();
    steps_.insert(steps_.end(), done.begin(), done.end());
  }

  void end_restart() {
    const double score = fit_.score();
    if (!place_.best || score > place_.best->score) {
      finished_restart best{score, converged_, {}, fit_.save()};
      for (const step_record& step : steps_) best.history.push_back(step.objective);
      place_.best = std::move(best);
    }
    seeded_ = false;
    place_.state.clear();
    place_.objectives.clear();
    place_.changes.clear();
    place_.finished = ++place_.restart >= options_.restarts;
    write();
  }

  void remember() {
    if (!file_) return;
    place_.state = fit_.save();
    place_.objectives.clear();
    place_.changes.clear();
    for (const step_record& step : steps_) {
      place_.objectives.push_back(step.objective);
      place_.changes.push_back(step.change);
    }
    write();
  }

  void write() {
    if (!file_) return;
    file_->write(place_);
    last_written_ = clock::now();
  }

  stepper& fit_;
  const loop_options& options_;
  const control& control_;
  std::optional<checkpoint_file> file_;
  checkpoint place_;
  std::vector<step_record> steps_;
  bool seeded_ = false;     // the stepper holds parameters of this restart
  bool converged_ = false;  // this restart has met its stop rule
  double loop_seconds_ = 0;
  std::size_t loop_iterations_ = 0;
  double seeding_seconds_ = 0;
  clock::time_point last_written_ = clock::now();
};

}  // namespace

loop_result run_fit(stepper& fit, const loop_options& options, const control& control) {
  return loop(fit, options, control).run();
}

}  // namespace shoal
