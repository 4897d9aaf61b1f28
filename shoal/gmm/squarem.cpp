#include <shoal/gmm/squarem.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/coordinates.hpp>
#include <shoal/gmm/saved_model.hpp>

namespace shoal::gmm {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

bool all_weighted(const model& model) {
  return std::all_of(model.weights.begin(), model.weights.end(), [](double weight) { return weight > 0; });
}

// Infinite where it is not known.
double take_gain(state_reader& state) {
  const double gain = state.take(1, "a gain")[0];
  if (std::isnan(gain)) throw bad_data("a gain of its state is nan");
  return gain;
}

}  // namespace

void append_course(const squarem_course& course, std::vector<double>& state) {
  state.insert(state.end(), {static_cast<double>(course.phase), course.objective, course.longest,
                             course.trusted ? 1.0 : 0.0, course.gain, course.gain_before});
}

squarem_course take_course(state_reader& state) {
  squarem_course course;
  course.phase = static_cast<squarem_phase>(state.take_count("the phase", static_cast<int>(squarem_phase::leap)));
  course.objective = state.take(1, "the last objective")[0];  // may be unknown
  course.longest = state.take_finite("the longest step");
  if (!(course.longest >= squarem_course::first_longest)) {
    throw bad_data(fmt::format("the longest step of its state is {} and should be at least {}", course.longest,
                               squarem_course::first_longest));
  }
  course.trusted = state.take_flag("whether a leap was kept");
  course.gain = take_gain(state);
  course.gain_before = take_gain(state);
  return course;
}

void squarem_fit::begin(double objective) {
  course_ = {};
  course_.objective = objective;
}

void squarem_fit::seed(std::size_t restart) {
  batch_->seed(restart);
  begin(options_.previous_log_likelihood);
}

// None where batch leaves too little of its way for a leap to pay.
std::optional<model> squarem_fit::extrapolated() {
  const std::vector<double> x0 = coordinates_of(first_, summary_, workers_),
                            x1 = coordinates_of(second_, summary_, workers_),
                            x2 = coordinates_of(batch_->current(), summary_, workers_);
  double r_norm = 0, v_norm = 0;
  for (std::size_t i = 0; i < x0.size(); ++i) {
    const double r = x1[i] - x0[i], v = x2[i] - x1[i] - r;
    r_norm += r * r;
    v_norm += v * v;
  }
  const double length = course_.step_length(r_norm, v_norm);
  if (length == 0) return std::nullopt;
  std::vector<double> x(x0.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double r = x1[i] - x0[i], v = x2[i] - x1[i] - r;
    x[i] = x0[i] + 2 * length * r + length * length * v;
  }
  model placed = batch_->current();
  place_at(x, summary_, placed, workers_);
  return placed;
}

// Takes in an iteration of batch that began at `from`, in the present phase.
step_record squarem_fit::follow(model from, double reached, bool reseeded) {
  (course_.phase == squarem_phase::base ? first_ : second_) = std::move(from);
  return {reached, course_.follow(reached, !reseeded && all_weighted(batch_->current())), false};
}

step_record squarem_fit::go_on() {
  model from = batch_->current();
  const std::size_t reseeded = batch_->reseeded();
  const double reached = batch_->advance(1).front().objective;
  return follow(std::move(from), reached, batch_->reseeded() != reseeded);
}

// Tries an extrapolated model; no record when there is none to be evaluated, and then nothing has changed.
std::optional<step_record> squarem_fit::leap() {
  const model before = batch_->current();
  const std::size_t reseeded = batch_->reseeded();
  std::optional<model> tried;
  double reached = 0;
  try {
    tried = extrapolated();
    if (!tried) return std::nullopt;
    batch_->place(*tried);
    reached = batch_->advance(1).front().objective;
  } catch (const numerical_error&) {
    batch_->place(before);
    course_.go_back();
    return std::nullopt;
  } catch (...) {
    batch_->place(before);
    throw;
  }
  if (!course_.judge(reached)) {
    batch_->place(before);
    return step_record{reached, unknown, false};
  }
  return follow(*std::move(tried), reached, batch_->reseeded() != reseeded);
}

std::vector<step_record> squarem_fit::advance(std::size_t) {
  if (course_.phase == squarem_phase::leap) {
    if (const std::optional<step_record> record = leap()) return {*record};
  }
  return {go_on()};
}

std::vector<double> squarem_fit::save() const {
  std::vector<double> state;
  append_course(course_, state);
  if (course_.phase != squarem_phase::base) append_model(first_, state);
  if (course_.phase == squarem_phase::leap) append_model(second_, state);
  const std::vector<double> batch = batch_->save();
  state.insert(state.end(), batch.begin(), batch.end());
  return state;
}

void squarem_fit::restore(std::span<const double> state) {
  state_reader words(state);
  const statistics_layout layout(options_.covariance_type, options_.components, summary_.columns);
  const squarem_course course = take_course(words);
  if (course.phase != squarem_phase::base) first_ = take_model(words, layout);
  if (course.phase == squarem_phase::leap) second_ = take_model(words, layout);
  batch_->restore(words.take_rest());
  course_ = course;
}

}  // namespace shoal::gmm
