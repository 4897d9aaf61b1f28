#include <shoal/gmm/squarem.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/chunked/chunked_fit.hpp>
#include <shoal/gmm/coordinates.hpp>

namespace shoal::gmm {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

bool all_weighted(const model& model) {
  return std::all_of(model.weights.begin(), model.weights.end(), [](double weight) { return weight > 0; });
}

}  // namespace

void append_course(const squarem_course& course, std::vector<double>& state) {
  state.insert(state.end(), {static_cast<double>(course.phase), course.objective, course.longest,
                             course.trusted ? 1.0 : 0.0, course.gain, course.gain_before});
}

squarem_course take_course(std::span<const double>& state) {
  if (state.size() < course_size) throw bad_data("the checkpoint holds a state of the wrong size");
  squarem_course course;
  course.phase = static_cast<squarem_phase>(static_cast<int>(state[0]));
  course.objective = state[1];
  course.longest = state[2];
  course.trusted = state[3] != 0;
  course.gain = state[4];
  course.gain_before = state[5];
  state = state.subspan(course_size);
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
  course_ = take_course(state);
  for (model* kept : {&first_, &second_}) {
    kept->covariance_type = options_.covariance_type;
    kept->components = options_.components;
    kept->columns = summary_.columns;
  }
  if (course_.phase != squarem_phase::base) take_model(state, first_);
  if (course_.phase == squarem_phase::leap) take_model(state, second_);
  batch_->restore(state);
}

}  // namespace shoal::gmm
