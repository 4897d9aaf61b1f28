// Maps: both ways of training, every lattice, metric, neighbourhood, decay and first codebook.
#include <shoal/som/distances.hpp>
#include <shoal/som/fit.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/u_matrix.hpp>
#include <shoal/som/update.hpp>

#include "fits.hpp"
#include "hash.hpp"

namespace bits {
namespace {

namespace som = shoal::som;
using som::decay;
using som::initialization;
using som::lattice;
using som::metric;
using som::neighborhood;

som::options batch(std::size_t width, std::size_t height, som::metric metric = metric::euclidean,
                   som::neighborhood neighborhood = neighborhood::gaussian) {
  som::options options;
  options.width = width;
  options.height = height;
  options.metric = metric;
  options.neighborhood = neighborhood;
  options.epochs = 5;
  options.seed = 7;
  return options;
}

som::options hexagonal(som::options options, bool toroidal) {
  options.lattice = lattice::hexagonal;
  options.toroidal = toroidal;
  return options;
}

som::options starting(initialization init, som::options options) {
  options.init = init;
  return options;
}

som::options online(som::options options, decay rate_decay) {
  options.training = som::training::online;
  options.epochs = 2;
  options.rate_decay = rate_decay;
  return options;
}

som::options from_a_codebook(std::size_t width, std::size_t height, std::size_t columns) {
  som::options options = starting(initialization::codebook, batch(width, height));
  for (std::size_t u = 0; u < width * height; ++u) {
    for (std::size_t j = 0; j < columns; ++j) {
      options.codebook.push_back(static_cast<double>((7 * u + 5 * j) % 29) - 14);
    }
  }
  return options;
}

template <class Scalar>
std::uint64_t hash_of(const shape& shape, som::options options, const place& place) {
  const given_rows<Scalar> given(shape);
  options.threads = place.threads;
  options.memory_limit = host_memory<Scalar>(shape, place);
  options.device = device_of<Scalar>(shape, place, options.device.precision);
  const som::fit_result fitted = som::fit(given.rows(), options, given.weights());
  hash into;
  into.take(fitted.model.codebook).take(fitted.history).take(fitted.epochs).take(fitted.total_weight);
  into.take(fitted.quality.quantization_error).take(fitted.quality.topographic_error).take(fitted.quality.hits);

  std::vector<std::int32_t> units(shape.rows);
  into.take(som::predict(fitted.model, given.rows(), units.data(), place.threads, options.memory_limit, given.weights(),
                         {}, options.device));
  return into.take(units).take(som::u_matrix(fitted.model)).value();
}

// Distances to the units, then steps on the rows as batches of them come.
template <class Scalar>
std::uint64_t hash_of_updates(const shape& shape, const som::options& options, const place& place) {
  const given_rows<Scalar> given(shape);
  som::model model{options.width,    options.height, shape.columns,    options.lattice,
                   options.toroidal, options.metric, options.codebook, {}};
  std::vector<Scalar> distances(shape.rows * model.units());
  som::distances(model, given.rows(), distances.data(), place.threads, 0, {}, place.device);
  hash into;
  into.take(distances);
  som::update_options step;
  step.neighborhood = neighborhood::bubble;
  step.radius = 1.5;
  step.rate = 0.75;
  step.threads = place.threads;
  step.device = place.device;
  const std::size_t part = shape.rows / 3;
  std::vector<std::int32_t> units(part);
  for (std::size_t first = 0; first + part <= shape.rows; first += part) {
    const shoal::view_source<Scalar> rows({&given.values()[first * shape.columns], part, shape.columns});
    into.take(som::update(model, rows, step, units.data()));
    into.take(model.codebook).take(units);
  }
  return into.value();
}

}  // namespace

const add_fits added([]() -> std::vector<kept_fit> {
  std::vector<kept_fit> fits;
  const auto keep = [&]<class Scalar>(Scalar, const char* name, const shape& shape, const som::options& options,
                                      runs_on where = runs_on::host_and_devices) {
    fits.push_back({std::string("map, ") + name, where,
                    [=](const place& place) { return hash_of<Scalar>(shape, options, place); }});
  };
  constexpr float f = 0;
  constexpr double d = 0;
  using enum metric;
  using enum neighborhood;
  using enum initialization;

  keep(f, "euclidean, float", {70'000, 3}, batch(10, 10));
  keep(d, "euclidean, double, hexagonal and toroidal", {9'001, 5}, hexagonal(batch(9, 8), true));
  keep(f, "taxicab, float, bubble", {9'001, 4}, batch(8, 7, taxicab, bubble));
  keep(d, "cosine, double, mexican hat, hexagonal", {5'003, 6}, hexagonal(batch(7, 9, cosine, mexican_hat), false));
  keep(f, "chebyshev, float, triangle", {5'003, 17}, starting(sampled_rows, batch(6, 6, chebyshev, triangle)));
  som::options cut = batch(12, 5, euclidean, gaussian);
  cut.cutoff = 2;
  cut.radius = som::range{4, 0.5};
  cut.radius_decay = decay::exponential;
  cut.toroidal = true;
  keep(d, "double, weights, cut-off, toroidal", {9'001, 4, 6, true}, cut);
  keep(f, "float, weights, streamed", {30'011, 3, 6, true, true}, batch(6, 5));
  keep(f, "float, 1200 units, 16 columns", {5'003, 16, 100}, starting(sampled_rows, batch(40, 30)));
  som::options chain = starting(random_values, batch(13, 1));
  chain.radius = som::range{6, 1};
  chain.radius_decay = decay::asymptotic;
  keep(d, "double, a chain of units, 129 columns", {2'003, 129}, chain);
  keep(d, "double, from a codebook, 2 columns", {9'001, 2}, from_a_codebook(8, 8, 2));

  // Training by single rows does not run on devices.
  keep(f, "online, float", {9'001, 5}, online(batch(8, 8), decay::linear), runs_on::host);
  keep(d, "online, double, weights, hexagonal and toroidal, bubble", {4'099, 3, 6, true},
       online(hexagonal(batch(7, 6, euclidean, bubble), true), decay::exponential), runs_on::host);
  keep(f, "online, float, cosine, streamed", {4'099, 17, 6, false, true},
       online(batch(6, 6, cosine), decay::asymptotic), runs_on::host);
  som::options rough = starting(sampled_rows, batch(16, 16));
  rough.device.precision = shoal::precision::bf16;
  keep(f, "float in bf16, 32 columns", {20'011, 32, 40}, rough, runs_on::devices);

  fits.push_back({"map, updates, float", runs_on::host_and_devices, [](const place& place) {
                    return hash_of_updates<float>({6'007, 4}, from_a_codebook(6, 5, 4), place);
                  }});
  fits.push_back({"map, updates, double", runs_on::host_and_devices, [](const place& place) {
                    return hash_of_updates<double>({6'007, 7}, hexagonal(from_a_codebook(5, 4, 7), false), place);
                  }});
  return fits;
});

}  // namespace bits
