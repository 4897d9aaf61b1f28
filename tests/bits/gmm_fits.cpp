// Mixtures: every covariance type and scalar, every algorithm, start and shape of rows.
#include <utility>

#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/sample.hpp>
#include <shoal/gmm/update.hpp>

#include "fits.hpp"
#include "hash.hpp"

namespace bits {
namespace {

namespace gmm = shoal::gmm;
using gmm::algorithm;
using gmm::covariance_type;
using gmm::initialization;

constexpr std::size_t passes = 5;

gmm::options batch(covariance_type type, std::size_t components, initialization init) {
  gmm::options options;
  options.components = components;
  options.covariance_type = type;
  options.init = init;
  options.max_iterations = passes;
  options.tolerance = 0;
  options.seed = 7;
  return options;
}

gmm::options by(algorithm algorithm, gmm::options options) {
  options.algorithm = algorithm;
  return options;
}

gmm::options by_squarem(gmm::options options) {
  options.acceleration = gmm::acceleration::squarem;
  options.max_iterations = 12;
  return options;
}

gmm::options as_in_2013(gmm::options options) {
  gmm::set_async_em_2013(options);
  options.max_iterations = passes;
  return options;
}

// A start that no seeding drew, and the rule that stops before the greatest number of passes.
gmm::options from_a_model(std::size_t components, std::size_t columns) {
  gmm::options options = batch(covariance_type::diag, components, initialization::model);
  options.max_iterations = 60;
  options.tolerance = 1e-2;
  options.start = {covariance_type::diag, components, columns, {}, {}, {}, {}};
  for (std::size_t k = 0; k < components; ++k) {
    options.start.weights.push_back(1.0 / static_cast<double>(components));
    for (std::size_t j = 0; j < columns; ++j) {
      options.start.means.push_back(static_cast<double>((5 * k + 3 * j) % 17) - 8);
      options.start.covariances.push_back(16);
    }
  }
  return options;
}

// A component that no row is near, so that it is given the row that fits worst.
gmm::options with_an_empty_component(std::size_t components, std::size_t columns) {
  gmm::options options = from_a_model(components, columns);
  options.max_iterations = passes;
  options.tolerance = 0;
  options.start.means.front() = 1e6;
  return options;
}

void take_model(hash& into, const gmm::model& model) {
  into.take(model.weights).take(model.means).take(model.covariances);
}

template <class Scalar>
std::uint64_t hash_of(const shape& shape, gmm::options options, const place& place) {
  const given_rows<Scalar> given(shape);
  // Several threads of the host that do not wait for each other give other bits from run to run.
  options.threads = options.algorithm == algorithm::asynchronous ? 1 : place.threads;
  options.memory_limit = host_memory<Scalar>(shape, place);
  options.device = device_of<Scalar>(shape, place, options.device.precision);
  const gmm::fit_result fitted = gmm::fit(given.rows(), options, given.weights());
  hash into;
  take_model(into, fitted.model);
  into.take(fitted.history).take(fitted.mean_log_likelihood).take(fitted.bic).take(fitted.aic);
  into.take(fitted.iterations).take(fitted.converged).take(fitted.reseeded).take(fitted.total_weight);

  std::vector<std::int32_t> labels(shape.rows);
  std::vector<Scalar> probabilities(shape.rows * options.components), log_density(shape.rows);
  into.take(gmm::predict(fitted.model, given.rows(), {labels.data(), probabilities.data(), log_density.data()},
                         place.threads, options.memory_limit, given.weights(), {}, options.device));
  into.take(labels).take(probabilities).take(log_density);
  return into.value();
}

// Steps on the rows as batches of them come, then rows drawn from what was found.
template <class Scalar>
std::uint64_t hash_of_updates(const shape& shape, gmm::options options, const place& place) {
  const given_rows<Scalar> given(shape);
  options.threads = place.threads;
  options.device = place.device;
  gmm::model model = gmm::fit(given.rows(), options).model;
  gmm::update_options step;
  step.threads = place.threads;
  step.device = place.device;
  step.step_size = 0.625;
  hash into;
  const std::size_t part = shape.rows / 3;
  for (std::size_t first = 0; first + part <= shape.rows; first += part) {
    const shoal::view_source<Scalar> rows({&given.values()[first * shape.columns], part, shape.columns});
    into.take(gmm::update(model, rows, step));
    take_model(into, model);
  }
  std::vector<Scalar> drawn(1000 * shape.columns);
  std::vector<std::int32_t> labels(1000);
  gmm::sample(model, 5, 123, shoal::matrix_view<Scalar>(drawn.data(), 1000, shape.columns), labels.data());
  into.take(drawn).take(labels);
  return into.value();
}

}  // namespace

const add_fits added([]() -> std::vector<kept_fit> {
  std::vector<kept_fit> fits;
  const auto keep = [&]<class Scalar>(Scalar, const char* name, const shape& shape, const gmm::options& options,
                                      runs_on where = runs_on::host_and_devices) {
    fits.push_back({std::string("gmm, ") + name, where,
                    [=](const place& place) { return hash_of<Scalar>(shape, options, place); }});
  };
  constexpr float f = 0;
  constexpr double d = 0;
  using enum covariance_type;
  using enum initialization;

  keep(f, "full, float", {70'000, 3}, batch(full, 6, kmeans));
  keep(d, "full, double", {20'011, 5}, batch(full, 6, kmeans));
  keep(f, "tied, float", {20'011, 5}, batch(tied, 6, plus_plus));
  keep(d, "tied, double", {9'001, 8}, batch(tied, 5, parallel));
  keep(f, "diag, float", {70'000, 2}, batch(diag, 6, random_rows));
  keep(d, "diag, double", {20'011, 7}, batch(diag, 8, kmeans_of_tenth));
  keep(f, "spherical, float", {20'011, 4}, batch(spherical, 6, random_responsibilities));
  keep(d, "spherical, double", {30'011, 3}, batch(spherical, 6, kmeans));

  keep(f, "full, float, 16 components of 8 columns", {100'003, 8, 16}, batch(full, 16, random_rows), runs_on::devices);
  keep(f, "full, float, 17 columns", {5'003, 17}, batch(full, 7, plus_plus));
  keep(d, "full, double, 33 columns", {2'003, 33}, batch(full, 3, kmeans));
  keep(f, "full, float, 129 columns", {1'021, 129}, batch(full, 2, random_rows));
  keep(f, "diag, float, 129 columns", {4'099, 129}, batch(diag, 9, kmeans));
  keep(f, "tied, float, 40 columns", {3'001, 40}, batch(tied, 11, kmeans));
  keep(f, "full, float, 70 components", {9'001, 2, 50}, batch(full, 70, random_rows));
  keep(d, "diag, double, 100 components", {6'007, 16, 50}, batch(diag, 100, random_rows));
  keep(d, "spherical, double, 1 column", {513, 1}, batch(spherical, 6, kmeans));
  keep(d, "full, double, 7 rows", {7, 2, 1}, batch(full, 1, kmeans));

  keep(d, "diag, double, weights", {20'011, 5, 6, true}, batch(diag, 6, plus_plus));
  keep(f, "full, float, weights, streamed", {30'011, 5, 6, true, true}, batch(full, 6, kmeans));
  keep(d, "tied, double, streamed", {30'011, 3, 6, false, true}, batch(tied, 6, parallel));
  gmm::options restarted = batch(spherical, 4, random_rows);
  restarted.restarts = 3;
  keep(f, "spherical, float, three restarts", {9'001, 6}, restarted);
  keep(d, "diag, double, from a model until it stops", {9'001, 3}, from_a_model(6, 3));
  keep(f, "diag, float, an empty component", {9'001, 4}, with_an_empty_component(7, 4));

  keep(d, "squarem, full, double", {9'001, 4}, by_squarem(batch(full, 5, random_rows)));
  keep(f, "squarem, diag, float", {20'011, 3}, by_squarem(batch(diag, 6, random_rows)));
  keep(d, "incremental, full, double, weights", {30'011, 3, 6, true},
       by(algorithm::incremental, batch(full, 6, kmeans)));
  keep(f, "incremental, tied, float", {30'011, 6}, by(algorithm::incremental, batch(tied, 6, random_rows)));
  keep(f, "stepwise, full, float", {30'011, 4}, by(algorithm::stepwise, batch(full, 6, random_rows)));
  keep(d, "stepwise, spherical, double, streamed", {30'011, 3, 6, false, true},
       by(algorithm::stepwise, batch(spherical, 6, plus_plus)));
  keep(d, "asynchronous, diag, double", {30'011, 3}, by(algorithm::asynchronous, batch(diag, 6, random_rows)));
  keep(f, "asynchronous of 2013, full, float", {20'011, 4}, as_in_2013(batch(full, 5, kmeans)));

  for (const auto& [precision, name] : {std::pair{shoal::precision::tf32, "full, float in tf32, 32 columns"},
                                        std::pair{shoal::precision::bf16, "full, float in bf16, 32 columns"}}) {
    gmm::options rough = batch(full, 16, random_rows);
    rough.device.precision = precision;
    keep(f, name, {20'011, 32, 16}, rough, runs_on::devices);
  }

  fits.push_back({"gmm, updates and rows drawn, full, float", runs_on::host_and_devices, [](const place& place) {
                    return hash_of_updates<float>({9'001, 5}, batch(full, 4, kmeans), place);
                  }});
  fits.push_back({"gmm, updates and rows drawn, tied, double", runs_on::host_and_devices, [](const place& place) {
                    return hash_of_updates<double>({9'001, 4}, batch(tied, 4, kmeans), place);
                  }});
  return fits;
});

}  // namespace bits
