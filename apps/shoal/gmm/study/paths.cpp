// Fits by the number of passes, their starts, and the mixtures that the study draws.
#include "gmm/study/paths.hpp"

#include <algorithm>

#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/sample.hpp>

namespace shoal::app {
namespace {

// The paper's own parameters, but from the same start and for as many passes as the others.
void set_preset(gmm::options& options) {
  const gmm::options given = options;
  gmm::set_async_em_2013(options);
  options.init = given.init;
  options.max_iterations = given.max_iterations;
  options.tolerance = given.tolerance;
}

}  // namespace

const std::vector<study_algorithm>& study_algorithms() {
  static const std::vector<study_algorithm> known = {
      {"batch", [](gmm::options&) {}, true},
      {"incremental", [](gmm::options& options) { options.algorithm = gmm::algorithm::incremental; }},
      {"asynchronous", [](gmm::options& options) { options.algorithm = gmm::algorithm::asynchronous; }},
      {"async-em-2013", set_preset, false, true},
      {"stepwise", [](gmm::options& options) { options.algorithm = gmm::algorithm::stepwise; }},
      {"squarem", [](gmm::options& options) { options.acceleration = gmm::acceleration::squarem; }},
  };
  return known;
}

template <class Scalar>
study_path<Scalar>::study_path(matrix_view<const Scalar> rows, gmm::options options, bool exact_history,
                               const control& control)
    : rows_(rows), options_(std::move(options)), exact_history_(exact_history), control_(control) {}

template <class Scalar>
const typename study_path<Scalar>::place& study_path<Scalar>::at(std::size_t passes) {
  const auto known = places_.find(passes);
  if (known != places_.end()) return known->second;
  gmm::fit_result ended = fit(passes, 0);
  return places_[passes] = {std::move(ended.model), ended.mean_log_likelihood, ended.loop_seconds};
}

template <class Scalar>
gmm::fit_result study_path<Scalar>::fit(std::size_t most_passes, double tolerance) {
  gmm::options options = options_;
  options.max_iterations = most_passes;
  options.tolerance = tolerance;
  gmm::fit_result ended = gmm::fit(rows_, options, nullptr, control_);
  if (exact_history_ && ended.history.size() > history_.size()) history_ = ended.history;
  return ended;
}

template <class Scalar>
double study_path<Scalar>::last_log_likelihood(std::size_t most, double tolerance) {
  return fit(most, tolerance).mean_log_likelihood;
}

template <class Scalar>
double study_path<Scalar>::log_likelihood(std::size_t passes) {
  return passes < history_.size() ? history_[passes] : at(passes).log_likelihood;
}

template <class Scalar>
const gmm::model& study_path<Scalar>::model(std::size_t passes) {
  return at(passes).model;
}

template <class Scalar>
double study_path<Scalar>::loop_seconds(std::size_t passes) {
  return at(passes).loop_seconds;
}

template <class Scalar>
std::optional<std::size_t> study_path<Scalar>::passes_to(double target, std::size_t most) {
  if (log_likelihood(0) >= target) return 0;
  std::size_t below = 0;
  std::size_t reached = 1;
  while (log_likelihood(reached) < target) {
    if (reached == most) return std::nullopt;
    below = reached;
    reached = std::min(2 * reached, most);
  }
  while (reached - below > 1) {
    const std::size_t middle = below + (reached - below) / 2;
    (log_likelihood(middle) < target ? below : reached) = middle;
  }
  return reached;
}

template class study_path<float>;
template class study_path<double>;

gmm::options options_from(const gmm::model& start, const study_algorithm& algorithm, const study_setting& setting) {
  gmm::options options;
  options.components = start.components;
  options.covariance_type = start.covariance_type;
  options.init = gmm::initialization::model;
  options.start = start;
  options.threads = setting.threads;
  options.seed = setting.seed;
  algorithm.choose(options);
  return options;
}

device_choice first_device(const study_setting& setting) {
  if (setting.device.on_host()) return {};
  device_choice first = setting.device;
  first.cuda.resize(1);
  return first;
}

template <class Scalar>
gmm::model random_start(matrix_view<const Scalar> rows, std::size_t components, gmm::covariance_type type,
                        std::uint64_t seed, const study_setting& setting) {
  gmm::options options;
  options.components = components;
  options.covariance_type = type;
  options.init = gmm::initialization::plus_plus;
  options.max_iterations = 0;
  options.threads = setting.threads;
  options.seed = seed;
  return gmm::fit(view_source<Scalar>(rows), options, nullptr, *setting.control).model;
}
template gmm::model random_start<float>(matrix_view<const float>, std::size_t, gmm::covariance_type, std::uint64_t,
                                        const study_setting&);
template gmm::model random_start<double>(matrix_view<const double>, std::size_t, gmm::covariance_type, std::uint64_t,
                                         const study_setting&);

gmm::model unit_mixture(std::size_t components, std::size_t columns, double spread, std::uint64_t seed) {
  gmm::generator_options options;
  options.components = components;
  options.columns = columns;
  options.mean_scale = spread * spread;
  options.covariance_type = gmm::covariance_type::spherical;
  options.seed = seed;
  gmm::model model = gmm::generate_model(options);
  std::fill(model.weights.begin(), model.weights.end(), 1 / static_cast<double>(components));
  std::fill(model.covariances.begin(), model.covariances.end(), 1.0);
  return model;
}

template <class Scalar>
std::vector<Scalar> draw(const gmm::model& model, std::size_t rows, std::uint64_t seed) {
  std::vector<Scalar> values(rows * model.columns);
  gmm::sample(model, seed, 0, matrix_view<Scalar>(values.data(), rows, model.columns), nullptr);
  return values;
}
template std::vector<float> draw<float>(const gmm::model&, std::size_t, std::uint64_t);
template std::vector<double> draw<double>(const gmm::model&, std::size_t, std::uint64_t);

}  // namespace shoal::app
