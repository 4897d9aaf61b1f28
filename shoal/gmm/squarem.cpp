#include <shoal/gmm/squarem.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/chunked_fit.hpp>
#include <shoal/gmm/coordinates.hpp>

namespace shoal::gmm {
namespace {

// How the bound of a step's length begins, grows when it was met, and shrinks when it was too long.
constexpr double first_longest = 4;
constexpr double growth = 4;

constexpr double unknown = std::numeric_limits<double>::infinity();

bool all_weighted(const model& model) {
  return std::all_of(model.weights.begin(), model.weights.end(), [](double weight) { return weight > 0; });
}

}  // namespace

void squarem_fit::begin(double objective) {
  phase_ = phase::base;
  objective_ = objective;
  longest_ = first_longest;
  bounded_ = false;
}

void squarem_fit::seed(std::size_t restart) {
  batch_->seed(restart);
  begin(options_.previous_log_likelihood);
}

model squarem_fit::extrapolated() {
  const std::vector<double> x0 = coordinates_of(first_, summary_), x1 = coordinates_of(second_, summary_),
                            x2 = coordinates_of(batch_->current(), summary_);
  double r_norm = 0, v_norm = 0;
  for (std::size_t i = 0; i < x0.size(); ++i) {
    const double r = x1[i] - x0[i], v = x2[i] - x1[i] - r;
    r_norm += r * r;
    v_norm += v * v;
  }
  const double ratio = v_norm > 0 ? std::sqrt(r_norm / v_norm) : longest_;
  const double length = std::clamp(ratio, 1.0, longest_);
  bounded_ = length == longest_;
  std::vector<double> x(x0.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double r = x1[i] - x0[i], v = x2[i] - x1[i] - r;
    x[i] = x0[i] + 2 * length * r + length * length * v;
  }
  model placed = batch_->current();
  place_at(x, summary_, placed);
  return placed;
}

// One iteration of batch from the present model, after which `next` is to be done.
step_record squarem_fit::iterate(phase next) {
  const std::size_t reseeded = batch_->reseeded();
  (phase_ == phase::base ? first_ : second_) = batch_->current();
  const double objective = batch_->advance(1).front().objective;
  const double gain = std::isnan(objective_) ? unknown : objective - objective_;
  objective_ = objective;
  phase_ = batch_->reseeded() == reseeded && all_weighted(batch_->current()) ? next : phase::base;
  return {objective, gain, false};
}

// Tries an extrapolated model; false when it cannot be evaluated, and then nothing has changed.
bool squarem_fit::leap(step_record& record) {
  const model before = batch_->current();
  const std::size_t reseeded = batch_->reseeded();
  model tried;
  try {
    tried = extrapolated();
    batch_->place(tried);
    record = {batch_->advance(1).front().objective, unknown, false};
  } catch (const numerical_error&) {
    batch_->place(before);
    phase_ = phase::base;
    longest_ = std::max(first_longest, longest_ / growth);
    return false;
  } catch (...) {
    batch_->place(before);
    throw;
  }
  if (record.objective >= objective_) {
    objective_ = record.objective;
    first_ = std::move(tried);
    phase_ = batch_->reseeded() == reseeded && all_weighted(batch_->current()) ? phase::second : phase::base;
    if (bounded_) longest_ *= growth;
  } else {
    batch_->place(before);
    phase_ = phase::base;
    longest_ = std::max(first_longest, longest_ / growth);
  }
  return true;
}

std::vector<step_record> squarem_fit::advance(std::size_t) {
  if (phase_ == phase::leap) {
    step_record record;
    if (leap(record)) return {record};
  }
  return {iterate(phase_ == phase::base ? phase::second : phase::leap)};
}

std::vector<double> squarem_fit::save() const {
  std::vector<double> state{static_cast<double>(phase_), objective_, longest_};
  if (phase_ != phase::base) append_model(first_, state);
  if (phase_ == phase::leap) append_model(second_, state);
  const std::vector<double> batch = batch_->save();
  state.insert(state.end(), batch.begin(), batch.end());
  return state;
}

void squarem_fit::restore(std::span<const double> state) {
  if (state.size() < 3) throw bad_data("the state is of another size");
  phase_ = static_cast<phase>(static_cast<int>(state[0]));
  objective_ = state[1];
  longest_ = state[2];
  state = state.subspan(3);
  for (model* kept : {&first_, &second_}) {
    kept->covariance_type = options_.covariance_type;
    kept->components = options_.components;
    kept->columns = summary_.columns;
  }
  if (phase_ != phase::base) take_model(state, first_);
  if (phase_ == phase::leap) take_model(state, second_);
  batch_->restore(state);
}

}  // namespace shoal::gmm
